/* What iperf3's two ends tell each other, as text. Pure: nothing here touches a socket. Private. */
#ifndef TL_ENGINE_IPERF3_JSON_H
#define TL_ENGINE_IPERF3_JSON_H

#include "tightlink/base/buf.h"
#include "tightlink/engine/far.h"

/* Servers from 3.18 on refuse longer parameters; results of 128 streams are some 40 kB. */
#define IPERF3_RESULTS_MAX (1024 * 1024)
#define IPERF3_BLOCK_BYTES (128 * 1024)

/* Parameters of a TCP test. token: of authentication, "" without. */
void iperf3_write_parameters(const struct tl_tcp_spec *spec, const char *token,
                             struct tl_buf *ret_text);

/* Parameters of a UDP test: datagram_bytes and rate_bps are set, one stream. */
void iperf3_write_udp_parameters(const struct tl_udp_spec *spec, const char *token,
                                 struct tl_buf *ret_text);

/* Our results, which the server wants before it tells its own; of both directions at once those of
 * the upload and then the download, else second is NULL. */
void iperf3_write_results(const struct tl_tcp_result *first, const struct tl_tcp_result *second,
                          struct tl_buf *ret_text);

void iperf3_write_udp_results(const struct tl_udp_result *result, struct tl_buf *ret_text);

/* What a server says it moved in one stream. -1: not told. Of datagrams: a sender counts as packets
 * those that it numbered, a receiver the highest number that came; errors are the numbers that it
 * missed below. */
struct iperf3_total {
    int64_t bytes, retransmits;
    int64_t packets, errors;
    double jitter_ns; /* RFC 3550 as the server has it; NAN: not told */
};

struct iperf3_results {
    unsigned count;
    struct iperf3_total totals[TL_STREAMS_MAX]; /* by index */
    char congestion[TL_STREAM_CONGESTION_SIZE]; /* of the sender, cleaned; "" */
};

/* TL_PROTOCOL with a sentence: not JSON, numbers below zero or beyond reason, streams that were
 * never opened, or fewer than streams. Nothing is trusted, least of all the sizes. */
enum tl_status iperf3_read_results(const char *text, size_t len, unsigned streams,
                                   struct iperf3_results *ret_results,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

#endif
