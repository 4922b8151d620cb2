/* Connection tracking: what its table refused (proc, net/netfilter/nf_conntrack_standalone.c).
 * Kernels differ in the columns, so the first line's names are searched. */
#include <string.h>

#include "counters.h"
#include "proc.h"

/* /proc/net/stat/nf_conntrack: names, then hexadecimal numbers, a line a core. */
#define COLUMNS 3
struct track_columns {
    struct tl_host_counters *counters;
    bool named;
    int place[COLUMNS]; /* of the rows from CONNTRACK_DROP on */
};

#define TRACK_PATH "/proc/thread-self/net/stat/nf_conntrack"

/* The column of a name in the first line, -1 where it has none. */
static int column_of(const char *line, const char *name)
{
    int column = 0;

    for (const char *at = line;; column++) {
        size_t len;

        at += strspn(at, " ");
        len = strcspn(at, " ");
        if (len == 0)
            return -1;
        if (strncmp(at, name, len) == 0 && name[len] == '\0')
            return column;
        at += len;
    }
}

static bool take_tracking(char *line, void *context)
{
    struct track_columns *columns = context;
    const char *at = line;
    uint64_t number;

    if (!columns->named) {
        columns->named = true;
        for (unsigned i = 0; i < COLUMNS; i++)
            columns->place[i] =
                column_of(line, tl_counter_rows[TL_HOST_COUNTER_CONNTRACK_DROP + i].key);
        return true;
    }
    for (int column = 0; tl_proc_take_hex(&at, &number); column++)
        for (unsigned i = 0; i < COLUMNS; i++) {
            unsigned id = TL_HOST_COUNTER_CONNTRACK_DROP + i;

            if (columns->place[i] == column)
                tl_counters_set(columns->counters, id, columns->counters->counts[id] + number);
        }
    return true;
}

enum tl_host_why tl_counters_read_tracking(struct tl_host_counters *counters, const char *root)
{
    struct track_columns columns = {.counters = counters};

    return tl_proc_each_line(root, TRACK_PATH, take_tracking, &columns);
}
