/* How long a link takes for its next packet, where it does not serve evenly: by a trace, by
 * a rate that changes, or on shared air. A pure model but for the trace, which is read when
 * the server is made. */
#ifndef TL_LAB_SERVER_H
#define TL_LAB_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "tightlink/base/random.h"
#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"
#include "trace.h"

/* A rate that holds until a time; what comes then is drawn. Rates that are drawn from chance
 * alone are the same for the same seed, whatever passes. */
struct tl_lab_rate {
    double bps;
    int64_t until_ns;
    int level;              /* of the Markov chain: 0 the lowest rate */
    int64_t level_until_ns; /* radio: of its chain; LEO: of its satellite */
    int64_t fade_from_ns, fade_until_ns;
    int64_t handover_from_ns, handover_until_ns;
    double satellite_bps;
    int64_t extra_delay_ns; /* LEO: this satellite is so much farther away */
};

/* Shared air (IEEE 802.11): a turn is what one contention wins. */
struct tl_lab_air {
    double bps; /* at which frames are sent that arrive at once */
    int64_t bps_until_ns;
    double turn_bps;     /* at which this turn's are: less where attempts failed */
    int64_t turn_end_ns; /* when the turn's last packet was done */
    double turn_left_bytes;
};

struct tl_lab_server {
    struct tl_lab_link_config link;
    struct tl_random chance;
    int64_t started_ns;
    uint64_t remainder; /* RATE: part of a ns carried on */
    struct tl_lab_trace trace;
    bool opportunity_taken;  /* TRACE: there is one in use: */
    uint64_t opportunity;    /* its number */
    double opportunity_left; /* bytes of it */
    struct tl_lab_rate rate;
    struct tl_lab_air air;
};

/* Reads the trace where there is one. */
enum tl_status tl_lab_server_init(struct tl_lab_server *server,
                                  const struct tl_lab_link_config *link, uint64_t seed,
                                  struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_server_finish(struct tl_lab_server *server);

/* Its time begins: of the trace, of the first satellite. */
void tl_lab_server_start(struct tl_lab_server *server, int64_t now_ns);

/* When a packet that the link turns to at start_ns has left it. Times of turning to a packet
 * never run backwards. *ret_lost: its time was spent for nothing. */
int64_t tl_lab_server_done_ns(struct tl_lab_server *server, int64_t start_ns, uint32_t len_bytes,
                              bool *ret_lost);

/* What the way is longer by at present (LEO). */
int64_t tl_lab_server_extra_delay_ns(const struct tl_lab_server *server);

#endif
