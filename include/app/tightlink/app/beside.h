/* One far end beside others (run HOST --compare OTHER,...): what is slow to all of them is this
 * PC's or its access'; what is slow to one is that one's, or the way to it. Pure. */
#ifndef TL_APP_BESIDE_H
#define TL_APP_BESIDE_H

#include <stddef.h>

#include "tightlink/session/session.h"

#define TL_APP_BESIDE_MAX 8 /* far ends, the first included */

struct tl_app_beside_row {
    char name[256], kind[16];
    double one_bps, best_bps; /* one connection, the most that was seen: the mean of turns; NAN */
    double low_bps, high_bps; /* the most that was seen, in the slowest and the fastest turn; NAN */
    double one_low_bps, one_high_bps; /* likewise of one connection */
    unsigned turns;                   /* in which a rate was measured */
    double rtt_ns;                    /* without load; NAN */
    enum tl_verdict_state state;
    char cause[48], segment[16]; /* of a verdict "limited"; "" else */
    char failed[160];            /* why nothing was measured, "" else */
};

/* direction: the one that is compared. */
void tl_app_beside_take(const struct tl_session_result *result, enum tl_direction direction,
                        const char *name, struct tl_app_beside_row *ret_row);

/* The same far end again, after all others had their turn: a path that changes by itself is told
 * from one that is slow. What the first turn judged stays; of a first that failed, the second. */
void tl_app_beside_again(struct tl_app_beside_row *row, const struct tl_app_beside_row *turn);

/* One sentence about all of them; rows[0] is the one that was asked about. */
void tl_app_beside_say(const struct tl_app_beside_row *rows, size_t count, char *ret_text,
                       size_t size);

#endif
