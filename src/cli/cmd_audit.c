/* tightlink audit [HOST]: the settings of this workstation that matter to transfers. */
#include "cli.h"

#include <errno.h>
#include <string.h>

#include "audit_ladder.h"
#include "tightlink/base/far.h"
#include "tightlink/base/units.h"
#include "tightlink/facts/save.h"
#include "tightlink/session/audit.h"
#include "words.h"

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

static int print_json(const struct tl_facts *facts)
{
    struct tl_buf buf = TL_BUF_INIT;
    struct tl_json_writer writer;
    tl_json_writer_init(&writer, &buf, false);
    tl_facts_save(facts, &writer, NULL);
    bool written = buf.status == TL_OK && cli_write_stdout(buf.data, buf.len);
    if (!written)
        cli_complain("writing the output failed: %s",
                     buf.status != TL_OK ? tl_status_text(buf.status) : strerror(errno));
    tl_buf_finish(&buf);
    return written ? CLI_EXIT_OK : CLI_EXIT_EXPORT;
}

static bool may_look_up(const char *host, bool yes, int *ret_exit)
{
    struct tl_target target;
    struct tl_error error = {0};
    if (!host)
        return true;
    if (tl_target_parse(host, &target, &error) == TL_OK)
        return cli_may_look_up(target.host, yes, ret_exit);
    *ret_exit = cli_fail(&error);
    return false;
}

struct auditing {
    bool json, yes;
    double goal_bps, goal_rtt_ns;
};

static enum tl_status take_goal(const char *text, void *options, struct tl_error *reterr)
{
    struct auditing *auditing = options;
    enum tl_status status =
        cli_parse_goal(text, &auditing->goal_bps, &auditing->goal_rtt_ns, reterr);
    if (status == TL_OK && !(auditing->goal_rtt_ns > 0))
        return tl_error_set(reterr, TL_USAGE,
                            "an audit sees no path: write the rate and its round trip, "
                            "for instance 900M@80ms");
    return status;
}

static const struct cli_option options[] = {
    {CLI_READ("goal", take_goal)},
    {CLI_FLAG("json", struct auditing, json)},
    {CLI_FLAG("yes", struct auditing, yes)},
    {.name = NULL},
};

int cli_audit(const struct cli_command *command, int argc, char **argv)
{
    struct auditing auditing = {0};
    struct cli_words words = {command, argc, argv, false, CLI_EXIT_OK};
    struct tl_error error = {0};
    int exit_code = CLI_EXIT_OK;
    if (!cli_take_options(&words, options, &auditing))
        return words.exit_code;
    if (words.argc > 1)
        return cli_usage(command, "name one host, or none");
    const char *host = words.argc ? words.argv[0] : NULL;
    if (!may_look_up(host, auditing.yes, &words.exit_code))
        return words.exit_code;
    struct tl_facts *facts;
    if (tl_session_audit(host, &facts, &error) != TL_OK ||
        (auditing.goal_bps > 0 && tl_session_audit_alone(facts, &error) != TL_OK))
        return cli_fail(&error);
    if (auditing.json)
        exit_code = print_json(facts);
    else if (auditing.goal_bps > 0)
        exit_code = cli_audit_ladder(facts, auditing.goal_bps, auditing.goal_rtt_ns)
                        ? CLI_EXIT_OK
                        : CLI_EXIT_MISSED;
    else
        tl_facts_each(facts, print_fact, NULL);
    tl_facts_destroy(facts);
    return exit_code;
}
