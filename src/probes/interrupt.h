/* Interruptions: the path carried nothing for a while in the middle of a transfer. Private to
 * the probes. */
#ifndef TL_PROBES_INTERRUPT_H
#define TL_PROBES_INTERRUPT_H

#include "tightlink/engine/client.h"
#include "tightlink/probes/probes.h"

#define TL_INTERRUPTIONS_MAX 32 /* of one test: with more the path hardly ever works */

struct tl_interruption {
    int64_t from_ns, to_ns; /* into the transfer; one that kept it from beginning is before 0 */
    enum tl_silence whose;  /* tl_interruptions_place() */
};

struct tl_interruptions {
    unsigned count;
    struct tl_interruption at[TL_INTERRUPTIONS_MAX]; /* none meets another */
};

/* From the receiver's readings of all streams: times in which none of them got a byte although
 * bytes came before and after. Neither a stream that waits for its own timer (shorter than
 * 1.5 s or ten round trips) nor a host that stood still (no readings either) counts.
 * before_ns: what went by from asking for the test to its start, without waiting for a turn. */
void tl_interruptions_find(const struct tl_tcp_result *result, int64_t before_ns,
                           struct tl_interruptions *ret_interruptions);

/* Adds shorter ones, from 300 ms on: no stream got a byte, and none of five or more UDP probes
 * beside them was answered meanwhile, which wait for no timer. start_ns: begin of the test on the
 * probes' clock. */
void tl_interruptions_find_brief(const struct tl_tcp_result *result,
                                 const struct tl_echo_result *echo, int64_t start_ns,
                                 struct tl_interruptions *interruptions);

/* The same of probes that ran alone, until until_ns (monotonic): marks the outcome with the longest
 * time for which five in a row, over 300 ms, were not answered. None answered is no interruption.
 */
void tl_interruptions_of_probes(const struct tl_echo_result *echo, int64_t until_ns,
                                struct tl_probe_outcome *outcome);

/* Says of each whose it is, by the sender's readings and by what probes beside the transfer heard;
 * echo NULL: there were none. */
void tl_interruptions_place(const struct tl_tcp_result *result, const struct tl_echo_result *echo,
                            int64_t start_ns, struct tl_interruptions *interruptions);
/* The same of the last silent_ns of a transfer that a silence ended. */
enum tl_silence tl_silence_at_end(const struct tl_tcp_result *result,
                                  const struct tl_echo_result *echo, int64_t start_ns,
                                  int64_t silent_ns);
/* Lowers trust for those that are not the path's, and says why. */
void tl_interruptions_trust(const struct tl_tcp_result *result,
                            const struct tl_interruptions *found, struct tl_trust *trust);

/* Adds those of the path to the facts of the direction. The result's steady part is then that of
 * the longest part without any, whosoever they are; where none is long enough for a rate, and one
 * of them is longer than a stream's own timer, the stage's rates do not count: its outcome is
 * marked and says when. */
void tl_interruptions_note(struct tl_facts *facts, struct tl_tcp_result *result,
                           const struct tl_interruptions *found, struct tl_probe_outcome *outcome);

#endif
