/* A web server that speaks HTTP/2 for tests, on threads, with a certificate of its own that is
 * trusted while it runs: keeps to the protocol or breaks it in one chosen way. */
#ifndef TL_TEST_FAKE_HTTP2_H
#define TL_TEST_FAKE_HTTP2_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tls_server.h"

enum fake_http2_mood {
    HTTP2_PROPER,       /* a file of 1 GB in parts; takes what is posted to …/empty.php */
    HTTP2_ONLY_OLD,     /* knows HTTP/1.1 alone */
    HTTP2_SMALL_WINDOW, /* lets 64 KiB be posted at once, and more after 20 ms */
    HTTP2_REFUSES,      /* 413 to what is posted */
    HTTP2_MISSING,      /* 404 */
    HTTP2_PAGE,         /* HTML */
    HTTP2_IN_BODIES,    /* each answer is of 4 MB, then another may be asked for */
    HTTP2_TINY_BODIES,  /* each answer but the first is of 100 bytes */
    HTTP2_TOO_SHORT,    /* announces 1 GB, ends after 100 kB */
    HTTP2_TOO_LONG,     /* announces 3 MB, sends on */
    HTTP2_PINGS,        /* PING without pause */
    HTTP2_SETTINGS,     /* SETTINGS without pause */
    HTTP2_EMPTY_DATA,   /* DATA of nothing, without pause */
    HTTP2_PADDING,      /* DATA of padding alone, likewise */
    HTTP2_WINDOWS,      /* WINDOW_UPDATE without pause */
    HTTP2_CONTINUES,    /* a header block that never ends */
    HTTP2_LONG_HEADERS, /* a megabyte of headers */
    HTTP2_PUSHES,       /* pushes what nobody asked for */
    HTTP2_RESETS,       /* breaks the answer off */
    HTTP2_GOES_AWAY,    /* ends the connection with an error */
    HTTP2_HANGS_UP,     /* without a word */
    HTTP2_NO_FRAMES,    /* says HTTP/1.1 after it chose HTTP/2 */
    HTTP2_SILENT,       /* says nothing at all */
};

struct fake_http2 {
    enum fake_http2_mood mood;
    int port;
    struct tls_server server;
    atomic_int connections, requests, posts;
    atomic_int most_at_once; /* requests that were open in one connection */
    atomic_uint_least64_t received_bytes;
    atomic_uint_least64_t last_from; /* of a range that was asked for */
    atomic_bool request_fine;
};

void fake_http2_start(struct fake_http2 *fake, enum fake_http2_mood mood);
void fake_http2_stop(struct fake_http2 *fake);

#endif
