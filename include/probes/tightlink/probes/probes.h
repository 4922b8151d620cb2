/* Probes: one stage of a diagnosis each. A probe measures through the engine and
 * turns what came back into facts; it knows no rules and decides nothing.
 *
 * All functions are called by one thread, the session's worker, and block until
 * the stage is over or cancel_fd becomes readable. What could not be measured is
 * an unknown fact with a reason and a stage that says so, not an error; the status
 * returned says whether the session can go on. */
#ifndef TL_PROBES_PROBES_H
#define TL_PROBES_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/far.h"
#include "tightlink/base/status.h"
#include "tightlink/facts/facts.h"
#include "tightlink/facts/trust.h"

struct tl_far; /* engine/far.h */
struct tl_key; /* base/key.h */

/* Numbers of a running stage, for whoever watches. NAN where unknown. */
struct tl_probe_live {
    double rate_bps;
    double rtt_ns;
    double elapsed_ns;
    double bytes;                               /* that arrived in this stage */
    double low_bps, high_bps;                   /* bounds of the steady rate so far */
    double retrans_count;                       /* segments sent again so far */
    double cwnd_bytes, snd_wnd_bytes;           /* congestion and receive window now */
    double app_ratio, sndbuf_ratio, rwnd_ratio; /* the ledger of the stage so far */
    double network_ratio;
};

/* What every stage gets. Borrowed pointers. */
struct tl_probe_target;

struct tl_probe {
    struct tl_far *far; /* NULL without a far end that answers: only for stages that need none */
    const struct tl_probe_target *target; /* as the user named it */
    struct tl_facts *facts;
    struct tl_run *run; /* for its hops; NULL: they are not kept */
    int cancel_fd;      /* readable: end now */
    bool beside;        /* another stage runs in another thread, and has the far end's attention */
    const char *directory; /* what the user named for disk stages; NULL: none */
    bool far_disk;         /* the user wants the far end's opened directory in them too */
    void (*live)(void *context, const struct tl_probe_live *live);
    void (*note)(void *context, const char *sentence); /* queued behind others, and the like */
    void *context;
};

/* What a loading stage may use at most. */
struct tl_probe_limits {
    int64_t duration_ns; /* of the transfer, warm-up included */
    int64_t bytes;
    double max_bps; /* payload; a TCP stream is paced to it, 0: not */
};

/* Who was silent while nothing came. */
enum tl_silence {
    TL_SILENCE_OF_PATH,
    TL_SILENCE_OF_PROGRAM, /* nothing was on its way, or the far host acknowledged or answered */
    TL_SILENCE_OF_NOBODY,  /* nobody tells of the sender, nor of the path */
};

/* What came of a stage. record.id is filled too. */
struct tl_probe_outcome {
    struct tl_stage_record record;
    struct tl_trust trust; /* in what was measured in it */
    bool stalled;      /* packets of full size vanish: nothing that a transfer measures counts */
    int64_t silent_ns; /* since when nothing had come when the stage gave up; 0: not known */
    enum tl_silence silence; /* whose that was */
    bool interrupted; /* the path carried nothing for a while: the stage's facts were not set */
    int64_t interrupted_ns; /* so long */
};

/* Where the far end is, and what it is. */
struct tl_probe_target {
    const char *host;
    const char *other_host; /* its address of the other family; NULL: host is looked up */
    uint16_t port;
    int family;                       /* 4, 6 or 0 */
    bool http1;                       /* HTTP/1.1 to a web server that offers HTTP/2, too */
    const struct tl_key *key;         /* NULL: without */
    enum tl_far_kind kind;            /* 0: a responder */
    const char *resource;             /* path and query of a URL; NULL: none */
    const struct tl_far_login *login; /* NULL: none */
    const struct tl_proxy *proxy;     /* before a web server: it is what is measured; NULL: none */
};

/* Resolves, connects and greets: sets path.connect_rtt_ns. *ret_far is the caller's
 * (tl_probe_disconnect). TL_NOHOST, TL_REFUSED, TL_UNREACHABLE, TL_TIMEOUT, TL_PROTOCOL,
 * TL_VERSION, TL_BUSY, TL_CANCELLED with a sentence that says what to do. */
enum tl_status tl_probe_connect(const struct tl_probe_target *target, int cancel_fd,
                                struct tl_facts *facts, struct tl_far **ret_far, struct tl_run *run,
                                struct tl_error *reterr) TL_WARN_UNUSED;
void tl_probe_disconnect(struct tl_far *far);
/* The longest in which the far host acknowledged nothing of what it was asked last; 0: it did, or
 * its kind does not tell. */
int64_t tl_probe_unacked_ns(const struct tl_far *far);
/* No test waits for its turn longer than until then (monotonic), a second at least; 0: as usual. */
void tl_probe_wait_turn(struct tl_far *far, int64_t until_ns);
/* What its kind can and this one cannot: TL_FAR_*. */
unsigned tl_probe_far_cannot(const struct tl_far *far);
/* The same once more, behind an outage: sets no facts. *ret_reached_ns as of tl_client_options. */
enum tl_status tl_probe_redial(const struct tl_probe_target *target, int cancel_fd,
                               struct tl_far **ret_far, int64_t *ret_reached_ns,
                               struct tl_error *reterr) TL_WARN_UNUSED;
/* The path was dead from since_ns to until_ns (tl_now_ns()): adds an interruption to the facts of
 * the direction. The stage's rates do not count, and it did not spoil the run: its outcome says
 * when. */
void tl_outage_note(struct tl_facts *facts, enum tl_direction direction, int64_t since_ns,
                    int64_t until_ns, struct tl_probe_outcome *outcome);

/* A stage that sends little. */
typedef enum tl_status tl_probe_light_fn(const struct tl_probe *probe,
                                         struct tl_probe_outcome *ret_outcome,
                                         struct tl_error *reterr);

/* hosts: settings and interface of both ends. Sends some kilobytes. */
tl_probe_light_fn tl_probe_hosts;

/* calibrate: what the near host can do alone: loopback, memory, timers. Half a second, nothing
 * on the wire. */
enum tl_status tl_probe_calibrate(const struct tl_probe *probe,
                                  struct tl_probe_outcome *ret_outcome,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

/* The near host alone, without a responder and without traffic. host names whose route
 * is looked at; NULL: the default route. TL_NOHOST with a sentence. */
enum tl_status tl_probe_near(const char *host, struct tl_facts *facts,
                             struct tl_error *reterr) TL_WARN_UNUSED;

/* path: idle round-trip time and loss of small UDP probes. About 1 s, some kilobytes. */
tl_probe_light_fn tl_probe_path;

/* mtu: which packet sizes get through in both directions, where larger ones end, and what the
 * way does to TCP options and traffic class. Before anything loads the path: a black hole looks
 * like a dead one. */
tl_probe_light_fn tl_probe_mtu;
/* hops: the routers on the way and their round trips, without load. */
tl_probe_light_fn tl_probe_hops;
/* split: whether something on the way answers TCP in the far end's place. */
tl_probe_light_fn tl_probe_split;

/* A stage that loads the path in one direction. */
typedef enum tl_status tl_probe_load_fn(const struct tl_probe *probe, enum tl_direction direction,
                                        const struct tl_probe_limits *limits,
                                        struct tl_probe_outcome *ret_outcome,
                                        struct tl_error *reterr);

/* stream: one TCP stream with the hosts' own settings. */
tl_probe_load_fn tl_probe_stream;
/* window: one stream whose buffers are set as large as both hosts permit. */
tl_probe_load_fn tl_probe_window;
/* streams: TL_PROBE_STREAMS streams at once, with the hosts' own settings. */
tl_probe_load_fn tl_probe_streams;
/* The rate of the one stream where it is known to TL_STEADY_AGREES_WITHIN, else 0: several streams
 * that agree with it end early. */
double tl_probe_known_bps(const struct tl_facts *facts, enum tl_direction direction);
/* The most that the one stream may have got, where a buffer held it for most of its time, else 0:
 * what gets clearly more shows what is behind the buffer, and ends early. */
double tl_probe_held_bps(const struct tl_facts *facts, enum tl_direction direction);
/* paced: one stream at TL_PROBE_PACED_RATIO of the rate that `stream` measured. */
tl_probe_load_fn tl_probe_paced;
/* Whether stage paced has another turn: its first stream is known, and of several, which were run
 * since, that a second one near their rate would tell. */
bool tl_probe_paced_again(const struct tl_facts *facts, enum tl_direction direction);
/* What stage paced will take, as far as is known: what is left to run of its first stream, which
 * lasts for first_ns unless it is cut short, and of the second one, where that tells more. */
int64_t tl_probe_paced_ns(const struct tl_facts *facts, enum tl_direction direction,
                          int64_t first_ns);
/* family: one short stream over the other address family of the same name. */
tl_probe_load_fn tl_probe_family;
/* both-ways: one stream each way at the same time, then each alone again; once, whatever the
 * direction. Neither the run nor its verdict is the worse where the far end cannot. */
tl_probe_load_fn tl_probe_both_ways;
/* disk: what the directories can read and write; once, whatever the direction. */
tl_probe_load_fn tl_probe_disk;
/* disk-to-disk: a file's way with the disks that were named, each of them alone, and memory. */
tl_probe_load_fn tl_probe_disk_to_disk;

#define TL_PROBE_DISK_NS (20 * INT64_C(1000000000)) /* both disks, at most */

/* microscope: one stream with another congestion control, so that BBR does not hide loss, and
 * loss does not hide what the path carries. */
tl_probe_load_fn tl_probe_microscope;

/* udp: datagrams at rising rates up to the knee, in trains and in bursts. */
tl_probe_load_fn tl_probe_udp;

#define TL_PROBE_STREAMS     8
#define TL_PROBE_PACED_RATIO 0.5

#endif
