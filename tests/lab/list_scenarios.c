/* Prints the table of scenarios as JSON lines, for the matrix: one source of truth. */
#include <json-c/json.h>
#include <stdio.h>

#include "tightlink/lab/scenario.h"

static struct json_object *text(const char *value)
{
    return json_object_new_string(value);
}

int main(void)
{
    size_t count;
    const struct tl_lab_scenario *all = tl_lab_scenario_list(&count);
    for (size_t i = 0; i < count; i++) {
        struct json_object *row = json_object_new_object();
        json_object_object_add(row, "name", text(all[i].name));
        json_object_object_add(row, "spec", text(all[i].spec));
        json_object_object_add(row, "direction",
                               text(all[i].direction == TL_LAB_UP ? "upload" : "download"));
        json_object_object_add(row, "goal_bps", json_object_new_double(all[i].goal_bps));
        json_object_object_add(row, "cause", text(all[i].cause));
        json_object_object_add(row, "segment", text(all[i].segment));
        json_object_object_add(row, "also", text(all[i].also));
        json_object_object_add(row, "low_bps", json_object_new_double(all[i].ceiling_low_bps));
        json_object_object_add(row, "high_bps", json_object_new_double(all[i].ceiling_high_bps));
        puts(json_object_to_json_string_ext(row, JSON_C_TO_STRING_PLAIN));
        json_object_put(row);
    }
    return 0;
}
