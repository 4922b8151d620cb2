/* A goal judged line by line: what was wanted, what was measured, and whether that is a pass, a
 * fail, or cannot be told and what would tell. Pure, like the rules. */
#ifndef TL_RULES_GOAL_H
#define TL_RULES_GOAL_H

#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

enum tl_goal_answer { TL_GOAL_PASS, TL_GOAL_FAIL, TL_GOAL_CANNOT_TELL };
const char *tl_goal_answer_name(enum tl_goal_answer answer); /* "pass", "fail", "cannot-tell" */

/* Rate, loss, round trip, packet size; for a longer path its losses and its buffers. */
#define TL_GOAL_LINES_MAX 6

struct tl_goal_line {
    const char *name; /* "rate", "loss", "rtt", "mtu", "loss-budget", "buffers"; static */
    enum tl_direction direction;
    enum tl_goal_answer answer;
    enum tl_unit unit;
    double wanted, measured, low, high; /* NAN where unknown */
    char text[384];                     /* one sentence with the numbers */
};

/* Judges what the run's goal asks of one direction; the number of lines, 0 without a goal that
 * has any. Nothing is owned. */
size_t tl_goal_judge(const struct tl_run *run, const struct tl_facts *facts,
                     enum tl_direction direction, struct tl_goal_line ret_lines[TL_GOAL_LINES_MAX]);

/* All directions of the run at once: fail if a line fails, else cannot tell if one cannot be
 * told. For a run without lines pass. Lines about a longer path count only where they fail:
 * no short test can prove that loss is rare enough for one. */
enum tl_goal_answer tl_goal_outcome(const struct tl_run *run, const struct tl_facts *facts);

/* Packets from one loss to the next that a rate over a round-trip time needs with Reno's halving,
 * (BDP / (0.7 MSS))^2 (Mathis, Semke, Mahdavi and Ott 1997, with delayed acknowledgements). */
double tl_goal_loss_budget(double rate_bps, double rtt_ns, double mss_bytes);

#endif
