/* Runs one TCP test of the engine against a tightlinkd, without a diagnosis around it, and
 * prints one JSON object. The driver behind the benchmarks; see run.py. Not installed.
 *
 *   bench-engine-load ADDRESS PORT [name=value ...]
 *
 * Rates are payload at the receiver over the whole test. Processor time of both ends comes
 * from who started the two programs (wait4), the same way for every peer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tightlink/engine/client.h"

static struct tl_tcp_result result;

#define TEXT(name, text) text,
static const char *const send_path_names[] = {TL_SEND_PATH_MAP(TEXT)};
static const char *const end_texts[] = {TL_TCP_END_MAP(TEXT)};
#undef TEXT

static bool take_number(struct tl_tcp_spec *spec, const char *name, double number)
{
    if (strcmp(name, "streams") == 0)
        spec->streams = (unsigned)number;
    else if (strcmp(name, "seconds") == 0)
        spec->duration_ns = (int64_t)(number * 1e9);
    else if (strcmp(name, "rcvbuf") == 0)
        spec->rcvbuf_bytes = (int)number;
    else if (strcmp(name, "sndbuf") == 0)
        spec->sndbuf_bytes = (int)number;
    else if (strcmp(name, "maxseg") == 0)
        spec->maxseg_bytes = (int)number;
    else if (strcmp(name, "pacing") == 0)
        spec->pacing_bps = (uint64_t)number;
    else if (strcmp(name, "discard") == 0)
        spec->discard = number != 0;
    else if (strcmp(name, "dscp") == 0)
        spec->dscp = (unsigned)number;
    else if (strcmp(name, "lowat") == 0)
        spec->notsent_lowat_bytes = (int)number;
    else
        return false;
    return true;
}

static bool take_option(struct tl_tcp_spec *spec, const char *text)
{
    char name[32];
    const char *value = strchr(text, '=');
    if (!value || (size_t)(value - text) >= sizeof(name))
        return false;
    memcpy(name, text, (size_t)(value - text));
    name[value++ - text] = '\0';
    if (strcmp(name, "direction") == 0) {
        spec->direction = strcmp(value, "up") == 0     ? TL_WIRE_UPLOAD
                          : strcmp(value, "both") == 0 ? TL_WIRE_BOTH
                                                       : TL_WIRE_DOWNLOAD;
        return spec->direction != TL_WIRE_DOWNLOAD || strcmp(value, "down") == 0;
    }
    if (strcmp(name, "path") == 0) {
        while (spec->send_path < TL_SEND_PATH_COUNT &&
               strcmp(value, send_path_names[spec->send_path]) != 0)
            spec->send_path++;
        return spec->send_path < TL_SEND_PATH_COUNT;
    }
    if (strcmp(name, "congestion") == 0) {
        snprintf(spec->congestion, sizeof(spec->congestion), "%s", value);
        return true;
    }
    char *end;
    double number = strtod(value, &end);
    return *value != '\0' && *end == '\0' && number >= 0 && take_number(spec, name, number);
}

/* JSON has no NAN: null. */
static void print_number(const char *name, double number)
{
    if (isfinite(number))
        printf(", \"%s\": %.6g", name, number);
    else
        printf(", \"%s\": null", name);
}

static double rss_mib(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) == 0 ? (double)used.ru_maxrss / 1024 : NAN;
}

static void print_direction(const struct tl_tcp_result *one)
{
    int64_t last_ns = 0;
    for (unsigned i = 0; i < one->streams; i++)
        if (one->receiver.streams[i].last_byte_ns > last_ns)
            last_ns = one->receiver.streams[i].last_byte_ns;
    printf("\"streams\": %u, \"received_bytes\": %llu", one->streams,
           (unsigned long long)one->receiver.bytes);
    print_number("mbps", last_ns > 0 ? (double)one->receiver.bytes * 8e3 / (double)last_ns : NAN);
    print_number("steady_mbps", one->steady.rate.goodput_bps / 1e6);
    print_number("ends_disagree_ratio", one->ends_agree_ratio);
    printf(", \"congestion\": \"%s\", \"end\": \"%s\", \"path\": \"%s\", \"discarded\": %s",
           one->sender.congestion, end_texts[one->end], send_path_names[one->sender.send_path],
           one->receiver.discarded ? "true" : "false");
    printf(", \"call_bytes\": %u",
           one->near_sends ? one->sender.call_bytes : one->receiver.call_bytes);
}

static void print_result(void)
{
    printf("{");
    print_direction(&result);
    print_number("rss_mib", rss_mib());
    printf(", \"note\": \"%s\"", result.notes);
    if (result.upload) {
        printf(", \"upload\": {");
        print_direction(result.upload);
        printf("}");
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    struct tl_error error = {0};
    struct tl_client *client = NULL;
    struct tl_tcp_spec spec = {.streams = 1, .duration_ns = 2000000000};
    if (argc < 3) {
        fprintf(stderr, "bench-engine-load ADDRESS PORT [streams=N] [seconds=S] "
                        "[direction=up|down|both] [discard=1] [congestion=NAME] [rcvbuf=B] "
                        "[sndbuf=B] [maxseg=B] [pacing=BPS] [dscp=N] [lowat=B] "
                        "[path=auto|send|splice|zerocopy]\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        if (!take_option(&spec, argv[i])) {
            fprintf(stderr, "bench-engine-load: \"%s\" is no option\n", argv[i]);
            return 2;
        }
    }
    struct tl_client_options options = {
        .host = argv[1], .port = atoi(argv[2]), .cancel_fd = -1, .program = "bench"};
    enum tl_status status = tl_client_connect(&options, &client, &error);
    if (status == TL_OK) {
        status = tl_client_tcp_test(client, &spec, NULL, NULL, &result, &error);
        if (status == TL_OK)
            print_result();
        tl_tcp_result_finish(&result);
    }
    tl_client_close(client);
    if (status == TL_OK)
        return 0;
    fprintf(stderr, "bench-engine-load: %s\n", error.text);
    return 1;
}
