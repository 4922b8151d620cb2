/* run --capture: started before the session, read after it, shown behind its report. */
#include "run_capture.h"

#include <string.h>
#include <unistd.h>

#include "tightlink/base/far.h"
#include "tightlink/base/time.h"
#include "tightlink/base/units.h"

/* A run moves 1.5 GB unless told otherwise: a million packets of 1500 bytes and as many answers.
 * The longest is what the helper takes. */
#define BYTES_MOST   (INT64_C(256) * 1000 * 1000)
#define SECONDS_MOST 86400
#define ROWS         8

static enum tl_status start(const char *target, const char *path, struct cli_run_capture *capture,
                            struct tl_error *reterr)
{
    struct tl_app_capture_order order = {.for_ns = SECONDS_MOST * TL_NS_PER_S,
                                         .max_bytes = BYTES_MOST};
    struct tl_app_live_what what;
    struct tl_target parsed;
    char program[PATH_MAX];
    if (!cli_find_program("tightlink-capture", program, sizeof program))
        return tl_error_set(reterr, TL_UNKNOWN,
                            "the program tightlink-capture is not beside tightlink: it was built "
                            "without libpcap");
    order.program = program;
    enum tl_status status = tl_target_parse(target, &parsed, reterr);
    if (status == TL_OK) {
        if (parsed.port || parsed.kind != TL_FAR_KIND_COUNT)
            capture->port = parsed.port ? parsed.port : tl_far_row(parsed.kind)->port;
        what = (struct tl_app_live_what){.host = parsed.host, .loopback = true};
        status = tl_app_capture_plan(&what, &order.plan, reterr);
    }
    return status == TL_OK ? tl_app_capture_start(&order, path, &capture->helper, reterr) : status;
}

void cli_run_capture_begin(const char *target, uint16_t port, const char *path,
                           struct cli_run_capture *ret_capture)
{
    struct tl_error error = {0};
    char most[TL_UNIT_TEXT_SIZE];
    *ret_capture = (struct cli_run_capture){.port = port, .helper = {.report_fd = -1}};
    if (start(target, path, ret_capture, &error) == TL_OK)
        cli_complain("the headers of this run go to %s, at most %s", path,
                     tl_format_traffic((double)BYTES_MOST, most));
    else
        cli_complain("this run goes without a capture: %s", error.text);
}

void cli_run_capture_end(struct cli_run_capture *capture, const struct tl_rules *rules)
{
    struct tl_app_capture_count count;
    struct tl_error error = {0};
    if (capture->helper.report_fd < 0)
        return;
    enum tl_status status = tl_app_capture_end(&capture->helper, true, &count, &error);
    if (status == TL_OK && count.full)
        cli_complain("the capture ends early: the agreed size was reached");
    if (status == TL_OK && count.dropped_count)
        cli_complain("%lld packets are not in the capture, dropped by this machine: they are not "
                     "losses of the path",
                     count.dropped_count);
    if (status == TL_OK && count.packets_count == 0) {
        (void)unlink(capture->helper.path);
        return; /* nothing was sent: that was said */
    }
    if (status == TL_OK)
        status = tl_app_pcap_open(capture->helper.path, rules, &capture->pcap, &error);
    if (status != TL_OK)
        cli_complain("the packets of this run are not judged: %s", error.text);
}

/* A verdict of packets alone against that of the whole run. */
static void print_agreement(const struct tl_app_pcap_row *row, const struct tl_verdict *verdict)
{
    bool same = verdict->state == TL_LIMITED && strcmp(row->cause, verdict->cause) == 0;
    if (!row->cause[0])
        printf("Packets alone do not tell what limits flow %zu; the run measured more than they "
               "show.\n",
               row->number);
    else if (same)
        printf("Packets alone name the same cause for flow %zu.\n", row->number);
    else
        printf("Packets alone name %s for flow %zu, one connection of the run. The verdict\nabove "
               "rests on all of them.\n",
               row->cause, row->number);
}

/* The largest connection with the port of the far end: other programs may speak to its host, too.
 * TL_RANGE where there is none. */
static enum tl_status find_own(const struct cli_run_capture *capture, size_t *ret_number,
                               struct tl_error *reterr)
{
    struct tl_app_pcap_row row;
    char ending[16];
    int len = snprintf(ending, sizeof ending, ":%u", capture->port);
    enum tl_status status = TL_OK;
    for (size_t number = 1; status == TL_OK; number++) {
        status = tl_app_pcap_row(capture->pcap, number, &row, reterr);
        size_t end = strlen(row.server);
        if (status == TL_OK && end > (size_t)len &&
            strcmp(row.server + end - (size_t)len, ending) == 0) {
            *ret_number = number;
            return TL_OK;
        }
    }
    return status;
}

void cli_run_capture_print(const struct cli_run_capture *capture,
                           const struct tl_session_result *result)
{
    struct tl_app_pcap_row row;
    struct tl_error error = {0};
    size_t own;
    if (!capture->pcap)
        return;
    printf("\nThe packets of this run: tightlink pcap ");
    cli_put_clean(capture->helper.path, stdout);
    enum tl_status status = cli_print_flows(capture->pcap, ROWS, &error);
    if (status != TL_OK)
        cli_complain("%s", error.text);
    if (status == TL_OK && result->findings && find_own(capture, &own, &error) == TL_OK &&
        tl_app_pcap_judge(capture->pcap, own, &row, &error) == TL_OK)
        print_agreement(&row, &result->findings->verdict);
}

void cli_run_capture_finish(struct cli_run_capture *capture)
{
    tl_app_pcap_close(capture->pcap);
    capture->pcap = NULL;
}
