/* Transfers that other programs run now, watched and judged by the same rules as a diagnosis: for
 * the command and the screen alike. Sends nothing. One thread at a time; the caller waits
 * tl_app_live_step_ns() between steps. */
#ifndef TL_APP_LIVE_H
#define TL_APP_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/rules/rules.h"
#include "tightlink/session/session.h"

/* What a person names: a process, a port, a host, or nothing (all that leaves this machine). */
struct tl_app_live_what {
    int pid;          /* with those that it started; 0: any */
    uint16_t port;    /* 0: any */
    bool pid_or_port; /* a number that may be either */
    const char *host; /* name or address, NULL: any; looked up for up to 5 s */
    bool loopback;    /* also what stays on this machine */
};

/* "1234" is the port, and the process where one of that number is there; "pid:1234", ":443" and
 * "port:443" say which; all else is a host, borrowed. TL_USAGE with a sentence. */
enum tl_status tl_app_live_parse(const char *text, struct tl_app_live_what *what,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Whether that process lives in another network namespace than this one, as in a container: its
 * connections are not seen from here. False where that may not be known. */
bool tl_app_live_is_elsewhere(int pid);

/* Whether others (name servers) are asked for this name; not for addresses and names of this
 * machine, nor NULL. Whoever names one agrees to that first. */
bool tl_app_asks_others(const char *host);

/* One connection in the last seconds. Texts are clean; numbers NAN where one end cannot tell. */
struct tl_app_live_row {
    uint64_t cookie; /* names the connection while this machine is up */
    char local[64], peer[64];
    char program[96], group[64]; /* "curl (1234)"; "" where it may not be known */
    char file[256];              /* that the program reads or writes meanwhile, "" for none */
    bool file_written;
    enum tl_direction direction;                               /* in which it moved more */
    double now_bps, mean_bps;                                  /* last second; last ten */
    double app_ratio, sndbuf_ratio, rwnd_ratio, network_ratio; /* of a sender; sum 1 */
    double queue_ratio; /* of a receiver: share of its buffer that lies there unread */
    double rtt_ns, retrans_ratio, held_ratio;
    double cpu_ratio, thread_ratio;       /* of the program: all threads, the busiest one */
    double file_bps;                      /* by which the position in that file moves */
    double disk_read_bps, disk_write_bps; /* of the program, that reached storage */
    bool stands;                          /* moved nothing in the last second, although it had to */
    bool ended;
    /* What the rules say of the last ten seconds; state TL_INCONCLUSIVE until they can. */
    enum tl_verdict_state state;
    double confidence;
    char cause[48]; /* id, "" without */
    char says[512]; /* the verdict in plain words, without the peer's name */
    bool moved;     /* another cause stands since this second, and not `was` any more */
    char was[48];   /* the cause that stood before, "" without */
};

struct tl_app_live_sum {
    double sent_bps, received_bps;
    size_t flows_count, short_count;
    bool whole;         /* false: some ends or connections could not be followed */
    char left_out[160]; /* why, "" where nothing is */
};

struct tl_app_live;

/* Looks at this machine and its connections once. TL_NOHOST, TL_NOMEM; TL_IO where the kernel does
 * not tell. rules are borrowed and outlive it. */
enum tl_status tl_app_live_create(const struct tl_app_live_what *what, const struct tl_rules *rules,
                                  struct tl_app_live **ret_live,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void tl_app_live_destroy(struct tl_app_live *live); /* takes NULL */

/* Wait that long before each step. */
int64_t tl_app_live_step_ns(void);

/* One reading; every fourth closes a second (*ret_second): rows and sums are new then. */
enum tl_status tl_app_live_step(struct tl_app_live *live, bool *ret_second,
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Those that moved a byte in the last ten seconds or had to and did not: what stands altogether
 * first, then what something else than its own program holds up most. Good until the next step. */
const struct tl_app_live_row *tl_app_live_rows(const struct tl_app_live *live, size_t *ret_count);
const struct tl_app_live_sum *tl_app_live_sum(const struct tl_app_live *live);

/* What one connection did second by second, oldest first; NAN where one end cannot tell. */
#define TL_APP_LIVE_SECONDS 120
struct tl_app_live_series {
    size_t count;
    double rate_bps[TL_APP_LIVE_SECONDS], rtt_ns[TL_APP_LIVE_SECONDS];
    double retrans_ratio[TL_APP_LIVE_SECONDS];
    double inflight_bytes[TL_APP_LIVE_SECONDS]; /* mean; of a sender */
    double window_bytes[TL_APP_LIVE_SECONDS];   /* that the receiving end offered, largest */
    /* As in a row: of a sender, sum 1; the last of a receiver. */
    double rwnd_ratio[TL_APP_LIVE_SECONDS], sndbuf_ratio[TL_APP_LIVE_SECONDS];
    double network_ratio[TL_APP_LIVE_SECONDS], app_ratio[TL_APP_LIVE_SECONDS];
    double queue_ratio[TL_APP_LIVE_SECONDS];
};

/* False where the connection is gone; then nothing is written. */
bool tl_app_live_seconds(const struct tl_app_live *live, uint64_t cookie,
                         struct tl_app_live_series *ret_series);

/* The run of one connection, judged over all that is kept of it (two minutes at most): to be
 * shown, kept and exported like any other. TL_UNKNOWN where it is gone. The caller finishes it
 * (tl_app_result_finish). */
enum tl_status tl_app_live_result(struct tl_app_live *live, uint64_t cookie,
                                  struct tl_session_result *ret_result,
                                  struct tl_error *reterr) TL_WARN_UNUSED;

#endif
