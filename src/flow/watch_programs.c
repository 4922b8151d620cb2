/* What the programs behind connections do: processor time, storage, the file that moves. Rates are
 * differences to the look before. */
#include "watch_programs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Programs that are looked at in one interval, and files of each: a look costs some 100 us a
 * program. Those beyond have their name by the owner's list alone. */
#define PROGRAMS_MAX 64
#define FILES_MAX    32

struct seen {
    struct tl_flow_watch_program program;
    int64_t time_ns;
    struct tl_host_process_file files[FILES_MAX];
    size_t file_count;
    bool now; /* met in this look */
};

struct watch_programs {
    struct tl_host_owners *owners;
    bool scanned; /* since the last look: at most one scan an interval for what is not found */
    struct seen seen[PROGRAMS_MAX];
    size_t count;
};

struct watch_programs *watch_programs_create(void)
{
    struct watch_programs *programs = calloc(1, sizeof(*programs));

    if (!programs)
        return NULL;
    programs->owners = tl_host_owners_create("");
    if (!programs->owners) {
        free(programs);
        return NULL;
    }
    return programs;
}

void watch_programs_destroy(struct watch_programs *programs)
{
    if (!programs)
        return;
    tl_host_owners_destroy(programs->owners);
    free(programs);
}

/* One that another user holds is never found: a scan for it each time would be all we do. */
static pid_t owner_of(struct watch_programs *programs, uint64_t inode)
{
    pid_t owner = tl_host_owners_find(programs->owners, inode);

    if (owner || !inode || programs->scanned)
        return owner;
    programs->scanned = true;
    if (tl_host_owners_scan(programs->owners) != TL_OK)
        return 0;
    return tl_host_owners_find(programs->owners, inode);
}

/* What was passed on since the last scan is found by the next one. */
bool watch_programs_has(struct watch_programs *programs, uint64_t inode, pid_t pid)
{
    if (tl_host_owners_has(programs->owners, inode, pid))
        return true;
    if (!inode || programs->scanned)
        return false;
    programs->scanned = true;
    return tl_host_owners_scan(programs->owners) == TL_OK &&
           tl_host_owners_has(programs->owners, inode, pid);
}

static double rate_bps(uint64_t now, uint64_t before, double span_ns)
{
    return now >= before ? (double)(now - before) * 8e9 / span_ns : NAN;
}

/* The file that the program went furthest in since the look before. */
static void find_file(struct seen *seen, const struct seen *before, double span_ns)
{
    uint64_t most = 0;

    for (size_t i = 0; i < seen->file_count; i++)
        for (size_t j = 0; j < before->file_count; j++) {
            const struct tl_host_process_file *file = &seen->files[i], *old = &before->files[j];
            if (file->fd != old->fd || strcmp(file->path, old->path) != 0 ||
                file->position_bytes <= old->position_bytes ||
                file->position_bytes - old->position_bytes <= most)
                continue;
            most = file->position_bytes - old->position_bytes;
            memcpy(seen->program.file, file->path, sizeof(seen->program.file));
            seen->program.file_written = file->writes;
        }
    if (most)
        seen->program.file_bps = (double)most * 8e9 / span_ns;
}

/* Of the threads that both looks met; one that began between them counts with all it used. */
static double busiest_thread(const struct tl_host_process *now, const struct tl_host_process *then,
                             double span_ns)
{
    double most_ns = 0;

    for (size_t i = 0; i < now->thread_count; i++) {
        uint64_t before_ns = 0;
        for (size_t j = 0; j < then->thread_count; j++)
            if (then->threads[j].tid == now->threads[i].tid)
                before_ns = then->threads[j].cpu_ns;
        if (now->threads[i].cpu_ns >= before_ns)
            most_ns = fmax(most_ns, (double)(now->threads[i].cpu_ns - before_ns));
    }
    return fmin(1, most_ns / span_ns);
}

static void compare(struct seen *seen, const struct seen *before)
{
    double span_ns = (double)(seen->time_ns - before->time_ns);
    const struct tl_host_process *now = &seen->program.process, *then = &before->program.process;

    if (span_ns <= 0)
        return;
    seen->program.cpu_ratio = (double)(now->cpu_ns - then->cpu_ns) / span_ns;
    seen->program.busiest_thread_ratio = busiest_thread(now, then, span_ns);
    if (now->io_known && then->io_known) {
        seen->program.disk_read_bps =
            rate_bps(now->disk_read_bytes, then->disk_read_bytes, span_ns);
        seen->program.disk_write_bps =
            rate_bps(now->disk_write_bytes, then->disk_write_bytes, span_ns);
    }
    find_file(seen, before, span_ns);
}

/* The one of that number that was there before, or a free place; NULL when all are taken. */
static struct seen *place_of(struct watch_programs *programs, pid_t pid)
{
    for (size_t i = 0; i < programs->count; i++)
        if (programs->seen[i].program.process.pid == pid)
            return &programs->seen[i];
    return programs->count < PROGRAMS_MAX ? &programs->seen[programs->count++] : NULL;
}

static bool is_same(const struct tl_host_process *now, const struct tl_host_process *then)
{
    return then->known && now->start_ticks == then->start_ticks && now->cpu_ns >= then->cpu_ns;
}

static void look_at(struct watch_programs *programs, pid_t pid, int64_t now_ns)
{
    struct seen *seen = place_of(programs, pid);

    if (!seen || seen->now)
        return;
    struct seen before = *seen;
    *seen = (struct seen){.time_ns = now_ns,
                          .now = true,
                          .program = {.cpu_ratio = NAN,
                                      .busiest_thread_ratio = NAN,
                                      .disk_read_bps = NAN,
                                      .disk_write_bps = NAN,
                                      .file_bps = NAN}};
    tl_host_process_read("", pid, &seen->program.process);
    seen->file_count = tl_host_process_files("", pid, seen->files, FILES_MAX);
    if (seen->program.process.known && is_same(&seen->program.process, &before.program.process))
        compare(seen, &before);
}

/* Those whose connections rest have their place back. */
static void drop_unseen(struct watch_programs *programs)
{
    size_t kept = 0;

    for (size_t i = 0; i < programs->count; i++)
        if (programs->seen[i].now)
            programs->seen[kept++] = programs->seen[i];
    programs->count = kept;
}

void watch_programs_look(struct watch_programs *programs, const struct tl_live *live,
                         int64_t now_ns)
{
    programs->scanned = false;
    for (size_t i = 0; i < programs->count; i++)
        programs->seen[i].now = false;
    for (size_t i = 0; i < tl_live_count(live); i++) {
        const struct tl_live_flow *flow = tl_live_at(live, i);
        const struct tl_live_interval *interval = tl_live_interval_at(flow, 0);
        if (!interval || !tl_live_is_active(interval))
            continue;
        pid_t pid = owner_of(programs, flow->socket.inode);
        if (pid)
            look_at(programs, pid, now_ns);
    }
    drop_unseen(programs);
}

const struct tl_flow_watch_program *watch_programs_find(const struct watch_programs *programs,
                                                        uint64_t inode)
{
    pid_t pid = tl_host_owners_find(programs->owners, inode);

    for (size_t i = 0; pid && i < programs->count; i++)
        if (programs->seen[i].program.process.pid == pid)
            return &programs->seen[i].program;
    return NULL;
}
