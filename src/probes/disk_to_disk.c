/* Stage disk-to-disk: the way of a file, with every disk that was named, and each disk alone
 * with memory at the other end. With the rate from memory to memory these are the two by two
 * that tell a slow disk from a slow network. */
#include <math.h>

#include "flow_facts.h"
#include "outcome.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/probes.h"
#include "transfer.h"

#define PREPARE_NS    (3 * TL_NS_PER_S) /* for writing what a disk shall give */
#define CELL_WORTH_NS TL_NS_PER_S       /* less tells nothing of a disk */

/* One of the four. */
struct cell {
    enum tl_fact_name fact;
    bool from_disk, to_disk;
};

/* The most telling first: a budget may end before the last one. */
static const struct cell cells[] = {
    {TL_FACT_FLOW_file_disk_bps, true, true},
    {TL_FACT_FLOW_file_write_bps, false, true},
    {TL_FACT_FLOW_file_read_bps, true, false},
    {TL_FACT_FLOW_file_memory_bps, false, false},
};

struct file_stage {
    const struct tl_probe *probe;
    enum tl_direction direction;
    const struct tl_probe_limits *limits;
    struct tl_disk_area *area;      /* near; NULL: none was named */
    bool source, destination;       /* disks that were named */
    struct tl_probe_outcome *whole; /* of the stage */
    double checked_bytes, wrong_count;
};

static enum tl_status make_area(struct file_stage *stage, struct tl_error *reterr)
{
    struct tl_disk_area_spec spec = {.directory = stage->probe->directory};
    struct tl_disk_spec write = {.operation = TL_DISK_WRITE,
                                 .duration_ns = PREPARE_NS,
                                 .cancel_fd = stage->probe->cancel_fd};
    struct tl_disk_result written;
    enum tl_status status = tl_disk_area_create(&spec, &stage->area, reterr);
    if (status == TL_OK && stage->direction == TL_UPLOAD)
        status = tl_disk_test(stage->area, &write, NULL, NULL, &written, reterr);
    return status;
}

/* The rate of a cell: that of its steady part, or of the whole where a disk goes by fits and
 * starts. */
static void set_rate(const struct file_stage *stage, enum tl_fact_name fact,
                     const struct tl_tcp_result *result)
{
    const struct tl_steady_rate *rate = &result->steady.rate;
    double bps = rate->valid ? rate->goodput_bps : rate->whole_bps;
    tl_flow_set_range(stage->probe->facts, TL_KEY(tl_scope_of(stage->direction), fact), bps,
                      rate->valid ? rate->low_bps : bps, rate->valid ? rate->high_bps : bps,
                      "nothing arrived");
}

static double wait_ratio(const struct tl_transfer_side *side, const struct tl_tcp_result *result)
{
    double ns = (double)result->elapsed_ns * result->streams;
    return side->disk && ns > 0 ? fmin(1, (double)side->wait_ns / ns) : (double)NAN;
}

/* What the cell with every disk that was named tells beside its rate. */
static void set_whole(const struct file_stage *stage, const struct tl_tcp_result *result)
{
    struct tl_facts *facts = stage->probe->facts;
    enum tl_direction direction = stage->direction;
    bool upload = direction == TL_UPLOAD;
    const struct tl_transfer_side *sender = upload ? &result->near_disk : &result->far_disk;
    const struct tl_transfer_side *receiver = upload ? &result->far_disk : &result->near_disk;
    static const char memory[] = "it used memory in a disk's place";
    set_rate(stage, TL_FACT_FLOW_file_goodput_bps, result);
    tl_flow_set(facts, TL_FLOW(direction, file_sender_wait_ratio), wait_ratio(sender, result),
                memory);
    tl_flow_set(facts, TL_FLOW(direction, file_receiver_wait_ratio), wait_ratio(receiver, result),
                memory);
}

/* Adds a cell's outcome to the stage's. A disk that failed ends the stage and spoils nothing. */
static void add_outcome(struct file_stage *stage, const struct tl_probe_outcome *cell,
                        enum tl_status status)
{
    struct tl_probe_outcome *whole = stage->whole;
    bool disk_failed = status == TL_IO || status == TL_NOSPACE || status == TL_DENIED;
    whole->record.sent_bytes += cell->record.sent_bytes;
    whole->record.received_bytes += cell->record.received_bytes;
    whole->interrupted |= cell->interrupted;
    if (cell->record.state != TL_STAGE_DONE)
        tl_outcome_state(whole, cell->record.state, "%s", cell->record.reason);
    if (!disk_failed)
        tl_trust_lower(&whole->trust, cell->trust.quality, "%s", cell->trust.reason);
}

static bool is_named(const struct file_stage *stage, const struct cell *cell)
{
    return (!cell->from_disk || stage->source) && (!cell->to_disk || stage->destination);
}

/* An equal share of the time, and the bytes that the others have left. */
static struct tl_probe_limits limits_of_cell(const struct file_stage *stage)
{
    int64_t count = 0;
    const struct tl_stage_record *record = &stage->whole->record;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        count += is_named(stage, &cells[i]);
    return (struct tl_probe_limits){
        .duration_ns = (stage->limits->duration_ns - PREPARE_NS) / count,
        .bytes = stage->limits->bytes - record->sent_bytes - record->received_bytes,
    };
}

static enum tl_status run_cell(struct file_stage *stage, const struct cell *cell,
                               struct tl_error *reterr)
{
    struct tl_probe_outcome outcome;
    struct tl_tcp_result *result;
    bool upload = stage->direction == TL_UPLOAD;
    bool near_disk = upload ? cell->from_disk : cell->to_disk;
    bool whole = cell->from_disk == stage->source && cell->to_disk == stage->destination;
    struct tl_probe_limits limits = limits_of_cell(stage);
    struct tl_tcp_spec spec = tl_transfer_spec(stage->direction, &limits);
    spec.file = true;
    spec.near_disk = near_disk ? stage->area : NULL;
    spec.far_disk = upload ? cell->to_disk : cell->from_disk;
    tl_outcome_begin(&outcome, "disk-to-disk");
    enum tl_status status = tl_transfer_run(stage->probe, &spec, &outcome, &result, reterr);
    if (tl_transfer_counts(&outcome)) {
        set_rate(stage, cell->fact, result);
        stage->checked_bytes += (double)result->check.checked_bytes;
        stage->wrong_count += (double)result->check.wrong_count;
        if (whole)
            set_whole(stage, result);
    }
    add_outcome(stage, &outcome, status);
    tl_transfer_free(result);
    return status;
}

static enum tl_status run_cells(struct file_stage *stage, struct tl_error *reterr)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < sizeof cells / sizeof *cells && status == TL_OK; i++) {
        struct tl_probe_limits limits = limits_of_cell(stage);
        if (!is_named(stage, &cells[i]))
            continue;
        if (limits.bytes > 0 && limits.duration_ns >= CELL_WORTH_NS)
            status = run_cell(stage, &cells[i], reterr);
        else
            tl_outcome_state(stage->whole, TL_STAGE_LIMITED,
                             "the budgets left no room for every way between disk and memory");
    }
    if (stage->checked_bytes > 0) {
        tl_flow_set(stage->probe->facts, TL_FLOW(stage->direction, file_checked_bytes),
                    stage->checked_bytes, "");
        tl_flow_set(stage->probe->facts, TL_FLOW(stage->direction, file_wrong_count),
                    stage->wrong_count, "");
    }
    return status;
}

enum tl_status tl_probe_disk_to_disk(const struct tl_probe *probe, enum tl_direction direction,
                                     const struct tl_probe_limits *limits,
                                     struct tl_probe_outcome *ret_outcome, struct tl_error *reterr)
{
    bool near = probe->directory != NULL, upload = direction == TL_UPLOAD;
    struct file_stage stage = {.probe = probe,
                               .direction = direction,
                               .limits = limits,
                               .source = upload ? near : probe->far_disk,
                               .destination = upload ? probe->far_disk : near,
                               .whole = ret_outcome};
    struct tl_error error = {0};
    tl_outcome_begin(ret_outcome, "disk-to-disk");
    enum tl_status status = near ? make_area(&stage, &error) : TL_OK;
    if (status != TL_OK)
        tl_outcome_state(ret_outcome, TL_STAGE_FAILED, "%s", error.text);
    else
        status = run_cells(&stage, &error);
    tl_disk_area_release(stage.area);
    if (status != TL_OK)
        tl_flow_explain_unknown(probe->facts, TL_FLOW(direction, file_goodput_bps), error.text);
    tl_outcome_end(ret_outcome);
    if (status != TL_OK && reterr)
        *reterr = error;
    return status;
}
