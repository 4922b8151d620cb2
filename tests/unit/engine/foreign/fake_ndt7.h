/* A strict ndt7 server for tests, on a thread, with a certificate of its own that is trusted while
 * it runs (SSL_CERT_FILE): keeps to the protocol or breaks it in one chosen way. */
#ifndef TL_TEST_FAKE_NDT7_H
#define TL_TEST_FAKE_NDT7_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tls_server.h"

enum fake_ndt7_mood {
    NDT7_PROPER,            /* payload both ways, measurements, a ping */
    NDT7_IN_PIECES,         /* its texts come in three frames */
    NDT7_HUGE_FRAME,        /* announces 2^40 bytes */
    NDT7_LONG_TEXT,         /* a text of 1 MiB */
    NDT7_CHATTER,           /* texts without pause */
    NDT7_MASKED,            /* masks as only clients do */
    NDT7_NO_JSON,           /* a text that is none */
    NDT7_ODD_NUMBERS,       /* negative, huge and quoted numbers in a measurement */
    NDT7_HANGS_UP,          /* in the middle */
    NDT7_WEB_PAGE,          /* answers 200 to the upgrade */
    NDT7_OTHER_ACCEPT,      /* agrees with another key */
    NDT7_WANTS_TOKEN,       /* 403 */
    NDT7_GATE,              /* knows no places: upgrades, and refuses an upgrade, anywhere */
    NDT7_SENDS_BACK,        /* payload where it is to receive */
    NDT7_DIRECTORY,         /* names itself as M-Lab's Locate does, and wants the token it gave */
    NDT7_DIRECTORY_FULL,    /* has no server to spare */
    NDT7_DIRECTORY_PLAIN,   /* names servers without TLS only */
    NDT7_DIRECTORY_ENDLESS, /* answers without an end */
};

struct fake_ndt7 {
    enum fake_ndt7_mood mood;
    int port;
    struct tls_server server;
    atomic_int greetings; /* in a version that there is not */
    atomic_bool request_fine, pong_fine, masked_all;
    atomic_uint_least64_t received_bytes;
};

void fake_ndt7_start(struct fake_ndt7 *fake, enum fake_ndt7_mood mood);
/* Ends it, joins its thread and takes its trust away. */
void fake_ndt7_stop(struct fake_ndt7 *fake);

#endif
