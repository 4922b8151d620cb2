/* A remedy that a program can try in its own sockets, without touching a setting: what a rule
 * asks for and a probe does. Plain data. */
#ifndef TL_FACTS_TRIAL_H
#define TL_FACTS_TRIAL_H

enum tl_trial_kind {
    TL_TRIAL_NONE,
    TL_TRIAL_RCVBUF,  /* value: bytes the receive buffer shall have, overhead included */
    TL_TRIAL_SNDBUF,  /* value: bytes of the send buffer likewise */
    TL_TRIAL_STREAMS, /* value: streams at once */
    TL_TRIAL_CC,      /* name: congestion control of the sender */
    TL_TRIAL_PACING,  /* value: bit/s */
    TL_TRIAL_MSS,     /* value: payload bytes of a segment */
    TL_TRIAL_FAMILY,  /* value: 4 or 6 */
    TL_TRIAL_KINDS
};

struct tl_trial {
    enum tl_trial_kind kind;
    double value;     /* NAN where the kind has none, or where it is unknown */
    const char *name; /* "" where the kind has none */
};

/* What a remedy is said to bring, payload bit/s.
 *
 * A range shall hold what a trial will measure, 95 times in 100, so it has the chance of both
 * sides: of what was measured, and of the trial, which is another few seconds of the same path.
 * Under random loss both are counts: n loss events come out as n +- sqrt(n) (Poisson), and the rate
 * goes with their share p as p^-1/2 (Mathis and others 1997; p^-3/4 where CUBIC is beyond its
 * Reno-friendly region, RFC 9438, section 5), so that it strays by half of 1/sqrt(n). A count of n
 * predicts one of m like n m / (n + m) events (tests/unit/rules/test_models.c tries that). */
struct tl_prediction {
    double bps; /* NAN where nobody knows */
    /* NAN where only the point is said. high INFINITY: at least bps, and what comes next was not
     * measured. */
    double low_bps, high_bps;
};

enum tl_score {
    TL_SCORE_MISS,
    TL_SCORE_HIT,    /* within TL_HIT_RATIO of the point */
    TL_SCORE_INSIDE, /* not that, but inside a stated range of at most TL_RANGE_RATIO each way */
    TL_SCORE_BOUND,  /* not that, but inside a wider range, or above a lower bound: no promise of a
                        number was made, and none was broken */
    TL_SCORES
};

/* Measured within this share of predicted is a hit (findings.schema.json). */
#define TL_HIT_RATIO 0.1
/* A wider range says too little to be called a prediction. */
#define TL_RANGE_RATIO 0.25

/* Neither NAN: the caller knows both. */
enum tl_score tl_prediction_score(const struct tl_prediction *prediction, double measured_bps);

/* The words of findings.schema.json: "miss", "hit", "inside", "bound". */
const char *tl_score_name(enum tl_score score);

#endif
