/* Records the readings of one TCP test over an emulated path as a table, for the unit tests of
 * what reads such series (src/engine). Not a test: run by hand where a new series is wanted.
 *
 *     record TIGHTLINKD "rate=50M delay=10ms" SECONDS [STREAMS [CC]] > series.tsv
 *
 * One line a reading: s (sender) or r (receiver), stream, time in ns, then the fields below in
 * their order; "-" where the kernel does not tell. The download is recorded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fields.h"
#include "tightlink/base/time.h"
#include "tightlink/engine/client.h"
#include "tightlink/lab/lab.h"

static void fail(const char *what, const struct tl_error *error)
{
    fprintf(stderr, "record: %s: %s\n", what, error->text);
    exit(1);
}

static void start_responder(struct tl_lab *lab, const char *program)
{
    const char *const argv[] = {program, "--open", "--ready-fd", "1", NULL};
    struct tl_error error = {0};
    char line[128];
    int ready[2];
    pid_t pid;
    if (pipe(ready) < 0)
        exit(1);
    struct tl_lab_stdio stdio = {.in = -1, .out = ready[1], .err = -1};
    if (tl_lab_spawn(lab, TL_LAB_FAR, argv, &stdio, &pid, &error) != TL_OK)
        fail(program, &error);
    close(ready[1]);
    if (read(ready[0], line, sizeof line) <= 0)
        exit(1);
    close(ready[0]);
}

static void print_log(char end, unsigned stream, const struct tl_sample_log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct tl_tcp_sample *sample = &log->samples[i];
        printf("%c\t%u\t%lld", end, stream, (long long)sample->time_ns);
        for (size_t f = 0; f < RECORDED_COUNT; f++) {
            if (tl_sample_has(sample, recorded_fields[f]))
                printf("\t%llu", (unsigned long long)tl_sample_get(sample, recorded_fields[f]));
            else
                printf("\t-");
        }
        printf("\n");
    }
}

static void print_result(const char *link, const struct tl_tcp_result *result)
{
    printf("# %s, %u streams, %s, download\n# end\tstream\ttime_ns", link, result->streams,
           result->sender.congestion);
    for (size_t f = 0; f < RECORDED_COUNT; f++)
        printf("\t%s", tl_sample_fields[recorded_fields[f]].name);
    printf("\n");
    for (unsigned i = 0; i < result->streams; i++) {
        print_log('s', i, &result->sender.logs[i]);
        print_log('r', i, &result->receiver.logs[i]);
    }
}

int main(int argc, char **argv)
{
    struct tl_error error = {0};
    struct tl_lab_config config;
    struct tl_lab *lab;
    struct tl_client *client;
    static struct tl_tcp_result result;
    if (argc < 4)
        return 2;
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD,
                               .streams = argc > 4 ? (unsigned)atoi(argv[4]) : 1,
                               .duration_ns = (int64_t)(atof(argv[3]) * 1e9)};
    if (argc > 5)
        snprintf(spec.congestion, sizeof spec.congestion, "%s", argv[5]);
    tl_lab_config_init(&config);
    if (tl_lab_config_parse(argv[2], &config, &error) != TL_OK)
        fail("link", &error);
    if (tl_lab_create(&config, &lab, &error) != TL_OK)
        fail("lab", &error);
    start_responder(lab, argv[1]);
    if (tl_lab_enter_near(lab, &error) != TL_OK)
        fail("near host", &error);
    tl_lab_mark(lab);
    struct tl_client_options options = {
        .host = tl_lab_far_address(lab), .port = TL_WIRE_PORT, .cancel_fd = -1};
    enum tl_status status = tl_client_connect(&options, &client, &error);
    if (status == TL_OK)
        status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error);
    if (status == TL_OK)
        print_result(argv[2], &result);
    else
        fprintf(stderr, "record: %s\n", error.text);
    tl_tcp_result_finish(&result);
    tl_client_close(client);
    tl_lab_destroy(lab);
    return status == TL_OK ? 0 : 1;
}
