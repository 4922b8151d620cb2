/* The tests between two nodes, one after the other: round trips, hops and MTU of the idle path,
 * then throughput. Tests that load are booked together, so that the scheduler has them follow each
 * other; what was booked is taken back whatever ends us. */
#include "tightlink/probes/nodes.h"

#include <stdio.h>
#include <string.h>

#include "node_facts.h"
#include "tightlink/base/time.h"

/* One stream and several, each way. */
#define LOADS_MAX 4

struct load {
    enum tl_direction direction;
    int streams;
    struct tl_psched_task task; /* without an id: not booked */
};

struct nodes {
    const struct tl_nodes_spec *spec;
    struct tl_psched *psched;
    tl_nodes_tell *tell;
    void *context;
    struct tl_run *run;
    struct tl_facts *facts;
    struct tl_error first; /* why the first test of throughput failed */
    bool loaded;           /* one of them did not */
};

static struct tl_psched_spec spec_of(const struct nodes *nodes, enum tl_psched_test test)
{
    const struct tl_nodes_spec *spec = nodes->spec;
    bool elsewhere = strcmp(spec->node, spec->source) != 0;
    return (struct tl_psched_spec){.test = test,
                                   .source = spec->source,
                                   .dest = spec->dest,
                                   .source_node = elsewhere ? spec->node : NULL,
                                   .streams = 1,
                                   .wait_ns = spec->wait_ns};
}

static void tell(const struct nodes *nodes, const char *text)
{
    if (nodes->tell)
        nodes->tell(nodes->context, text);
}

/* A stage that ended now; error: why it brought nothing, or NULL. */
static void record(struct nodes *nodes, const char *stage, int64_t begin_ns,
                   const struct tl_error *error)
{
    struct tl_run *run = nodes->run;
    if (run->stage_count == TL_RUN_STAGES_MAX)
        return;
    struct tl_stage_record *made = &run->stages[run->stage_count++];
    *made = (struct tl_stage_record){.state = TL_STAGE_DONE, .duration_ns = tl_now_ns() - begin_ns};
    snprintf(made->id, sizeof made->id, "%s", stage);
    if (!error)
        return;
    made->state = error->status == TL_UNSUPPORTED || error->status == TL_DENIED
                      ? TL_STAGE_NOT_POSSIBLE
                      : TL_STAGE_FAILED;
    snprintf(made->reason, sizeof made->reason, "%.250s", error->text);
}

/* --- The idle path ---------------------------------------------------------------------------- */

static const struct {
    enum tl_psched_test test;
    const char *stage, *says;
} lights[] = {{TL_PSCHED_MTU, "mtu", "path MTU"},
              {TL_PSCHED_RTT, "path", "round trips"},
              {TL_PSCHED_TRACE, "hops", "hops"}};

static void take_light(struct nodes *nodes, const struct tl_psched_result *got)
{
    if (got->test == TL_PSCHED_RTT)
        node_set_rtt(&got->rtt, nodes->facts);
    else if (got->test == TL_PSCHED_TRACE)
        node_set_hops(&got->trace, nodes->run, nodes->facts);
    else
        node_set_mtu(got->mtu_bytes, TL_UPLOAD, nodes->facts);
}

/* What fails here is told in its record; only the user and a lost node end it all. */
static enum tl_status measure_idle(struct nodes *nodes, struct tl_error *reterr)
{
    for (size_t i = 0; i < sizeof lights / sizeof *lights; i++) {
        struct tl_psched_spec spec = spec_of(nodes, lights[i].test);
        struct tl_psched_task task;
        struct tl_psched_result got;
        struct tl_error error = {0};
        int64_t begin_ns = tl_now_ns();
        if (nodes->spec->brief && lights[i].test != TL_PSCHED_RTT)
            continue;
        tell(nodes, lights[i].says);
        enum tl_status status = tl_psched_start(nodes->psched, &spec, &task, &error);
        if (status == TL_OK)
            status = tl_psched_await(nodes->psched, &task, &got, &error);
        if (status == TL_OK)
            take_light(nodes, &got);
        else if (status == TL_CANCELLED || status == TL_NOMEM)
            return tl_error_set(reterr, status, "%s", error.text);
        record(nodes, lights[i].stage, begin_ns, status == TL_OK ? NULL : &error);
    }
    return TL_OK;
}

/* --- Throughput ------------------------------------------------------------------------------- */

static int plan_loads(const struct tl_nodes_spec *spec, struct load loads[LOADS_MAX])
{
    int count = 0;
    for (int several = 0; several <= (spec->streams > 1 ? 1 : 0); several++)
        for (int back = 0; back <= (spec->both ? 1 : 0); back++)
            loads[count++] = (struct load){.direction = back ? TL_DOWNLOAD : TL_UPLOAD,
                                           .streams = several ? spec->streams : 1};
    return count;
}

static void fail_load(struct nodes *nodes, const struct load *load, int64_t begin_ns,
                      const struct tl_error *error)
{
    if (!nodes->first.text[0])
        nodes->first = *error;
    record(nodes, load->streams > 1 ? "streams" : "stream", begin_ns, error);
}

static void book(struct nodes *nodes, struct load *load)
{
    struct tl_psched_spec spec = spec_of(nodes, TL_PSCHED_THROUGHPUT);
    struct tl_error error = {0};
    int64_t begin_ns = tl_now_ns();
    spec.seconds = nodes->spec->seconds;
    spec.streams = load->streams;
    spec.reverse = load->direction == TL_DOWNLOAD;
    if (tl_psched_start(nodes->psched, &spec, &load->task, &error) != TL_OK)
        fail_load(nodes, load, begin_ns, &error);
}

static void take_load(struct nodes *nodes, const struct load *load,
                      const struct tl_psched_throughput *got)
{
    long long bytes = (long long)node_received_bytes(got, nodes->spec->seconds);
    if (load->streams > 1)
        node_set_streams(got, load->streams, load->direction, nodes->facts);
    else
        node_set_stream(got, load->direction, nodes->facts);
    if (load->direction == TL_UPLOAD)
        nodes->run->sent_bytes += bytes;
    else
        nodes->run->received_bytes += bytes;
    nodes->loaded = true;
}

static enum tl_status await_load(struct nodes *nodes, struct load *load, struct tl_error *reterr)
{
    struct tl_psched_result got;
    struct tl_error error = {0};
    int64_t begin_ns = tl_now_ns();
    char text[400];
    if (!load->task.id[0])
        return TL_OK;
    bool up = load->direction == TL_UPLOAD;
    snprintf(text, sizeof text, "%d stream%s, %s to %s", load->streams,
             load->streams == 1 ? "" : "s", up ? nodes->spec->source : nodes->spec->dest,
             up ? nodes->spec->dest : nodes->spec->source);
    tell(nodes, text);
    enum tl_status status = tl_psched_await(nodes->psched, &load->task, &got, &error);
    load->task.id[0] = '\0'; /* over */
    if (status == TL_CANCELLED || status == TL_NOMEM)
        return tl_error_set(reterr, status, "%s", error.text);
    if (status != TL_OK) {
        fail_load(nodes, load, begin_ns, &error);
        return TL_OK;
    }
    take_load(nodes, load, &got.throughput);
    record(nodes, load->streams > 1 ? "streams" : "stream", begin_ns, NULL);
    return TL_OK;
}

static enum tl_status measure_loaded(struct nodes *nodes, struct tl_error *reterr)
{
    struct load loads[LOADS_MAX];
    enum tl_status status = TL_OK;
    int count = plan_loads(nodes->spec, loads);
    for (int i = 0; i < count; i++)
        book(nodes, &loads[i]);
    for (int i = 0; i < count && status == TL_OK; i++)
        status = await_load(nodes, &loads[i], reterr);
    for (int i = 0; i < count; i++)
        tl_psched_cancel(nodes->psched, &loads[i].task);
    if (status == TL_OK && !nodes->loaded)
        status = tl_error_set(reterr, nodes->first.status, "%s", nodes->first.text);
    return status;
}

/* --- All of it -------------------------------------------------------------------------------- */

enum tl_status tl_probe_nodes(const struct tl_nodes_spec *spec, int cancel_fd,
                              tl_nodes_tell *listener, void *context, struct tl_run *run,
                              struct tl_facts *facts, char ret_pin[TL_NODES_PIN_SIZE],
                              struct tl_error *reterr)
{
    struct nodes nodes = {
        .spec = spec, .tell = listener, .context = context, .run = run, .facts = facts};
    const struct tl_psched_node node = {
        .host = spec->node, .port = spec->port, .pin = spec->pin, .insecure = spec->insecure};
    enum tl_status status = tl_psched_open(&node, cancel_fd, &nodes.psched, reterr);
    if (status != TL_OK)
        return status;
    snprintf(ret_pin, TL_NODES_PIN_SIZE, "%s", tl_psched_pin(nodes.psched));
    tl_run_add_segment(run, "near-host", spec->source);
    tl_run_add_segment(run, "path", "");
    tl_run_add_segment(run, "far-host", spec->dest);
    status = measure_idle(&nodes, reterr);
    if (status == TL_OK)
        status = measure_loaded(&nodes, reterr);
    if (tl_psched_clock_is_loose(nodes.psched) && run->reason_count < TL_RUN_REASONS_MAX)
        snprintf(run->reasons[run->reason_count++], sizeof run->reasons[0],
                 "%.100s says that its clock is not synchronised: its tests may be late",
                 spec->node);
    node_explain(facts);
    tl_psched_close(nodes.psched);
    return status;
}
