/* Stage disk: the directory that the user named here, and the one that the far end's
 * administrator opened where the user wants that too. Nothing goes over the wire but the
 * question and the answer. */
#include <math.h>

#include "disk_facts.h"
#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/far.h"
#include "tightlink/probes/probes.h"

#define DIRECT_NS   (3 * TL_NS_PER_S) /* past the page cache, writing and reading each */
#define BUFFERED_NS TL_NS_PER_S       /* as most programs do: as many bytes as that makes */
#define FSYNC_NS    TL_NS_PER_S

struct disk_stage {
    const struct tl_probe *probe;
    struct tl_probe_outcome *outcome;
};

static void on_live(void *context, const struct tl_disk_live *live)
{
    const struct tl_probe *probe = context;
    struct tl_probe_live out = {.rate_bps = live->rate_bps,
                                .rtt_ns = (double)NAN,
                                .elapsed_ns = (double)live->elapsed_ns,
                                .app_ratio = (double)NAN,
                                .sndbuf_ratio = (double)NAN,
                                .rwnd_ratio = (double)NAN,
                                .network_ratio = (double)NAN};
    probe->live(probe->context, &out);
}

static enum tl_status test(const struct disk_stage *stage, struct tl_disk_area *area,
                           const struct tl_disk_spec *wanted, struct tl_disk_result *ret_result,
                           struct tl_error *reterr)
{
    struct tl_disk_spec spec = *wanted;
    spec.cancel_fd = stage->probe->cancel_fd;
    return tl_disk_test(area, &spec, on_live, (void *)stage->probe, ret_result, reterr);
}

/* What most programs get: one thread, through the page cache. Only as many bytes as the disk
 * itself takes in a second, since they all have to reach it. Failures here are no news: the disk
 * has just been tested. */
static void test_buffered(const struct disk_stage *stage, struct tl_disk_area *area,
                          double write_bps)
{
    struct tl_facts *facts = stage->probe->facts;
    struct tl_disk_result result;
    struct tl_disk_spec spec = {.operation = TL_DISK_WRITE,
                                .mode = TL_DISK_MODE_BUFFERED,
                                .threads = 1,
                                .duration_ns = BUFFERED_NS,
                                .max_bytes = (uint64_t)(write_bps / 8)};
    if (spec.max_bytes < TL_DISK_BLOCK_BYTES)
        spec.max_bytes = TL_DISK_BLOCK_BYTES;
    if (test(stage, area, &spec, &result, NULL) == TL_OK)
        tl_disk_facts_set(facts, TL_HOST(TL_SCOPE_NEAR, disk_buffered_write_bps), result.rate_bps,
                          "");
    spec.operation = TL_DISK_READ;
    spec.max_bytes = 0;
    if (test(stage, area, &spec, &result, NULL) == TL_OK && result.cache == TL_DISK_CACHE_DROPPED)
        tl_disk_facts_set(facts, TL_HOST(TL_SCOPE_NEAR, disk_buffered_read_bps), result.rate_bps,
                          "");
    spec.operation = TL_DISK_WRITE;
    spec.mode = TL_DISK_MODE_SYNC;
    spec.duration_ns = FSYNC_NS;
    if (test(stage, area, &spec, &result, NULL) == TL_OK)
        tl_disk_facts_set(facts, TL_HOST(TL_SCOPE_NEAR, disk_fsync_write_bps), result.rate_bps, "");
}

static enum tl_status test_area(const struct disk_stage *stage, struct tl_disk_area *area,
                                struct tl_error *reterr)
{
    struct tl_facts *facts = stage->probe->facts;
    const struct tl_disk_area_info *info = tl_disk_area_info(area);
    struct tl_disk_result written, red;
    struct tl_disk_spec spec = {.operation = TL_DISK_WRITE, .duration_ns = DIRECT_NS};
    tl_facts_set_text(facts, TL_NEAR(disk_directory), info->directory, info->note);
    tl_facts_set_bool(facts, TL_NEAR(disk_direct), info->direct, "");
    tl_disk_facts_set(facts, TL_HOST(TL_SCOPE_NEAR, disk_free_bytes), (double)info->free_bytes, "");
    if (info->note[0])
        stage->probe->note(stage->probe->context, info->note);
    enum tl_status status = test(stage, area, &spec, &written, reterr);
    tl_disk_facts_set_result(facts, TL_SCOPE_NEAR, &written,
                             status == TL_OK || !reterr ? "nothing was written" : reterr->text);
    if (status == TL_OK && written.end == TL_DISK_END_FULL)
        tl_outcome_state(stage->outcome, TL_STAGE_LIMITED,
                         "the disk was full before the test was over");
    if (status != TL_OK)
        return status;
    spec.operation = TL_DISK_READ;
    status = test(stage, area, &spec, &red, reterr);
    tl_disk_facts_set_result(facts, TL_SCOPE_NEAR, &red,
                             status == TL_OK || !reterr ? "nothing was read" : reterr->text);
    if (status == TL_OK)
        test_buffered(stage, area, written.rate_bps);
    return status;
}

static enum tl_status test_near(const struct disk_stage *stage, struct tl_error *reterr)
{
    struct tl_host_disk host;
    struct tl_disk_area *area = NULL;
    struct tl_disk_area_spec spec = {.directory = stage->probe->directory};
    enum tl_status status = tl_disk_area_create(&spec, &area, reterr);
    if (status != TL_OK)
        return status;
    tl_host_disk_read(stage->probe->directory, &host);
    tl_disk_facts_set_host(stage->probe->facts, TL_SCOPE_NEAR, &host);
    status = test_area(stage, area, reterr);
    tl_disk_area_release(area);
    return status;
}

static enum tl_status test_far(const struct disk_stage *stage, struct tl_error *reterr)
{
    struct tl_facts *facts = stage->probe->facts;
    struct tl_disk_far far;
    struct tl_disk_spec spec = {.threads = TL_DISK_THREADS, .duration_ns = DIRECT_NS};
    enum tl_status status = tl_far_disk_test(stage->probe->far, &spec, &far, reterr);
    if (status != TL_OK)
        return status;
    tl_disk_facts_set_host(facts, TL_SCOPE_FAR, &far.host);
    tl_disk_facts_set(facts, TL_HOST(TL_SCOPE_FAR, disk_free_bytes), (double)far.free_bytes, "");
    tl_facts_set_bool(facts, TL_FAR(disk_direct), far.direct, "");
    tl_disk_facts_set_result(facts, TL_SCOPE_FAR, &far.write, "nothing was written there");
    tl_disk_facts_set_result(facts, TL_SCOPE_FAR, &far.read, "nothing was read there");
    return status;
}

/* A disk that cannot be tested leaves the network's part of the run as it is. */
static enum tl_status settle(const struct disk_stage *stage, enum tl_scope whose,
                             enum tl_status status, const struct tl_error *error)
{
    const struct tl_fact_key rates[] = {TL_HOST(whose, disk_write_bps),
                                        TL_HOST(whose, disk_read_bps)};
    if (status == TL_OK)
        return TL_OK;
    for (int i = 0; i < 2; i++)
        if (!isfinite(tl_facts_number(stage->probe->facts, rates[i], (double)NAN)))
            tl_facts_set_unknown(stage->probe->facts, rates[i], "%s", error->text);
    if (status == TL_CANCELLED)
        tl_outcome_state(stage->outcome, TL_STAGE_SKIPPED, TL_RUN_STOPPED);
    else
        tl_outcome_state(stage->outcome, TL_STAGE_FAILED, "%s", error->text);
    bool gone = status == TL_CANCELLED || status == TL_CLOSED || status == TL_PROTOCOL;
    return gone ? status : TL_OK;
}

enum tl_status tl_probe_disk(const struct tl_probe *probe, enum tl_direction direction,
                             const struct tl_probe_limits *limits,
                             struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    struct disk_stage stage = {probe, ret_outcome};
    struct tl_error error = {0};
    enum tl_status status = TL_OK;
    tl_outcome_begin(ret_outcome, "disk");
    if (probe->directory)
        status = settle(&stage, TL_SCOPE_NEAR, test_near(&stage, &error), &error);
    if (status == TL_OK && probe->far_disk)
        status = settle(&stage, TL_SCOPE_FAR, test_far(&stage, &error), &error);
    tl_outcome_end(ret_outcome);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
