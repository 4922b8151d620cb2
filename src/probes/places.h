/* Where routers stand, by what operators call them: "ae-1.cr2-fra3.example.net" is in Frankfurt.
 * Airports' codes (IATA), towns' names and the first letters of a CLLI code, as operators' own
 * habits have them (Spring et al., "Measuring ISP topologies with Rocketfuel", 2002, section 4.2).
 * Names may be wrong or old: a place is a hint, and what rests on it a note. */
#ifndef TL_PROBES_PLACES_H
#define TL_PROBES_PLACES_H

#include "tightlink/facts/facts.h"
#include "tightlink/facts/run.h"

struct tl_place {
    const char *town;
    double latitude, longitude; /* degrees, north and east */
    const char *codes;          /* separated by blanks, lower-case */
};

/* The place that a host's name tells; NULL where it tells none, or two. Its last two labels say who
 * runs the router, not where it stands. */
const struct tl_place *tl_place_of_name(const char *name);

/* The least round trip between two places: the great circle in glass, there and back. */
double tl_place_rtt_ns(const struct tl_place *from, const struct tl_place *to);

/* What the routers' names and idle round trips tell of the way: its places, what light needs from
 * the first to the last straight and by way of the others, and what the routers' answers took.
 * Unknown, with the reason, where fewer than two places are told. */
void tl_places_set(struct tl_facts *facts, const struct tl_run *run);

#endif
