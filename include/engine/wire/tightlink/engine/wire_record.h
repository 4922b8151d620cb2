/* Frames with as many entries as there are: records of HOST and READINGS, samples of a stream.
 * See wire.h, which includes this. */
#ifndef TL_ENGINE_WIRE_RECORD_H
#define TL_ENGINE_WIRE_RECORD_H

#include "tightlink/engine/wire_frame.h"

struct tl_tcp_sample;           /* engine/sample.h */
struct tl_host_settings;        /* host/host.h */
struct tl_host_disk;            /* host/disk.h */
struct tl_cpu_usage;            /* host/cpu.h */
struct tl_host_counters_growth; /* host/counters.h */

/* --- Records: payload of HOST and READINGS ------------------------------------
 * HOST is records alone, READINGS has a head in front. A record names itself, so
 * that either end may know fields that the other does not; unknown names are
 * skipped by the reader. Names are [a-z0-9_.-], those of HOST are host.h's. */
enum tl_wire_record_kind {
    TL_WIRE_RECORD_NUMBER = 1,  /* IEEE 754 double, finite, in the unit of the name */
    TL_WIRE_RECORD_TEXT = 2,    /* printable ASCII */
    TL_WIRE_RECORD_UNKNOWN = 3, /* one byte: enum tl_host_why, never KNOWN */
};

#define TL_WIRE_RECORD_NAME_SIZE 64
#define TL_WIRE_RECORD_TEXT_SIZE 128
#define TL_WIRE_RECORDS_MAX      1024 /* per HOST answer or READINGS phase; the reader stops there */

struct tl_wire_record {
    enum tl_wire_record_kind kind;
    uint8_t why; /* UNKNOWN; may be a reason that this program does not know */
    char name[TL_WIRE_RECORD_NAME_SIZE];
    double number;
    char text[TL_WIRE_RECORD_TEXT_SIZE];
};

/* A frame being filled with records or samples. */
struct tl_wire_writer {
    uint8_t *frame;  /* TL_WIRE_FRAME_MAX bytes of the caller */
    size_t len;      /* so far, header included */
    size_t count_at; /* where the count byte is, 0 = none */
};

/* Adds one; false when it does not fit any more (send this frame, begin another). */
bool tl_wire_record_add(struct tl_wire_writer *writer, const struct tl_wire_record *record);

/* Closes the frame: fills the length in and returns it. */
size_t tl_wire_writer_end(struct tl_wire_writer *writer);

void tl_wire_host_begin(struct tl_wire_writer *writer, uint8_t ret_frame[TL_WIRE_FRAME_MAX]);

/* Version 1 sends AFTER alone, between the last SAMPLES and TEST_END: what happened during
 * the test, names of processor records being "cpu." and a name of cpu.h. */
enum tl_wire_phase { TL_WIRE_BEFORE, TL_WIRE_AFTER };

struct tl_wire_readings {
    uint32_t test_id;
    enum tl_wire_phase phase;
    uint64_t taken_ns; /* responder's CLOCK_MONOTONIC */
};

void tl_wire_readings_begin(struct tl_wire_writer *writer, const struct tl_wire_readings *head,
                            uint8_t ret_frame[TL_WIRE_FRAME_MAX]);

/* Reads the head and leaves the cursor at the first record. */
struct tl_wire_cursor {
    const uint8_t *at, *end;
};
enum tl_status tl_wire_decode_readings(const uint8_t *payload, size_t len,
                                       struct tl_wire_readings *ret_head,
                                       struct tl_wire_cursor *ret_cursor,
                                       struct tl_error *reterr) TL_WARN_UNUSED;

/* The next record of HOST ({payload, payload + len}) or READINGS; false in *ret_more
 * at the end. */
enum tl_status tl_wire_record_next(struct tl_wire_cursor *cursor, struct tl_wire_record *ret_record,
                                   bool *ret_more, struct tl_error *reterr) TL_WARN_UNUSED;

/* Host settings as records: index 0 .. tl_wire_host_record_count() - 1 walks both tables
 * of host.h. The client stores each record that came; false when the name is not known
 * here or the kind does not fit the row, which is no error. */
unsigned tl_wire_host_record_count(void);
void tl_wire_host_record(const struct tl_host_settings *settings, unsigned index,
                         struct tl_wire_record *ret_record);
bool tl_wire_host_store(struct tl_host_settings *settings, const struct tl_wire_record *record);

/* The same for the processor time of a test. The client begins with every value unknown,
 * NOT_READ. "cpu.elapsed_ns" is the last one. */
unsigned tl_wire_cpu_record_count(void);
void tl_wire_cpu_record(const struct tl_cpu_usage *usage, unsigned index,
                        struct tl_wire_record *ret_record);
bool tl_wire_cpu_store(struct tl_cpu_usage *usage, const struct tl_wire_record *record);

/* The same for what the kernel counted during a test, "net.softnet_dropped_count" and so on.
 * Counters that are not open become WITHHELD where open_mode is set. */
unsigned tl_wire_counters_record_count(void);
void tl_wire_counters_record(const struct tl_host_counters_growth *growth, unsigned index,
                             bool open_mode, struct tl_wire_record *ret_record);
bool tl_wire_counters_store(struct tl_host_counters_growth *growth,
                            const struct tl_wire_record *record);

/* The same for what is under the far end's directory, "disk." and a name of host/disk.h; sent in
 * HOST frames before DISK_RESULT. */
unsigned tl_wire_disk_record_count(void);
void tl_wire_disk_record(const struct tl_host_disk *disk, unsigned index,
                         struct tl_wire_record *ret_record);
bool tl_wire_disk_store(struct tl_host_disk *disk, const struct tl_wire_record *record);

/* --- Samples ----------------------------------------------------------------------
 * SAMPLES carries readings of one stream in the order of time. */
struct tl_wire_samples {
    uint32_t test_id;
    uint16_t stream;
    uint8_t count; /* set by the decoder */
};

#define TL_WIRE_SAMPLES_MAX 32 /* per frame; fewer fit */

void tl_wire_samples_begin(struct tl_wire_writer *writer, const struct tl_wire_samples *head,
                           uint8_t ret_frame[TL_WIRE_FRAME_MAX]);
bool tl_wire_sample_add(struct tl_wire_writer *writer, const struct tl_tcp_sample *sample);
/* ret_samples has room for TL_WIRE_SAMPLES_MAX. */
enum tl_status tl_wire_decode_samples(const uint8_t *payload, size_t len,
                                      struct tl_wire_samples *ret_head,
                                      struct tl_tcp_sample *ret_samples,
                                      struct tl_error *reterr) TL_WARN_UNUSED;

#endif
