/* tightlink between A B: a TCP test from one responder to another, watched from here; or, with
 * --node, what two perfSONAR nodes measure between them (between_nodes.c). */
#include "cli.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "between_nodes.h"
#include "tightlink/base/json_write.h"
#include "tightlink/base/key.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"
#include "tightlink/base/wake.h"
#include "tightlink/session/between.h"
#include "words.h"

/* How long each test of nodes lasts, with how many streams beside the one, and how long a node may
 * put it off. Four streams tell a window from a full link. */
#define NODES_TIME_NS (10 * TL_NS_PER_S)
#define NODES_STREAMS 4
#define NODES_WAIT_NS (300 * TL_NS_PER_S)

struct between_options {
    struct tl_between_spec spec;
    const char *key_file;
    bool json, port_given, one_way;
    long streams; /* 0: not said */
    struct cli_between_nodes nodes;
};

static int cancel_fd = -1;

static void on_signal(int number)
{
    tl_wake(cancel_fd);
}

static bool catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return cancel_fd >= 0 && sigaction(SIGINT, &action, NULL) == 0 &&
           sigaction(SIGTERM, &action, NULL) == 0;
}

static enum tl_status take_port(const char *text, void *into, struct tl_error *reterr)
{
    struct between_options *options = into;
    options->port_given = true;
    enum tl_status status = cli_parse_port(text, &options->spec.from.port, reterr);
    options->spec.to.port = options->spec.from.port;
    return status;
}

static enum tl_status take_streams(const char *text, void *into, struct tl_error *reterr)
{
    struct between_options *options = into;
    char *end;
    long streams = strtol(text, &end, 10);
    if (end == text || *end || streams < 1 || streams > 128)
        return tl_error_set(reterr, TL_USAGE, "1 to 128 streams, not \"%.20s\"", text);
    options->streams = streams;
    options->spec.streams = (unsigned)streams;
    return TL_OK;
}

/* From "node" on: what --node alone knows. */
static const struct cli_option between_table[] = {
    {CLI_TEXT("key", struct between_options, key_file)},
    {CLI_TIME("time", struct between_options, spec.duration_ns)},
    {CLI_READ("streams", take_streams)},
    {CLI_READ("port", take_port)},
    {CLI_FLAG("json", struct between_options, json)},
    {CLI_TEXT("node", struct between_options, nodes.node)},
    {CLI_FLAG("one-way", struct between_options, one_way)},
    {CLI_TIME("wait", struct between_options, nodes.spec.wait_ns)},
    {CLI_FLAG("insecure", struct between_options, nodes.spec.insecure)},
    {CLI_FLAG("yes", struct between_options, nodes.options.yes)},
    {CLI_TEXT("save", struct between_options, nodes.options.save)},
    {CLI_FLAG("no-history", struct between_options, nodes.options.no_history)},
    {CLI_FLAG("full", struct between_options, nodes.options.full)},
    {.name = NULL},
};

static void print_share(const char *what, double ratio)
{
    char text[TL_UNIT_TEXT_SIZE];
    if (isfinite(ratio))
        printf("    %-24s %s\n", what, tl_format_ratio(ratio, text));
}

static void print_text(const struct between_options *options, const struct tl_between_result *got)
{
    char rate[TL_UNIT_TEXT_SIZE], low[TL_UNIT_TEXT_SIZE], high[TL_UNIT_TEXT_SIZE];
    char bytes[TL_UNIT_TEXT_SIZE], time[TL_UNIT_TEXT_SIZE], rtt[TL_UNIT_TEXT_SIZE];
    double best_bps = isfinite(got->rate_bps) ? got->rate_bps : got->whole_bps;
    cli_put_clean(options->spec.from.host, stdout);
    fputs(" -> ", stdout);
    cli_put_clean(options->spec.to.host, stdout);
    printf(": %s", tl_format_bps(best_bps, rate));
    if (isfinite(got->rate_bps))
        printf(" (95 %% interval %s to %s)", tl_format_bps(got->low_bps, low),
               tl_format_bps(got->high_bps, high));
    else
        printf(" over the whole test: it had no steady part");
    printf("\n%u stream%s of %s, %s in %s", got->streams, got->streams == 1 ? "" : "s",
           got->congestion, tl_format_traffic(got->received_bytes, bytes),
           tl_format_ns(got->elapsed_ns, time));
    if (isfinite(got->rtt_min_ns))
        printf(", round trip %s at rest", tl_format_ns(got->rtt_min_ns, rtt));
    if (isfinite(got->rtt_mean_ns))
        printf(", %s under load", tl_format_ns(got->rtt_mean_ns, rtt));
    if (isfinite(got->retrans_ratio))
        printf(", %.4g %% sent again", 100 * got->retrans_ratio);
    printf("\nWhat the sender waited for:\n");
    print_share("the receiver's window", got->rwnd_ratio);
    print_share("the network", got->network_ratio);
    print_share("its buffer", got->sndbuf_ratio);
    print_share("its program", got->app_ratio);
}

static bool print_json(const struct between_options *options, const struct tl_between_result *got)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {{"streams", got->streams},
                {"rate_bps", got->rate_bps},
                {"low_bps", got->low_bps},
                {"high_bps", got->high_bps},
                {"whole_bps", got->whole_bps},
                {"received_bytes", got->received_bytes},
                {"elapsed_ns", got->elapsed_ns},
                {"rtt_min_ns", got->rtt_min_ns},
                {"rtt_mean_ns", got->rtt_mean_ns},
                {"retrans_ratio", got->retrans_ratio},
                {"ledger_app_ratio", got->app_ratio},
                {"ledger_sndbuf_ratio", got->sndbuf_ratio},
                {"ledger_rwnd_ratio", got->rwnd_ratio},
                {"ledger_network_ratio", got->network_ratio},
                {"sender_thread_cpu_ratio", got->sender_cpu_ratio},
                {"receiver_thread_cpu_ratio", got->receiver_cpu_ratio}};
    struct tl_buf buf = TL_BUF_INIT;
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, &buf, false);
    tl_json_begin_object(&writer, NULL);
    tl_json_add_string(&writer, "from", options->spec.from.host);
    tl_json_add_string(&writer, "to", options->spec.to.host);
    tl_json_add_string(&writer, "congestion", got->congestion);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (isfinite(rows[i].value))
            tl_json_add_number(&writer, rows[i].name, rows[i].value);
        else
            tl_json_add_null(&writer, rows[i].name);
    tl_json_end(&writer);
    bool written =
        buf.status == TL_OK && cli_write_stdout(buf.data, buf.len) && cli_write_stdout("\n", 1);
    tl_buf_finish(&buf);
    return written;
}

/* What nodes of others permit is less than what responders do. */
static int between_nodes(const struct cli_command *command, struct between_options *options)
{
    struct tl_nodes_spec *spec = &options->nodes.spec;
    int64_t ns = options->spec.duration_ns ? options->spec.duration_ns : NODES_TIME_NS;
    if (options->key_file)
        return cli_usage(command, "--key is for responders, --node for perfSONAR nodes");
    if (options->port_given)
        return cli_usage(command, "write the node's port behind its name: pscheduler://HOST:PORT");
    if (ns < TL_NODES_SECONDS_MIN * TL_NS_PER_S || ns > TL_NODES_SECONDS_MAX * TL_NS_PER_S)
        return cli_usage(command, "nodes test for %d to %d s", TL_NODES_SECONDS_MIN,
                         TL_NODES_SECONDS_MAX);
    if (options->streams > TL_NODES_STREAMS_MAX)
        return cli_usage(command, "nodes run at most %d streams for others", TL_NODES_STREAMS_MAX);
    spec->both = !options->one_way;
    spec->seconds = (int)(ns / TL_NS_PER_S);
    spec->streams = options->streams ? (int)options->streams : NODES_STREAMS;
    spec->source = options->spec.from.host;
    spec->dest = options->spec.to.host;
    options->nodes.options.json = options->json;
    return cli_between_nodes(command, &options->nodes);
}

static bool consent(const struct between_options *options, int *ret_exit)
{
    char text[700], time[TL_UNIT_TEXT_SIZE];
    int64_t ns = options->spec.duration_ns;
    snprintf(text, sizeof text, "%.253s will send to %.253s as fast as it can%s%s.",
             options->spec.from.host, options->spec.to.host, ns ? " for " : "",
             ns ? tl_format_ns((double)ns, time) : "");
    return cli_nodes_consent(&options->nodes.options, text, ret_exit);
}

static int between_responders(const struct between_options *options)
{
    struct tl_between_result result;
    struct tl_error error = {0};
    if (!catch_signals())
        return CLI_EXIT_INCONCLUSIVE;
    if (tl_session_between(&options->spec, cancel_fd, &result, &error) != TL_OK)
        return cli_fail(&error);
    if (!options->json)
        print_text(options, &result);
    else if (!print_json(options, &result))
        return CLI_EXIT_EXPORT;
    return CLI_EXIT_OK;
}

int cli_between(const struct cli_command *command, int argc, char **argv)
{
    struct between_options options = {
        .spec = {.from = {.port = CLI_DEFAULT_PORT}, .to = {.port = CLI_DEFAULT_PORT}},
        .nodes = {.spec = {.wait_ns = NODES_WAIT_NS}}};
    struct tl_keys *keys = NULL;
    struct tl_error error = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    int exit_code = CLI_EXIT_OK;
    if (!cli_take_options(&words, between_table, &options))
        return words.exit_code;
    if (words.argc != 2)
        return cli_usage(command, "two hosts: where the data comes from, and where it goes");
    options.spec.from.host = words.argv[0];
    options.spec.to.host = words.argv[1];
    if (options.nodes.node)
        return between_nodes(command, &options);
    if (!options.key_file)
        return cli_usage(command,
                         "tests between responders need --key FILE; perfSONAR nodes test with "
                         "--node pscheduler://HOST");
    if (tl_keys_load(options.key_file, &keys, &error) != TL_OK) {
        (void)cli_fail(&error);
        return CLI_EXIT_AUTH;
    }
    options.spec.from.key = options.spec.to.key = tl_keys_at(keys, 0);
    if (consent(&options, &exit_code))
        exit_code = between_responders(&options);
    tl_keys_destroy(keys);
    return exit_code;
}
