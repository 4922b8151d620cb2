/* Which sizes of TCP segments get through, where a transfer with the hosts' own stands still and
 * the far end answers no datagrams of given size. Private to the probes.
 *
 * A path that drops what is large and says nothing looks dead to TCP. Connections that announce and
 * send smaller segments tell the two apart, at any far end and in both directions (RFC 2923, 2.1).
 */
#ifndef TL_PROBES_SEGMENT_SIZES_H
#define TL_PROBES_SEGMENT_SIZES_H

#include "tightlink/engine/client.h"
#include "tightlink/engine/pmtu.h"
#include "tightlink/probes/probes.h"

/* --- The search ---------------------------------------------------------------------------- */

/* Whether packets of at most that size get through; a connection of its own each. A test that did
 * not run its time tells nothing about sizes: the server was busy, or hung up. */
enum tl_segments { TL_SEGMENTS_VANISH, TL_SEGMENTS_PASS, TL_SEGMENTS_UNTOLD };
typedef enum tl_segments tl_segments_pass_fn(void *context, int packet_bytes);

/* Between what passes and full_bytes, which stood still: usual sizes are tried by halves. False
 * where the smallest that every path has to take (1200 bytes, RFC 8899; 1280, RFC 8200) does not
 * pass either, for then the path is dead; where full_bytes do now: then it was; and where a size
 * twice tells nothing. *ret_way: sizes and black_hole are set. */
bool tl_segments_search(int full_bytes, bool ipv6, tl_segments_pass_fn *pass, void *context,
                        struct tl_pmtu_way *ret_way);

/* --- A path -------------------------------------------------------------------------------- */

/* Searches with short tests like spec, the test that stood still; sets the facts of the direction
 * where packets of full size vanish. True then. *ret_bytes: payload that it moved. */
bool tl_segments_vanish(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                        uint64_t *ret_bytes);

#endif
