/* Prints doc/facts.md from the table: `ninja facts-doc` writes it, a test compares it. */
#include <stdio.h>

#include "tightlink/facts/facts.h"

static void print_subject(enum tl_subject subject, const char *title, const char *text)
{
    printf("\n## %s\n\n%s\n\n| name | unit | stage | meaning |\n|---|---|---|---|\n", title, text);
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)i);
        if (def->subject == subject)
            printf("| `%s` | %s | %s | %s |\n", def->name, tl_unit_name(def->unit), def->stage,
                   def->meaning);
    }
}

int main(void)
{
    printf(
        "# Facts\n\n"
        "Printed from `include/facts/tightlink/facts/table.def`; do not edit: `ninja -C build/test "
        "facts-doc` writes "
        "it.\n\n"
        "A fact is known (a value, perhaps with bounds) or unknown (with a reason). Files and\n"
        "probes name it by where it was measured: `near.` and `far.` for the two hosts, "
        "`path.`,\n"
        "`download.` and `upload.` for the flow in each direction. Rules name roles: "
        "`sender.`,\n"
        "`receiver.`, `path.` and `flow.`; in a download the sender is the far host, in an "
        "upload\n"
        "the near one. Units: bps are payload bits a second, ns nanoseconds, ratio is 0 to 1 "
        "(more\n"
        "where it compares two rates). The stage is the one that measures the fact; `derived` "
        "ones\n"
        "are formed from others.\n");
    print_subject(TL_SUBJECT_HOST, "Hosts",
                  "Stored as `near.NAME` and `far.NAME`, read by rules as `sender.NAME` and "
                  "`receiver.NAME`.");
    print_subject(TL_SUBJECT_PATH, "Path", "Stored and read as `path.NAME`.");
    print_subject(TL_SUBJECT_FLOW, "Flow",
                  "Stored as `download.NAME` and `upload.NAME`, read by rules as `flow.NAME`.");
    return 0;
}
