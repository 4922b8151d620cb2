/* What an NDT server says of itself while a test runs: one JSON text, ten a second at most. Pure:
 * nothing here touches a socket. Private to this room.
 *
 * Source: the ndt7 protocol, "Measurement message"; names of TCPInfo beyond it are those of Linux'
 * struct tcp_info, as the reference server writes them. */
#ifndef TL_ENGINE_NDT7_TEXT_H
#define TL_ENGINE_NDT7_TEXT_H

#include "tightlink/base/status.h"
#include "tightlink/engine/sample.h"

#define NDT7_TEXT_MAX 16384 /* the reference server's have 2 kB */

struct ndt7_measurement {
    bool has_sample;             /* TCPInfo with a time */
    bool bbr;                    /* BBRInfo: its congestion control is BBR */
    struct tl_tcp_sample sample; /* time_ns since the server's start */
};

/* A number that makes no sense, or that is none, is left out: servers tell what their kernels know.
 * TL_PROTOCOL with a sentence: no JSON, no object, or longer than NDT7_TEXT_MAX. */
enum tl_status ndt7_read_measurement(const char *text, size_t len,
                                     struct ndt7_measurement *ret_measurement,
                                     struct tl_error *reterr) TL_WARN_UNUSED;

#endif
