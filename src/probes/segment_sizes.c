/* A search of segment sizes by short TCP tests: segment_sizes.h. */
#include "segment_sizes.h"
#include "flow_facts.h"

#include <stdlib.h>

#include "path_facts.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"

#define IPV4_BASE_BYTES 1200
#define IPV6_BASE_BYTES 1280 /* RFC 8200, 5: every link takes it */
#define IPV4_HEADERS    40   /* IP and TCP without options */
#define IPV6_HEADERS    60

/* Two first windows and more: what small last segments alone never move. */
#define PASS_BYTES (32 * 1024)
/* A segment that is lost is sent again after 0.2, 0.6 and 1.4 s and some round trips. */
#define TEST_NS    (1800 * TL_NS_PER_MS)
#define TEST_RTTS  6
#define TEST_BYTES (64 * 1024)
/* Of an upload more than this end's buffer takes at once: what was written only has gone nowhere.
 */
#define SEND_BUFFER_BYTES (32 * 1024)
#define UPLOAD_BYTES      (256 * 1024)
#define FULL_DEFAULT      1500

/* MTUs that links and tunnels have; their borders are what is looked for. */
static const int usual[] = {1280, 1300, 1340, 1360, 1380, 1400, 1420, 1430, 1440, 1450, 1460,
                            1472, 1480, 1488, 1492, 1496, 1500, 2000, 4000, 6000, 8000, 8900};
#define USUAL_COUNT (sizeof usual / sizeof *usual)

/* --- The search ------------------------------------------------------------------------------ */

/* The usual size in the middle between both; 0: none lies there. */
static int between(int passed_bytes, int failed_bytes)
{
    int inside[USUAL_COUNT] = {0};
    size_t count = 0;
    for (size_t i = 0; i < USUAL_COUNT; i++)
        if (usual[i] > passed_bytes && usual[i] < failed_bytes)
            inside[count++] = usual[i];
    return count > 0 ? inside[count / 2] : 0;
}

static enum tl_segments look(tl_segments_pass_fn *pass, void *context, int bytes)
{
    enum tl_segments seen = pass(context, bytes);
    return seen == TL_SEGMENTS_UNTOLD ? pass(context, bytes) : seen;
}

bool tl_segments_search(int full_bytes, bool ipv6, tl_segments_pass_fn *pass, void *context,
                        struct tl_pmtu_way *ret_way)
{
    int passed_bytes = ipv6 ? IPV6_BASE_BYTES : IPV4_BASE_BYTES, failed_bytes = full_bytes, bytes;
    if (full_bytes <= passed_bytes || look(pass, context, passed_bytes) != TL_SEGMENTS_PASS ||
        look(pass, context, full_bytes) != TL_SEGMENTS_VANISH)
        return false;
    while ((bytes = between(passed_bytes, failed_bytes)) > 0) {
        enum tl_segments seen = look(pass, context, bytes);
        if (seen == TL_SEGMENTS_UNTOLD)
            return false;
        *(seen == TL_SEGMENTS_PASS ? &passed_bytes : &failed_bytes) = bytes;
    }
    *ret_way = (struct tl_pmtu_way){.mtu_bytes = passed_bytes,
                                    .failed_bytes = failed_bytes,
                                    .tried_bytes = full_bytes,
                                    .black_hole = true,
                                    .hole_first_hop = -1,
                                    .hole_last_hop = -1};
    return true;
}

/* --- A path ---------------------------------------------------------------------------------- */

struct search {
    const struct tl_probe *probe;
    struct tl_tcp_spec spec;
    int header_bytes;
    uint64_t moved_bytes;
    bool ended; /* cancelled, or the far end is gone: nothing more is known */
};

static enum tl_segments passes(void *context, int packet_bytes)
{
    struct search *search = context;
    struct tl_tcp_result *result = search->ended ? NULL : calloc(1, sizeof *result);
    if (!result)
        return TL_SEGMENTS_UNTOLD;
    search->spec.maxseg_bytes = (uint32_t)(packet_bytes - search->header_bytes);
    enum tl_status status =
        tl_far_tcp_test(search->probe->far, &search->spec, NULL, NULL, result, NULL);
    uint64_t bytes = result->receiver.bytes;
    search->ended = status == TL_CANCELLED || result->end == TL_TCP_END_NOT_RUN;
    search->moved_bytes += bytes;
    bool whole = result->elapsed_ns >= search->spec.duration_ns;
    tl_tcp_result_finish(result);
    free(result);
    return bytes >= PASS_BYTES ? TL_SEGMENTS_PASS : whole ? TL_SEGMENTS_VANISH : TL_SEGMENTS_UNTOLD;
}

bool tl_segments_vanish(const struct tl_probe *probe, const struct tl_tcp_spec *spec,
                        uint64_t *ret_bytes)
{
    const struct tl_client_info *info = tl_far_info(probe->far);
    bool ipv6 = info->family == 6;
    int full_bytes = (int)tl_facts_number(probe->facts, TL_NEAR(link_mtu_bytes), FULL_DEFAULT);
    bool upload = spec->direction == TL_WIRE_UPLOAD;
    struct search search = {.probe = probe,
                            .header_bytes = ipv6 ? IPV6_HEADERS : IPV4_HEADERS,
                            .spec = {.direction = spec->direction,
                                     .streams = 1,
                                     .duration_ns = TEST_NS + TEST_RTTS * info->connect_rtt_ns,
                                     .sndbuf_bytes = upload ? SEND_BUFFER_BYTES : 0,
                                     .max_bytes = upload ? UPLOAD_BYTES : TEST_BYTES}};
    struct tl_pmtu_way way;
    if (probe->note)
        probe->note(probe->context, "the transfer stands still: trying smaller segments");
    bool found = tl_segments_search(full_bytes, ipv6, passes, &search, &way) && !search.ended;
    if (found)
        tl_path_facts_segments(probe->facts, tl_direction_of_wire(spec->direction), &way);
    *ret_bytes = search.moved_bytes;
    return found;
}
