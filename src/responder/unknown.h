/* What is said of words that are wrong. Private to src/responder. */
#ifndef TL_RESPONDER_UNKNOWN_H
#define TL_RESPONDER_UNKNOWN_H

#include <getopt.h>

/* A sentence on stderr, what it quotes made printable (P12), and what follows it as it is. */
void complain(const char *sentence, const char *more);

enum { EXIT_USAGE = 2 };
/* The same, and where help is. EXIT_USAGE. */
int usage_error(const char *sentence);

/* The sentence for what getopt_long() refused, with the option that may have been meant. Static
 * until the next call. */
const char *unknown_option(const struct option *options, const char *word);

#endif
