/* The goal line by line, where it asks for more than a rate. */
#include <stdio.h>

#include "text_parts.h"
#include "tightlink/rules/goal.h"

#define LABEL_COLUMNS 13

static void print_lines(struct text *t, const struct text_source *source,
                        enum tl_direction direction)
{
    static const char *const words[] = {
        [TL_GOAL_PASS] = "pass", [TL_GOAL_FAIL] = "FAIL", [TL_GOAL_CANNOT_TELL] = "cannot tell"};
    struct tl_goal_line lines[TL_GOAL_LINES_MAX];
    size_t count = tl_goal_judge(source->run, source->facts, direction, lines);
    char heading[48], text[448];
    snprintf(heading, sizeof heading, "Goal, %s", tl_direction_name(direction));
    if (count)
        text_heading(t, heading);
    for (size_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%s: %s.", words[lines[i].answer], lines[i].text);
        text_entry(t, lines[i].name, LABEL_COLUMNS, text);
    }
}

void text_goal(struct text *t, const struct text_source *source)
{
    const struct tl_run *run = source->run;
    /* A bare rate has its place in the head. */
    if (!(run->goal.rtt_ns > 0) && !(run->goal.loss_ratio > 0) && !(run->goal.rtt_max_ns > 0) &&
        !(run->goal.mtu_bytes > 0))
        return;
    print_lines(t, source, TL_DOWNLOAD);
    print_lines(t, source, TL_UPLOAD);
}
