/* What holds packets up behind a link without reordering them: grants (nothing for a while,
 * then all that is there) and a delay that wanders. Pure models of time; one thread. */
#ifndef TL_LAB_GATE_H
#define TL_LAB_GATE_H

#include <stdint.h>

#include "tightlink/base/random.h"
#include "tightlink/lab/config.h"

/* Opens for an instant at each grant: an LTE or DOCSIS uplink's, or the end of a Wi-Fi
 * aggregate. */
struct tl_lab_gate {
    double least_ns, most_ns; /* between two grants, uniform; 0: no gate */
    int64_t next_ns;
    struct tl_random chance;
};

void tl_lab_gate_init(struct tl_lab_gate *gate, const struct tl_lab_link_config *link,
                      uint64_t seed);
void tl_lab_gate_start(struct tl_lab_gate *gate, int64_t now_ns);

/* When a packet that comes at at_ns gets through; at_ns never runs backwards. */
int64_t tl_lab_gate_pass(struct tl_lab_gate *gate, int64_t at_ns);

/* A delay in straight lines between values that are drawn anew after a time. */
struct tl_lab_wander {
    double most_ns; /* 0: none */
    int64_t time_ns;
    int64_t from_ns; /* of the present line */
    double from_value_ns, to_value_ns;
    struct tl_random chance;
};

void tl_lab_wander_init(struct tl_lab_wander *wander, const struct tl_lab_link_config *link,
                        uint64_t seed);
void tl_lab_wander_start(struct tl_lab_wander *wander, int64_t now_ns);

/* The extra delay at a time that never runs backwards by more than one line. */
int64_t tl_lab_wander_at(struct tl_lab_wander *wander, int64_t at_ns);

#endif
