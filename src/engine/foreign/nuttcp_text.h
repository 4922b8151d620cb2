/* The lines of nuttcp's control connection. Pure: nothing here touches a socket. Private. */
#ifndef TL_ENGINE_NUTTCP_TEXT_H
#define TL_ENGINE_NUTTCP_TEXT_H

#include "tightlink/base/buf.h"
#include "tightlink/engine/far.h"

#define NUTTCP_LINE_SIZE 512
#define NUTTCP_CLAIM     "v6.1.2" /* what old and new servers take: later fields are left out */

struct nuttcp_version {
    unsigned major, minor, patch;
};

/* "HELO nuttcp v8.2.2": false when it is something else. */
bool nuttcp_read_hello(const char *line, struct nuttcp_version *ret_version);

/* Data connections: 5001 up to 6.2.7, 5101 from 6.2.8 on. */
uint16_t nuttcp_data_port(const struct nuttcp_version *version);

/* One of 7.2.2 and later that sends waits for up to a minute, deaf, until its send queue is empty:
 * that of a connection which we reset never is. */
bool nuttcp_waits_for_its_queue(const struct nuttcp_version *version);

/* The test as one line with its end. seconds: after which the server ends it by itself. */
void nuttcp_write_test(const struct tl_tcp_spec *spec, uint16_t port, double seconds,
                       struct tl_buf *ret_line);

/* "nuttcp-r: 0.4766 MB in 1.01 real seconds = ...": the bytes that one end counted. False: no such
 * line, or numbers that are none, below zero or beyond reason. */
bool nuttcp_read_total(const char *line, uint64_t *ret_bytes);

#endif
