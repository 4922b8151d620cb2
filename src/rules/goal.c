/* Goals line by line; see goal.h. */
#include "tightlink/rules/goal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tightlink/base/stats.h"
#include "tightlink/base/units.h"

/* Zero events in n trials bound the chance by 3/n at 95 % ("rule of three"). */
#define ZERO_EVENTS_BOUND 3.0
/* Share of a socket buffer that carries payload with tcp_adv_win_scale at 1: the kernel's
 * default (ip-sysctl: half is overhead). */
#define BUFFER_PAYLOAD_RATIO 0.5

struct judging {
    const struct tl_run *run;
    const struct tl_facts *facts;
    enum tl_direction direction;
    struct tl_goal_line *lines;
    size_t count;
};

const char *tl_goal_answer_name(enum tl_goal_answer answer)
{
    static const char *const names[] = {
        [TL_GOAL_PASS] = "pass", [TL_GOAL_FAIL] = "fail", [TL_GOAL_CANNOT_TELL] = "cannot-tell"};
    return names[answer];
}

double tl_goal_loss_budget(double rate_bps, double rtt_ns, double mss_bytes)
{
    double bdp_bytes = rate_bps * rtt_ns / 8e9;
    return pow(bdp_bytes / (0.7 * mss_bytes), 2);
}

static struct tl_goal_line *add_line(struct judging *j, const char *name, enum tl_unit unit,
                                     double wanted)
{
    struct tl_goal_line *line = &j->lines[j->count++];
    *line = (struct tl_goal_line){.name = name,
                                  .direction = j->direction,
                                  .answer = TL_GOAL_CANNOT_TELL,
                                  .unit = unit,
                                  .wanted = wanted,
                                  .measured = NAN,
                                  .low = NAN,
                                  .high = NAN};
    return line;
}

static void TL_PRINTF(3, 4)
    answer(struct tl_goal_line *line, enum tl_goal_answer given, const char *fmt, ...)
{
    va_list args;
    line->answer = given;
    va_start(args, fmt);
    (void)vsnprintf(line->text, sizeof line->text, fmt, args);
    va_end(args);
}

static bool known(const struct judging *j, struct tl_fact_key key, struct tl_fact *ret_fact)
{
    tl_facts_get(j->facts, key, ret_fact);
    return ret_fact->state == TL_FACT_KNOWN;
}

static double number(const struct judging *j, struct tl_fact_key key)
{
    struct tl_fact fact;
    return known(j, key, &fact) ? fact.number : (double)NAN;
}

static void take(struct tl_goal_line *line, const struct tl_fact *fact)
{
    line->measured = fact->number;
    line->low = fact->low;
    line->high = fact->high;
}

static void judge_rate(struct judging *j)
{
    struct tl_goal_line *line = add_line(j, "rate", TL_UNIT_BPS, j->run->goal.bps);
    char wanted[TL_UNIT_TEXT_SIZE], got[TL_UNIT_TEXT_SIZE];
    struct tl_fact rate;
    tl_format_bps(line->wanted, wanted);
    if (!known(j, TL_FLOW(j->direction, file_goodput_bps), &rate) &&
        !known(j, TL_FLOW(j->direction, goodput_bps), &rate)) {
        answer(line, TL_GOAL_CANNOT_TELL, "%s wanted; the rate was not measured (stage stream)",
               wanted);
        return;
    }
    take(line, &rate);
    tl_format_bps_bounded(rate.number, rate.low, rate.high, got);
    if (rate.number >= line->wanted)
        answer(line, TL_GOAL_PASS, "%s wanted, %s measured", wanted, got);
    else if (fmax(rate.high, rate.number) < line->wanted)
        answer(line, TL_GOAL_FAIL, "%s wanted, only %s measured", wanted, got);
    else
        answer(line, TL_GOAL_CANNOT_TELL,
               "%s wanted, %s measured, which varied across it: a longer test would tell", wanted,
               got);
}

static void judge_rtt(struct judging *j)
{
    struct tl_goal_line *line = add_line(j, "rtt", TL_UNIT_NS, j->run->goal.rtt_max_ns);
    char wanted[TL_UNIT_TEXT_SIZE], got[TL_UNIT_TEXT_SIZE];
    struct tl_fact rtt;
    tl_format_ns(line->wanted, wanted);
    if (!known(j, TL_PATH(rtt_idle_ns), &rtt) && !known(j, TL_PATH(connect_rtt_ns), &rtt)) {
        answer(line, TL_GOAL_CANNOT_TELL,
               "below %s wanted; the round trip was not measured (stage path)", wanted);
        return;
    }
    take(line, &rtt);
    tl_format_ns(rtt.number, got);
    if (fmax(rtt.high, rtt.number) < line->wanted)
        answer(line, TL_GOAL_PASS, "below %s wanted, %s measured without load", wanted, got);
    else if (fmin(rtt.low, rtt.number) >= line->wanted)
        answer(line, TL_GOAL_FAIL, "below %s wanted, %s measured without load", wanted, got);
    else
        answer(line, TL_GOAL_CANNOT_TELL,
               "below %s wanted, %s measured without load, which varied across it", wanted, got);
}

static void judge_mtu(struct judging *j)
{
    struct tl_goal_line *line = add_line(j, "mtu", TL_UNIT_BYTES, j->run->goal.mtu_bytes);
    struct tl_fact mtu;
    double tried = number(j, TL_FLOW(j->direction, mtu_tried_bytes));
    if (known(j, TL_FLOW(j->direction, path_mtu_bytes), &mtu)) {
        take(line, &mtu);
        if (mtu.number >= line->wanted)
            answer(line, TL_GOAL_PASS, "%.0f bytes wanted, packets of %.0f pass", line->wanted,
                   mtu.number);
        else if (tried >= line->wanted)
            answer(line, TL_GOAL_FAIL, "%.0f bytes wanted, no packet above %.0f passes",
                   line->wanted, mtu.number);
        else
            answer(line, TL_GOAL_CANNOT_TELL,
                   "%.0f bytes wanted, packets of %.0f pass; larger ones leave no interface here, "
                   "so they were not tried",
                   line->wanted, mtu.number);
        return;
    }
    /* What the kernel's TCP holds for the way is no more than that: large packets may vanish. */
    if (known(j, TL_PATH(mtu_bytes), &mtu) && mtu.number < line->wanted) {
        take(line, &mtu);
        answer(line, TL_GOAL_FAIL, "%.0f bytes wanted, the kernel sends no more than %.0f",
               line->wanted, mtu.number);
        return;
    }
    answer(line, TL_GOAL_CANNOT_TELL,
           "%.0f bytes wanted; which sizes pass was not tried (stage mtu)", line->wanted);
}

/* Loss that is not our own load's: of datagrams below the knee, or of a stream held at half the
 * rate. Above the wanted share without doubt. */
static bool lost_without_load(const struct judging *j, double wanted, struct tl_fact *ret_loss)
{
    return (known(j, TL_FLOW(j->direction, udp_loss_below_knee_ratio), ret_loss) &&
            ret_loss->low > wanted) ||
           (known(j, TL_FLOW(j->direction, paced_loss_event_ratio), ret_loss) &&
            ret_loss->low > wanted);
}

/* Judges a share of loss by the segments of the steady part, then by what was lost below the
 * knee. Zero losses in n packets say p < 3/n and no more. */
static void judge_loss(struct judging *j, struct tl_goal_line *line, const char *what)
{
    double mss = number(j, TL_FLOW(j->direction, mss_bytes));
    double sent = number(j, TL_FLOW(j->direction, goodput_bps)) *
                  number(j, TL_FLOW(j->direction, steady_ns)) / 8e9 / mss;
    double lost = number(j, TL_FLOW(j->direction, retrans_count)), low, high;
    struct tl_fact ratio;
    if (!(sent > 0) || isnan(lost)) {
        answer(line, TL_GOAL_CANNOT_TELL, "%s; losses were not counted (stage stream)", what);
        return;
    }
    tl_stats_poisson95(lost, &low, &high);
    if (lost == 0) /* NOLINT: a count */
        high = ZERO_EVENTS_BOUND;
    line->measured = lost / sent;
    line->low = fmin(low / sent, 1);
    line->high = fmin(high / sent, 1);
    if (line->high < line->wanted) {
        answer(line, TL_GOAL_PASS, "%s; %.0f of %.0f packets lost: at most %.2g", what, lost, sent,
               line->high);
    } else if (lost_without_load(j, line->wanted, &ratio)) {
        take(line, &ratio);
        answer(line, TL_GOAL_FAIL, "%s; %.2g is lost below the load that fills the path", what,
               ratio.number);
    } else if (line->low <= line->wanted) {
        answer(line, TL_GOAL_CANNOT_TELL,
               "%s; %.0f of %.0f packets lost, which only says less than %.2g: needs %.3g packets "
               "without a loss",
               what, lost, sent, line->high, ceil(ZERO_EVENTS_BOUND / line->wanted));
    } else {
        answer(line, TL_GOAL_CANNOT_TELL,
               "%s; %.0f of %.0f packets lost, perhaps through the test's own load: the stages udp "
               "and paced would tell",
               what, lost, sent);
    }
}

static void judge_service_loss(struct judging *j)
{
    char what[96];
    struct tl_goal_line *line = add_line(j, "loss", TL_UNIT_RATIO, j->run->goal.loss_ratio);
    snprintf(what, sizeof what, "below %.3g wanted", line->wanted);
    judge_loss(j, line, what);
}

/* What a section of a longer path must do so that Reno carries the rate over the whole of it. */
static void judge_budget(struct judging *j)
{
    double rate = j->run->goal.bps, rtt = j->run->goal.rtt_ns;
    double mss = number(j, TL_FLOW(j->direction, mss_bytes));
    double budget = tl_goal_loss_budget(rate, rtt, mss);
    char rate_text[TL_UNIT_TEXT_SIZE], rtt_text[TL_UNIT_TEXT_SIZE], what[160];
    struct tl_goal_line *line = add_line(j, "loss-budget", TL_UNIT_RATIO, fmin(1 / budget, 1));
    tl_format_bps(rate, rate_text);
    tl_format_ns(rtt, rtt_text);
    if (!(budget > 0)) {
        line->wanted = NAN;
        answer(line, TL_GOAL_CANNOT_TELL, "the segment size was not measured (stage stream)");
        return;
    }
    snprintf(what, sizeof what, "%s over %s needs %.3g packets from one loss to the next",
             rate_text, rtt_text, fmax(budget, 1));
    judge_loss(j, line, what);
}

static void judge_buffers(struct judging *j)
{
    double bdp = j->run->goal.bps * j->run->goal.rtt_ns / 8e9;
    double receive = number(j, TL_HOST_OF(j->direction, TL_RECEIVER, tcp_rmem_max_bytes));
    double send = number(j, TL_HOST_OF(j->direction, TL_SENDER, tcp_wmem_max_bytes));
    double least = isnan(receive) ? send : isnan(send) ? receive : fmin(receive, send);
    char needed[TL_UNIT_TEXT_SIZE], has[TL_UNIT_TEXT_SIZE];
    struct tl_goal_line *line = add_line(j, "buffers", TL_UNIT_BYTES, bdp / BUFFER_PAYLOAD_RATIO);
    tl_format_bytes(line->wanted, needed);
    tl_format_bytes(least, has);
    line->measured = line->low = line->high = least;
    if (least < bdp)
        answer(line, TL_GOAL_FAIL,
               "that needs socket buffers of %s at both ends; the smaller of the two ends at %s",
               needed, has);
    else if (isnan(receive) || isnan(send))
        answer(line, TL_GOAL_CANNOT_TELL,
               "that needs socket buffers of %s at both ends; one end does not tell its own "
               "(stage hosts)",
               needed);
    else if (least >= line->wanted)
        answer(line, TL_GOAL_PASS, "that needs socket buffers of %s at both ends; they have %s",
               needed, has);
    else
        answer(line, TL_GOAL_CANNOT_TELL,
               "that needs socket buffers of up to %s at both ends; the smaller has %s, enough "
               "only if little of it is overhead",
               needed, has);
}

size_t tl_goal_judge(const struct tl_run *run, const struct tl_facts *facts,
                     enum tl_direction direction, struct tl_goal_line ret_lines[TL_GOAL_LINES_MAX])
{
    struct judging j = {.run = run, .facts = facts, .direction = direction, .lines = ret_lines};
    bool asked = direction == TL_DOWNLOAD ? run->download : run->upload;
    /* Of an unusable measurement nothing is said. */
    if (!asked || run->quality == TL_QUALITY_INVALID || run->quality == TL_QUALITY_ABORTED)
        return 0;
    if (run->goal.bps > 0)
        judge_rate(&j);
    if (run->goal.loss_ratio > 0)
        judge_service_loss(&j);
    if (run->goal.rtt_max_ns > 0)
        judge_rtt(&j);
    if (run->goal.mtu_bytes > 0)
        judge_mtu(&j);
    if (run->goal.bps > 0 && run->goal.rtt_ns > 0) {
        judge_budget(&j);
        judge_buffers(&j);
    }
    return j.count;
}

enum tl_goal_answer tl_goal_outcome(const struct tl_run *run, const struct tl_facts *facts)
{
    enum tl_goal_answer outcome = TL_GOAL_PASS;
    for (int d = TL_DOWNLOAD; d <= TL_UPLOAD; d++) {
        struct tl_goal_line lines[TL_GOAL_LINES_MAX];
        size_t count = tl_goal_judge(run, facts, (enum tl_direction)d, lines);
        for (size_t i = 0; i < count; i++) {
            bool longer =
                strcmp(lines[i].name, "loss-budget") == 0 || strcmp(lines[i].name, "buffers") == 0;
            if (lines[i].answer == TL_GOAL_FAIL)
                return TL_GOAL_FAIL;
            if (lines[i].answer == TL_GOAL_CANNOT_TELL && !longer)
                outcome = TL_GOAL_CANNOT_TELL;
        }
    }
    return outcome;
}
