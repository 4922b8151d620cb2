/* A capture that somebody made, judged by the same rules as a diagnosis: for the command and the
 * screen alike. The whole file is read once; each connection is judged when it is asked for. One
 * thread at a time. */
#ifndef TL_APP_PCAP_H
#define TL_APP_PCAP_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/flow/capture.h"
#include "tightlink/rules/rules.h"
#include "tightlink/session/session.h"

/* One connection. Numbers NAN where the capture cannot tell. */
struct tl_app_pcap_row {
    size_t number;               /* from 1, the largest first */
    char client[64], server[64]; /* "192.0.2.1:40000" */
    bool client_known;           /* its SYN was captured; else guessed from the ports */
    enum tl_direction direction; /* download: the server sent more */
    uint64_t payload_bytes;      /* of that direction */
    uint64_t packets_count, wire_bytes;
    double begin_ns, span_ns; /* since the first packet of the file */
    double rate_bps, rtt_min_ns, retrans_ratio;
    /* Shares of the sender's time by what it waited for; NAN where packets do not tell. */
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio;
    double held_ns; /* of its time that it had more to send; 0 where nothing is known */
    char place[32]; /* where the capture was taken; "" unknown */
    /* What the rules say; TL_INCONCLUSIVE until asked (tl_app_pcap_judge). */
    bool judged;
    enum tl_verdict_state state;
    double confidence;
    char cause[48], segment[16];
    char sentence[512]; /* the rule's, for an engineer */
    char says[320];     /* in plain words, without addresses */
};

/* The file as a whole. */
struct tl_app_pcap_file {
    struct tl_capture_info info;
    uint64_t tcp_count, cut_count, strange_link_count;
    uint64_t left_out_count; /* TCP packets of connections beyond those that can be counted */
    char broken[512];        /* where the file breaks; what stood before it is judged. "" whole */
};

struct tl_app_pcap;

/* Reads a capture, "-" for standard input. rules are borrowed and outlive it. TL_IO, TL_SYNTAX
 * where nothing could be read; TL_NOMEM. *ret_pcap is the caller's. */
enum tl_status tl_app_pcap_open(const char *path, const struct tl_rules *rules,
                                struct tl_app_pcap **ret_pcap,
                                struct tl_error *reterr) TL_WARN_UNUSED;
void tl_app_pcap_close(struct tl_app_pcap *pcap); /* takes NULL */

const struct tl_app_pcap_file *tl_app_pcap_file(const struct tl_app_pcap *pcap);
size_t tl_app_pcap_count(const struct tl_app_pcap *pcap);

/* The connection with that number (from 1). TL_RANGE where there is none. */
enum tl_status tl_app_pcap_row(struct tl_app_pcap *pcap, size_t number,
                               struct tl_app_pcap_row *ret_row,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* Of a list: a file of hostile packets can hold a million connections, and judging one takes
 * milliseconds. The largest are listed, and of those the largest judged. */
#define TL_APP_PCAP_LISTED_MAX 20000
#define TL_APP_PCAP_JUDGED_MAX 1000
/* The same, judged. */
enum tl_status tl_app_pcap_judge(struct tl_app_pcap *pcap, size_t number,
                                 struct tl_app_pcap_row *ret_row,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* One connection over time, in steps of the same length. NAN where the capture cannot tell. */
#define TL_APP_PCAP_STEPS_MAX 2048
struct tl_app_pcap_series {
    double step_ns; /* at least 10 ms, longer for connections that lasted long */
    size_t count;
    double rate_bps[TL_APP_PCAP_STEPS_MAX], rtt_ns[TL_APP_PCAP_STEPS_MAX];
    double flight_bytes[TL_APP_PCAP_STEPS_MAX]; /* sent and not acknowledged, most of the step */
    double window_bytes[TL_APP_PCAP_STEPS_MAX]; /* that the receiver offered, largest */
    /* In the stream, at the end of the step: the first byte not sent yet, the first one not
     * acknowledged, and the first one beyond the receiver's window. */
    double sent_bytes[TL_APP_PCAP_STEPS_MAX], acked_bytes[TL_APP_PCAP_STEPS_MAX];
    double edge_bytes[TL_APP_PCAP_STEPS_MAX];
    double again_count[TL_APP_PCAP_STEPS_MAX]; /* segments sent again in the step */
};

/* Errors of tl_app_pcap_row(); TL_LIMIT where the connection had to make room for larger ones. */
enum tl_status tl_app_pcap_over_time(struct tl_app_pcap *pcap, size_t number,
                                     struct tl_app_pcap_series *ret_series,
                                     struct tl_error *reterr) TL_WARN_UNUSED;

/* Its run, to be shown, kept and exported like any other. The caller finishes it
 * (tl_app_result_finish). */
enum tl_status tl_app_pcap_result(struct tl_app_pcap *pcap, size_t number,
                                  struct tl_session_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* As a list has it: judged where it is one of the first TL_APP_PCAP_JUDGED_MAX. */
enum tl_status tl_app_pcap_list_row(struct tl_app_pcap *pcap, size_t number,
                                    struct tl_app_pcap_row *ret_row,
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* The document of that connection with all others (at most max) in its list "flows", each judged
 * that carried data, as far as lists go. Adds to out. */
enum tl_status tl_app_pcap_document(struct tl_app_pcap *pcap, size_t number, size_t max,
                                    struct tl_buf *out, struct tl_error *reterr) TL_WARN_UNUSED;

/* A capture for other eyes: each TCP segment written anew from what the analysis reads of it, with
 * addresses as 10.0.0.N and fd00::N in the order in which they come; a router's report that a
 * packet was too large likewise. Ports, sequence numbers and times stay; link layers, tunnels,
 * payload and everything else are gone. out: a new file, of the user alone. TL_IO where it is there
 * already, or cannot be written; errors of reading as above. */
struct tl_app_pcap_masked {
    uint64_t packets_count, left_out_count; /* written; neither TCP nor such a report */
    size_t addresses_count;
    char broken[512]; /* where the file breaks; what stood before it is written. "" whole */
};
enum tl_status tl_app_pcap_mask(const char *path, const char *out,
                                struct tl_app_pcap_masked *ret_counts,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* The document of another run, of which this is the capture, with all connections in its list
 * "flows". Adds to out. */
enum tl_status tl_app_pcap_add_to(struct tl_app_pcap *pcap, const struct tl_session_result *result,
                                  bool pretty, struct tl_buf *out) TL_WARN_UNUSED;

#endif
