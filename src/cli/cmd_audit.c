/* tightlink audit [HOST]: the settings of this workstation that matter to transfers. */
#include "cli.h"

#include <errno.h>
#include <string.h>

#include "audit_ladder.h"
#include "parse.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/save.h"
#include "tightlink/session/audit.h"

/* Each formatter writes at most TL_UNIT_TEXT_SIZE, which the caller's buffer holds. */
static const char *format_value(const struct tl_fact *fact, char *ret_text, size_t size)
{
    switch (fact->unit) {
    case TL_UNIT_TEXT:
        return fact->text; /* cleaned where it is printed */
    case TL_UNIT_BOOL:
        return fact->number != 0 ? "yes" : "no";
    case TL_UNIT_BPS:
        return tl_format_bps(fact->number, ret_text);
    case TL_UNIT_BYTES:
        return tl_format_bytes(fact->number, ret_text);
    case TL_UNIT_NS:
        return tl_format_ns(fact->number, ret_text);
    default:
        snprintf(ret_text, size, "%.6g", fact->number);
        return ret_text;
    }
}

static void print_fact(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    char value[512];
    const char *name = tl_fact_def(key.fact)->name;
    if (fact->state != TL_FACT_KNOWN) {
        printf("%-30s -   (%s)\n", name, fact->reason);
        return;
    }
    printf("%-30s ", name);
    cli_put_clean(format_value(fact, value, sizeof value), stdout);
    putchar('\n');
}

int cli_audit(const struct cli_command *command, int argc, char **argv)
{
    bool json = false;
    const char *host = NULL, *goal = NULL;
    double goal_bps = 0, goal_rtt_ns = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_help(command, stdout);
            return CLI_EXIT_OK;
        }
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--goal") == 0 && argv[i + 1])
            goal = argv[++i];
        else if (argv[i][0] == '-' || host)
            return cli_no_option(command, argv[i]);
        else
            host = argv[i];
    }
    struct tl_facts *facts;
    struct tl_error error = {0};
    if (goal && cli_parse_goal(goal, &goal_bps, &goal_rtt_ns, &error) != TL_OK)
        return cli_usage(command, "--goal: %s", error.text);
    if (goal && !(goal_rtt_ns > 0))
        return cli_usage(command, "--goal: an audit sees no path: write the rate and its round "
                                  "trip, for instance 900M@80ms");
    if (tl_session_audit(host, &facts, &error) != TL_OK ||
        (goal && tl_session_audit_alone(facts, &error) != TL_OK))
        return cli_fail(&error);
    int exit_code = CLI_EXIT_OK;
    if (json) {
        struct tl_buf buf = TL_BUF_INIT;
        struct tl_json_writer writer;
        tl_json_writer_init(&writer, &buf, false);
        tl_facts_save(facts, &writer, NULL);
        if (buf.status != TL_OK || !cli_write_stdout(buf.data, buf.len)) {
            cli_complain("writing the output failed: %s",
                         buf.status != TL_OK ? tl_status_text(buf.status) : strerror(errno));
            exit_code = CLI_EXIT_EXPORT;
        }
        tl_buf_finish(&buf);
    } else if (goal) {
        exit_code = cli_audit_ladder(facts, goal_bps, goal_rtt_ns) ? CLI_EXIT_OK : CLI_EXIT_MISSED;
    } else {
        tl_facts_each(facts, print_fact, NULL);
    }
    tl_facts_destroy(facts);
    return exit_code;
}
