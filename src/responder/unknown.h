/* What is said of a word that is no option. Private to src/responder. */
#ifndef TL_RESPONDER_UNKNOWN_H
#define TL_RESPONDER_UNKNOWN_H

#include <getopt.h>

/* The sentence for what getopt_long() refused, with the option that may have been meant. Static
 * until the next call. */
const char *unknown_option(const struct option *options, const char *word);

#endif
