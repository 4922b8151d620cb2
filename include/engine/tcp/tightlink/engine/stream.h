/* TCP data streams of one test at one end, near or far alike.
 *
 * A tl_streams object owns up to TL_STREAMS_MAX connected sockets that all send
 * or all receive, one worker thread each, and one sampler thread that reads
 * every socket's TCP_INFO at an interval. The owner is one thread (the client's
 * session worker; the responder's control loop): it creates, adds, starts,
 * drains samples, stops and destroys. None of its calls blocks longer than
 * said. What the streams measure leaves as samples and a result per stream.
 *
 *   create -> add (each socket) -> start -> running -> done -> destroy
 *                                   |  drain, stop   ^
 *                                   +--- deadline ---+
 *
 * done: every worker has ended; tl_streams_event_fd() is readable. A worker ends
 * at the deadline, after its byte cap, when told to stop, when the peer closes,
 * or when the path is dead for 5 s (TCP_USER_TIMEOUT). A sender that ends at the
 * deadline or is stopped aborts the connection (RST): bytes still queued would
 * otherwise load the path for seconds after the end. A sender that reached its
 * cap closes in order and waits for the receiver to read everything.
 *
 * What does not live here: who may send how much (the responder clamps before
 * it calls), wire messages, rates and conclusions (steady.h). Never prints. */
#ifndef TL_ENGINE_STREAM_H
#define TL_ENGINE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/engine/sample.h"
#include "tightlink/engine/wire.h"

#define TL_STREAMS_MAX             128          /* what a responder grants is limits.h's */
#define TL_STREAM_SEND_BYTES       (256 * 1024) /* one send() */
#define TL_STREAM_SPLICE_BYTES     (256 * 1024) /* one splice() */
#define TL_STREAM_LARGE_BYTES      (1024 * 1024) /* one of either, where that costs less for a byte */
#define TL_STREAM_RECV_BYTES       (256 * 1024) /* one recv() to begin with: stream_path.h */
#define TL_STREAM_INTERVAL_NS      (50 * INT64_C(1000000))
#define TL_STREAM_INTERVAL_MIN_NS  (5 * INT64_C(1000000)) /* finer costs the data path CPU */
#define TL_STREAM_INTERVAL_MAX_NS  (1000 * INT64_C(1000000))
#define TL_STREAM_USER_TIMEOUT_NS  (5000 * INT64_C(1000000)) /* P3: silent peer */
#define TL_STREAM_STOP_NS          (250 * INT64_C(1000000))  /* P10: silent after a stop */
#define TL_STREAM_SAMPLE_COUNT     4096                      /* default ring: 3 MB */
#define TL_STREAM_SAMPLE_COUNT_MIN 32
#define TL_STREAM_SAMPLE_COUNT_MAX (32 * 1024) /* 23 MB, of P6's 64 MB */
#define TL_STREAM_CONGESTION_SIZE  16          /* TCP_CA_NAME_MAX */

/* Socket options of a data stream; all zero = as the host is configured. */
struct tl_stream_options {
    int rcvbuf_bytes;        /* SO_RCVBUF; 0 = autotuning stays on */
    int sndbuf_bytes;        /* SO_SNDBUF; 0 = autotuning stays on */
    int maxseg_bytes;        /* TCP_MAXSEG; 0 = from the path */
    int notsent_lowat_bytes; /* TCP_NOTSENT_LOWAT; 0 = as the host has it */
    unsigned dscp;           /* 0 to 63, into IP_TOS and IPV6_TCLASS; 0 = as the host has it */
    bool accepted;           /* the connection is open already: see tl_stream_options_apply */
    uint64_t max_pacing_bps; /* SO_MAX_PACING_RATE; 0 = no limit */
    char congestion[TL_STREAM_CONGESTION_SIZE]; /* TCP_CONGESTION; "" = the host's own */
};

/* Sets the options and TCP_USER_TIMEOUT on a TCP socket. Before connect() where the
 * receive buffer or the MSS matter: both travel in the SYN (window scale, RFC 7323;
 * MSS). The kernel doubles a buffer for overhead and cuts it silently at
 * net.core.{r,w}mem_max; tl_streams' samples show what is in force.
 *
 * A receive buffer set after accept() works as well: a listener without SO_RCVBUF offers
 * the scale of the larger of tcp_rmem's maximum and rmem_max (net/ipv4/tcp_output.c,
 * tcp_select_initial_window), and no later buffer can be larger. What the buffer leaves
 * behind is the clamp of the window from the handshake, which kernels before 6.7 do not
 * move by themselves: `accepted` moves it. An MSS is agreed in the handshake, so
 * maxseg_bytes does nothing then. TL_UNSUPPORTED: no such congestion control here; TL_DENIED: it is
 * not in tcp_allowed_congestion_control; TL_RANGE; TL_IO. */
enum tl_status tl_stream_options_apply(int fd, const struct tl_stream_options *options,
                                       struct tl_error *reterr) TL_WARN_UNUSED;

/* The congestion control in force on the socket. */
enum tl_status tl_stream_congestion(int fd,
                                    char ret_name[TL_STREAM_CONGESTION_SIZE]) TL_WARN_UNUSED;

struct tl_streams_spec {
    bool send;                   /* else receive */
    enum tl_send_path send_path; /* a path that this kernel lacks becomes COPY */
    bool discard;          /* receiver: let the kernel drop the payload (MSG_TRUNC), no copy */
    int64_t duration_ns;   /* from start; a receiver should allow some more than its sender */
    uint64_t bytes_cap;    /* per stream; 0 = until the deadline. A receiver takes no more. */
    uint64_t receive_bps;  /* per stream; 0 = as fast as it comes. A receiver reads no faster, so
                            * that its window closes on a sender that does not keep to a rate. */
    int64_t interval_ns;   /* between samples; 0 = TL_STREAM_INTERVAL_NS */
    uint32_t sample_count; /* room for undrained samples; 0 = TL_STREAM_SAMPLE_COUNT. When it is
                            * full the oldest go, and are counted. */
};

enum tl_stream_end {
    TL_STREAM_RUNNING,
    TL_STREAM_END_DEADLINE, /* ran its time */
    TL_STREAM_END_CAP,      /* sent its bytes, and the peer read them all; received its bytes */
    TL_STREAM_END_STOPPED,  /* tl_streams_stop() */
    TL_STREAM_END_PEER,     /* the peer closed or reset the connection */
    TL_STREAM_END_TIMEOUT,  /* TCP_USER_TIMEOUT: nothing came back for 5 s */
    TL_STREAM_END_ERROR,    /* another socket error, see error */
};

/* What one stream did. Times since tl_streams_start() at this end, -1 = never. */
struct tl_stream_result {
    enum tl_stream_end end;
    int errnum;            /* of END_PEER, END_TIMEOUT, END_ERROR; 0 after an orderly close */
    uint64_t bytes;        /* payload sent or received by the application */
    int64_t first_byte_ns; /* first payload byte written or read */
    int64_t last_byte_ns;
    int64_t end_ns;
    uint64_t cpu_ns;       /* of the worker thread */
    uint64_t run_delay_ns; /* it waited for a CPU */
    int rcvbuf_bytes;      /* SO_RCVBUF and SO_SNDBUF as the kernel gave them, at start */
    int sndbuf_bytes;
    unsigned dscp;                              /* of what this end sends, at start */
    char congestion[TL_STREAM_CONGESTION_SIZE]; /* in force */
};

struct tl_streams;

/* TL_RANGE when the spec is out of the limits above, TL_NOMEM, TL_IO. */
enum tl_status tl_streams_create(const struct tl_streams_spec *spec,
                                 struct tl_streams **ret_streams,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Stops at once if still running, joins all threads (<= TL_STREAM_STOP_NS),
 * closes all sockets. NULL is fine. */
void tl_streams_destroy(struct tl_streams *streams);

/* Hands a connected socket over, which becomes the next stream (0, 1, …). On
 * failure the socket still belongs to the caller. TL_LIMIT, TL_IO. */
enum tl_status tl_streams_add(struct tl_streams *streams, int fd,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Starts the clock and all threads. After a failure only destroy. */
enum tl_status tl_streams_start(struct tl_streams *streams, struct tl_error *reterr) TL_WARN_UNUSED;

/* Becomes readable (poll, epoll; do not read it) once every worker has ended
 * and the last samples are in the ring. Owned by the object. */
int tl_streams_event_fd(const struct tl_streams *streams);
bool tl_streams_done(const struct tl_streams *streams);

/* Asks all workers to end; returns at once. The wire is silent and the object
 * done within TL_STREAM_STOP_NS. Any thread, any number of times. */
void tl_streams_stop(struct tl_streams *streams);

/* Payload bytes so far over all streams, time since start, any thread. */
uint64_t tl_streams_bytes(const struct tl_streams *streams);
/* Of the stream that has moved most: its share of a cap ends first. */
uint64_t tl_streams_most_bytes(const struct tl_streams *streams);
int64_t tl_streams_elapsed_ns(const struct tl_streams *streams);
uint32_t tl_streams_count(const struct tl_streams *streams);

/* Moves up to max samples, oldest first, to the caller; returns how many.
 * Samples of one stream are in time order; each ends with one marked `last`. */
size_t tl_streams_drain(struct tl_streams *streams, struct tl_tcp_sample *ret_samples, size_t max);

/* Samples that were lost because nobody drained them. */
uint64_t tl_streams_dropped(const struct tl_streams *streams);

/* How many processors the workers keep to; 0: any, as the scheduler likes (host/place.h). Known
 * after start. */
unsigned tl_streams_placed(const struct tl_streams *streams);

/* The way of sending that is in use, never AUTO; and whether the kernel was found to copy
 * what MSG_ZEROCOPY was to spare (loopback, veth, a card without scatter-gather). Any thread. */
enum tl_send_path tl_streams_send_path(const struct tl_streams *streams, bool *ret_copied);

/* Payload of one call, at most: as chosen by then (stream_path.h). 0 before start. Any thread. */
uint32_t tl_streams_call_bytes(const struct tl_streams *streams);

/* The stream's result; before done the numbers so far with end RUNNING.
 * index < tl_streams_count(). */
void tl_streams_result(const struct tl_streams *streams, uint32_t index,
                       struct tl_stream_result *ret_result);

#endif
