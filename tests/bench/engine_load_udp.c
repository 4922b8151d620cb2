/* Runs one UDP test of the engine against a tightlinkd and prints one JSON object. The driver
 * behind bench_udp.py and good for a look by hand. Not installed.
 *
 *   bench-engine-load-udp ADDRESS PORT [name=value ...]
 *
 * direction=up|down seconds= rate= bytes= burst= gso= gro= trains= length= gap_ms= dscp=
 * crc=0|1|2 rcvbuf= interval_ms= repeat= (tests one after the other, the last one printed) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/engine/client_udp.h"

static bool take_number(struct tl_udp_spec *spec, unsigned *repeat, const char *name, double number)
{
    if (strcmp(name, "seconds") == 0)
        spec->duration_ns = (int64_t)(number * 1e9);
    else if (strcmp(name, "rate") == 0)
        spec->rate_bps = (uint64_t)number;
    else if (strcmp(name, "max_bytes") == 0)
        spec->max_bytes = (uint64_t)number;
    else if (strcmp(name, "bytes") == 0)
        spec->datagram_bytes = (unsigned)number;
    else if (strcmp(name, "burst") == 0)
        spec->burst_count = (unsigned)number;
    else if (strcmp(name, "gso") == 0)
        spec->gso_segments = (unsigned)number;
    else if (strcmp(name, "gro") == 0)
        spec->gro = number != 0;
    else if (strcmp(name, "trains") == 0)
        spec->train_count = (unsigned)number;
    else if (strcmp(name, "length") == 0)
        spec->train_length = (unsigned)number;
    else if (strcmp(name, "gap_ms") == 0)
        spec->train_gap_ns = (int64_t)(number * 1e6);
    else if (strcmp(name, "dscp") == 0)
        spec->dscp = (unsigned)number;
    else if (strcmp(name, "crc") == 0)
        spec->crc = (enum tl_udp_crc)number;
    else if (strcmp(name, "rcvbuf") == 0)
        spec->rcvbuf_bytes = (int)number;
    else if (strcmp(name, "interval_ms") == 0)
        spec->interval_ns = (int64_t)(number * 1e6);
    else if (strcmp(name, "repeat") == 0)
        *repeat = (unsigned)number;
    else
        return false;
    return true;
}

static bool take_option(struct tl_udp_spec *spec, unsigned *repeat, const char *text)
{
    char name[32];
    const char *value = strchr(text, '=');
    if (!value || (size_t)(value - text) >= sizeof name)
        return false;
    memcpy(name, text, (size_t)(value - text));
    name[value++ - text] = '\0';
    if (strcmp(name, "direction") == 0) {
        spec->direction = strcmp(value, "up") == 0 ? TL_WIRE_UPLOAD : TL_WIRE_DOWNLOAD;
        return strcmp(value, "up") == 0 || strcmp(value, "down") == 0;
    }
    char *end;
    double number = strtod(value, &end);
    return *value != '\0' && *end == '\0' && number >= 0 && take_number(spec, repeat, name, number);
}

/* JSON has no NAN: null. */
static void print_number(const char *name, double number)
{
    if (isfinite(number))
        printf(", \"%s\": %.9g", name, number);
    else
        printf(", \"%s\": null", name);
}

static void print_sender(const struct tl_udp_sender *s)
{
    print_number("sent_count", (double)s->sent_count);
    print_number("offered_bps", s->offered_bps);
    print_number("achieved_bps", s->achieved_bps);
    print_number("achieved_ratio", s->achieved_bps / s->offered_bps);
    print_number("largest_burst", (double)s->largest_burst_count);
    print_number("blocked", (double)s->blocked_count);
    print_number("local_drop_sender", (double)s->local_drop_count);
    print_number("forfeited_ms", (double)s->forfeited_ns / 1e6);
    print_number("sender_cpu_ratio", (double)s->cpu_ns / (double)s->elapsed_ns);
    print_number("sender_run_delay_ms", (double)s->run_delay_ns / 1e6);
    print_number("gso", s->gso_segments);
}

static void print_receiver(const struct tl_udp_receiver *r)
{
    print_number("received_count", (double)r->received_count);
    print_number("received_bytes", (double)r->received_bytes);
    print_number("mbps", r->received_bps / 1e6);
    print_number("missing", (double)r->missing_count);
    print_number("lost", (double)r->lost_count);
    print_number("local_drop", (double)r->local_drop_count);
    print_number("checksum_errors", (double)r->checksum_error_count);
    print_number("damaged", (double)r->damaged_count);
    print_number("duplicates", (double)r->duplicate_count);
    print_number("reordered", (double)r->reordered_count);
    print_number("extent_max", (double)r->reorder_extent_max_count);
    print_number("late_max_ms", (double)r->reorder_late_max_ns / 1e6);
    print_number("foreign", (double)r->foreign_count);
    print_number("runs", (double)r->runs.run_count);
    print_number("run_longest", (double)r->runs.longest_count);
    print_number("delay_median_us", r->delay.median_ns / 1e3);
    print_number("delay_p99_us", r->delay.p99_ns / 1e3);
    print_number("delay_max_us", r->delay.max_ns / 1e3);
    print_number("jitter_us", r->delay.jitter_ns / 1e3);
    print_number("skew_ppm", r->delay.skew_ppm);
    print_number("before_loss_us", r->delay.before_loss_median_ns / 1e3);
    print_number("rcvbuf", r->rcvbuf_bytes);
    print_number("receiver_cpu_ratio", (double)r->cpu_ns / (double)r->span_ns);
    printf(", \"gro\": %s, \"head_crc\": %s", r->gro ? "true" : "false",
           r->crc == TL_UDP_CRC_HEAD ? "true" : "false");
}

static void print_result(const struct tl_udp_result *result)
{
    bool limited;
    unsigned size =
        result->spec.datagram_bytes ? result->spec.datagram_bytes : TL_UDP_DATAGRAM_BYTES;
    printf("{\"end\": \"%s\", \"valid\": %s", tl_udp_end_text(result->end),
           result->valid ? "true" : "false");
    print_number("elapsed_ms", (double)result->elapsed_ns / 1e6);
    print_number("loss_ratio", result->loss_ratio);
    print_number("loss_low_ratio", result->loss_low_ratio);
    print_number("loss_high_ratio", result->loss_high_ratio);
    print_sender(&result->sender);
    print_receiver(&result->receiver);
    print_number("intervals", result->interval_count);
    print_number("train_mbps",
                 tl_udp_train_rate(result->trains, result->train_count, size, &limited) / 1e6);
    printf(", \"note\": \"%s\"}\n", result->note);
}

int main(int argc, char **argv)
{
    struct tl_udp_spec spec = {.direction = TL_WIRE_UPLOAD, .duration_ns = INT64_C(2000000000)};
    struct tl_client_options options = {.cancel_fd = -1, .program = "bench"};
    struct tl_client *client;
    struct tl_error error = {0};
    unsigned repeat = 1;
    if (argc < 3) {
        fprintf(stderr, "usage: %s ADDRESS PORT [name=value ...]\n", argv[0]);
        return 2;
    }
    options.host = argv[1];
    options.port = atoi(argv[2]);
    for (int i = 3; i < argc; i++) {
        if (take_option(&spec, &repeat, argv[i]))
            continue;
        fprintf(stderr, "%s: not understood\n", argv[i]);
        return 2;
    }
    enum tl_status status = tl_client_connect(&options, &client, &error);
    for (unsigned i = 0; i < repeat && status == TL_OK; i++) {
        struct tl_udp_result result;
        status = tl_client_udp_test(client, &spec, NULL, NULL, &result, &error);
        if (i + 1 == repeat || status != TL_OK)
            print_result(&result);
        tl_udp_result_finish(&result);
        if (status != TL_OK)
            tl_client_close(client);
    }
    if (status != TL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    tl_client_close(client);
    return 0;
}
