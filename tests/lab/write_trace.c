/* Prints what an emulated link would carry as delivery opportunities, one time in milliseconds
 * a line (doc/lab.md, trace=FILE):
 *
 *     write-trace "radio=4M-40M seed=7" 60
 *
 * The specification's download direction counts; the second argument is the length in
 * seconds. */
#include <stdio.h>
#include <stdlib.h>

#include "server.h"
#include "tightlink/base/time.h"
#include "tightlink/lab/config.h"

#define LONGEST_S 3600

static int refuse(const struct tl_error *error)
{
    fprintf(stderr, "write-trace: %s\n", error->text);
    return 2;
}

int main(int argc, char **argv)
{
    struct tl_lab_config config;
    struct tl_lab_server server;
    struct tl_error error = {0};
    long seconds = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (seconds < 1 || seconds > LONGEST_S) {
        fprintf(stderr, "usage: write-trace SPECIFICATION SECONDS (1 to %d)\n", LONGEST_S);
        return 2;
    }
    tl_lab_config_init(&config);
    if (tl_lab_config_parse(argv[1], &config, &error) != TL_OK)
        return refuse(&error);
    const struct tl_lab_link_config *link = &config.link[TL_LAB_DOWN];
    if (link->service == TL_LAB_SERVICE_RATE && link->rate_bps <= 0) {
        fprintf(stderr, "write-trace: the link needs rate, radio, leo, wifi or trace\n");
        return 2;
    }
    if (tl_lab_server_init(&server, link, link->seed, &error) != TL_OK)
        return refuse(&error);
    tl_lab_server_start(&server, 0);
    printf("# %s, %ld s\n", argv[1], seconds);
    int64_t end_ns = seconds * TL_NS_PER_S;
    bool lost;
    for (int64_t now_ns = 0; now_ns < end_ns;) {
        now_ns =
            tl_lab_server_done_ns(&server, now_ns, TL_LAB_TRACE_BYTES - TL_LAB_TRACE_HEADER, &lost);
        if (!lost && now_ns < end_ns)
            printf("%lld\n", (long long)(now_ns / TL_NS_PER_MS));
    }
    tl_lab_server_finish(&server);
    return 0;
}
