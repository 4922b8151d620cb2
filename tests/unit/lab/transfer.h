/* Transfers between c and s of a real lab, for the programs that hold it to its word. */
#ifndef TL_TEST_LAB_TRANSFER_H
#define TL_TEST_LAB_TRANSFER_H

#include <stdint.h>

#include "tightlink/lab/lab.h"

/* A socket of this type, connected to the server on s. */
int connected(const struct tl_lab *lab, int type);

struct download {
    double bps; /* payload, after the first part */
    char far_cc[16], near_cc[16];
    unsigned options; /* tcpi_options */
};

/* Reads for warm_ns, then counts for count_ns. */
struct download download(const struct tl_lab *lab, int64_t warm_ns, int64_t count_ns);

/* The shortest of 30 echoes: other load on this machine only makes it longer. */
int64_t shortest_echo_ns(const struct tl_lab *lab);

#endif
