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

#endif
