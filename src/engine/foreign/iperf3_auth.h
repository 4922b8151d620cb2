/* Who we are, for an iperf3 server that asks. Pure. Private. */
#ifndef TL_ENGINE_IPERF3_AUTH_H
#define TL_ENGINE_IPERF3_AUTH_H

#include <stdint.h>

#include "tightlink/base/far.h"

/* base64 of 8192 bits, and NUL: the parameters have no more room. */
#define IPERF3_TOKEN_SIZE 1400

/* base64(RSA(user, password, time)) with the server's public key: OAEP for servers from 3.17 on,
 * PKCS#1 v1.5 for older ones (RFC 8017). epoch_s: seconds since 1970, which both clocks must agree
 * on to some ten. TL_SYNTAX: the key is no public RSA key in PEM; TL_LIMIT: it is too short for the
 * text; TL_USAGE: a part of the login is missing. */
enum tl_status iperf3_auth_token(const struct tl_far_login *login, bool oaep, int64_t epoch_s,
                                 char ret_token[IPERF3_TOKEN_SIZE],
                                 struct tl_error *reterr) TL_WARN_UNUSED;

#endif
