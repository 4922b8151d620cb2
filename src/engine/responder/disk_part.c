/* A session's area of the disk, and its errands. */
#include "disk_part.h"

#include <errno.h>

#include "responder_private.h"
#include "tightlink/base/time.h"

bool disk_part_is_open(struct session *session)
{
    if (session->responder->options.disk_directory)
        return true;
    session_error(session, TL_WIRE_E_REFUSED,
                  "this responder has no directory for disk tests: its administrator opens one "
                  "with --disk DIR");
    return false;
}

/* What another session keeps for a next test of its own, its hold: one test has the disk at a time
 * (turn.c), and has it whole. So there is one such at most; NULL: none. */
static struct tl_disk_area *take_kept_area(const struct session *session)
{
    const struct sessions *sessions = &session->responder->sessions;
    for (uint32_t i = 0; i < sessions->count; i++) {
        struct session *other = sessions->list[i];
        struct tl_disk_area *area = other->disk.area;
        if (other == session || !area)
            continue;
        other->disk.area = NULL;
        return area;
    }
    return NULL;
}

void disk_part_prepare(struct session *session, bool write, bool read, disk_errand_fn *done)
{
    const struct tl_wire_test_disk *asked = &session->test.disk;
    struct disk_errand_spec spec = {
        .directory = session->responder->options.disk_directory,
        .area = session->disk.area,
        .replaced = take_kept_area(session),
        .write = write,
        .read = read,
        .test = {.threads = asked->threads,
                 .duration_ns = asked->duration_ms * TL_NS_PER_MS,
                 .max_bytes = asked->max_bytes},
    };
    session->state = SESSION_PREPARING;
    session->deadline_ns = INT64_MAX;
    if (disk_errand_start(session->responder->loop, &spec, done, session, &session->disk.errand) !=
        TL_OK)
        session_error(session, TL_WIRE_E_INTERNAL, "no thread for a disk test");
}

/* What a stranger is told: what to do, and not which directory it is. */
static void refuse(struct session *session, const struct disk_answer *answer)
{
    static const char *const text[TL_STATUS_COUNT] = {
        [TL_NOSPACE] = "the directory for disk tests is full, or over its quota",
        [TL_LIMIT] = "there is too little space in the directory for disk tests",
        [TL_BUSY] =
            "other clients hold what may be used of the disk: try again when they have ended",
        [TL_TIMEOUT] = "the disk of the directory for disk tests does not answer",
        [TL_DENIED] = "the responder may not write in its directory for disk tests",
        [TL_NOMEM] = "the responder is out of memory for a disk test",
    };
    const char *told = text[answer->status];
    if (responder_may_log(session->responder, LOG_DISK))
        responder_log(session->responder, "disk test: %s", answer->error.text);
    session_rest(session);
    session_error(session, TL_WIRE_E_REFUSED, "%s; its administrator finds more in the log",
                  told ? told : "the responder's disk test failed");
}

bool disk_part_take(struct session *session, const struct disk_answer *answer)
{
    if (answer->status != TL_OK) {
        refuse(session, answer);
        return false;
    }
    if (!session->disk.area)
        session->disk.area = tl_disk_area_hold(answer->area);
    return true;
}

void disk_part_let_go(struct session *session)
{
    if (!session->disk.errand)
        return;
    disk_errand_let_go(session->disk.errand);
    session->disk.errand = NULL;
    session->responder->queue_dirty = true;
}

void disk_part_abandon(struct session *session)
{
    disk_part_let_go(session);
    tl_disk_area_release(session->disk.area);
    session->disk.area = NULL;
}

uint8_t disk_part_fault(int errnum)
{
    return errnum == 0        ? TL_WIRE_DISK_FINE
           : errnum == ENOSPC ? TL_WIRE_DISK_FULL
           : errnum == EDQUOT ? TL_WIRE_DISK_QUOTA
                              : TL_WIRE_DISK_ERROR;
}
