/* What this host did while a test ran: processors and counters, from a reading before it and
 * one after it. */
#include "readings.h"

#include "responder_private.h"

void readings_begin(struct session *session)
{
    struct session_test *test = &session->test;
    tl_host_counters_read(&test->counters_before, "", (int)test->interface);
    tl_cpu_reading_take(&session->responder->cpu, &test->cpu_before);
}

/* Adds a record; a full frame goes out and the next one begins. */
static void add(struct session *session, const struct tl_wire_readings *head,
                struct tl_wire_writer *writer, uint8_t *frame, const struct tl_wire_record *record)
{
    if (tl_wire_record_add(writer, record))
        return;
    session_send(session, frame, tl_wire_writer_end(writer));
    tl_wire_readings_begin(writer, head, frame);
    (void)tl_wire_record_add(writer, record); /* fits into an empty frame */
}

void readings_report(struct session *session, uint32_t test_id)
{
    struct tl_responder *responder = session->responder;
    struct session_test *test = &session->test;
    struct tl_cpu_usage usage;
    struct tl_host_counters_growth growth;
    tl_cpu_reading_take(&responder->cpu, &responder->cpu_after);
    tl_cpu_usage_between(&responder->cpu, &test->cpu_before, &responder->cpu_after, &usage);
    tl_cpu_usage_clock(&responder->cpu, &usage);
    tl_host_counters_read(&responder->counters_after, "", (int)test->interface);
    tl_host_counters_between(&test->counters_before, &responder->counters_after, &growth);
    struct tl_wire_readings head = {.test_id = test_id,
                                    .phase = TL_WIRE_AFTER,
                                    .taken_ns = (uint64_t)responder->cpu_after.taken_ns};
    struct tl_wire_writer writer;
    struct tl_wire_record record;
    uint8_t frame[TL_WIRE_FRAME_MAX];
    tl_wire_readings_begin(&writer, &head, frame);
    for (unsigned i = 0; i < tl_wire_cpu_record_count() && session->state != SESSION_GONE; i++) {
        tl_wire_cpu_record(&usage, i, &record);
        add(session, &head, &writer, frame, &record);
    }
    for (unsigned i = 0; i < tl_wire_counters_record_count() && session->state != SESSION_GONE;
         i++) {
        tl_wire_counters_record(&growth, i, session->secure == NULL, &record);
        add(session, &head, &writer, frame, &record);
    }
    if (session->state != SESSION_GONE)
        session_send(session, frame, tl_wire_writer_end(&writer));
}
