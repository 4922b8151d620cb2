/* What the plan decided, as text (--explain-plan). */
#include <math.h>
#include <stdio.h>

#include "text_parts.h"
#include "tightlink/base/units.h"

#define STAGE_COLUMNS 22

static void print_decision(struct text *t, const struct tl_plan_record *record, int number)
{
    char label[64], text[320], time[TL_UNIT_TEXT_SIZE], bytes[TL_UNIT_TEXT_SIZE], worth[32] = "";
    const char *direction = record->has_direction ? tl_direction_name(record->direction) : "";
    int n = number ? snprintf(label, sizeof label, "%d ", number) : 0;
    snprintf(label + n, sizeof label - (size_t)n, "%s%s%s", record->stage, *direction ? ", " : "",
             direction);
    tl_format_ns((double)record->time_ns, time);
    tl_format_traffic((double)record->bytes, bytes);
    if (isfinite(record->worth))
        snprintf(worth, sizeof worth, "worth %.2f, ", record->worth);
    if (record->time_ns > 0)
        snprintf(text, sizeof text, "%s (%sat most %s and %s)", record->why, worth, time, bytes);
    else
        snprintf(text, sizeof text, "%s", record->why);
    text_entry(t, label, STAGE_COLUMNS, text);
}

enum tl_status tl_report_plan(const struct tl_run *run, const struct tl_text_style *style,
                              struct tl_buf *out)
{
    struct tl_page page;
    tl_page_init(&page, style->width, style->utf8);
    struct text t = {.sink = &text_columns, .page = &page};
    int number = 0, left_out = 0;
    text_heading(&t, "Plan: what was measured, in this order, and why");
    for (int i = 0; i < run->plan_count; i++)
        if (run->plan[i].chosen)
            print_decision(&t, &run->plan[i], ++number);
    for (int i = 0; i < run->plan_count; i++) {
        if (run->plan[i].chosen)
            continue;
        if (left_out++ == 0)
            text_heading(&t, "Left out");
        print_decision(&t, &run->plan[i], 0);
    }
    if (!run->plan_count)
        text_entry(&t, "none", STAGE_COLUMNS, "the run ended before anything was planned");
    enum tl_status status = tl_page_print(&page, style->color, out);
    tl_page_finish(&page);
    return status;
}
