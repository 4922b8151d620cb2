/* Fuzz target: the parameters of an emulated path ("rate=50M delay=20ms up.loss=0.1%"), as they
 * come from command lines and saved runs, and recordings of links (the first byte chooses). What is
 * refused leaves everything as it was; what is taken holds no number that is none. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tightlink/lab/config.h"
#include "trace.h"

unsigned long fuzz_accepted;

static void check_link(const struct tl_lab_link_config *link)
{
    MUST(isfinite(link->rate_bps) && link->rate_bps >= 0);
    MUST(link->delay_ns >= 0 && link->jitter_ns >= 0 && link->queue_bytes >= 0);
    MUST(link->loss_ratio >= 0 && link->loss_ratio <= 1);
    MUST(link->corrupt_ratio >= 0 && link->corrupt_ratio <= 1);
}

static void parameters(const uint8_t *bytes, size_t size)
{
    static struct tl_lab_config config, before;
    struct tl_error error = {0};
    char *text = malloc(size + 1);
    MUST(text);
    memcpy(text, bytes, size);
    text[size] = 0;
    tl_lab_config_init(&config);
    before = config;
    if (strstr(text, "trace=")) { /* names a file of this machine: read below, from memory */
        free(text);
        return;
    }
    if (tl_lab_config_parse(text, &config, &error) != TL_OK) {
        MUST(error.text[0] && memcmp(&config, &before, sizeof config) == 0);
    } else {
        for (int d = 0; d < TL_LAB_DIRECTION_COUNT; d++) {
            check_link(&config.link[d]);
            MUST(tl_lab_queue_bytes(&config, (enum tl_lab_direction)d) >= 0);
        }
        fuzz_accepted++;
    }
    free(text);
}

static void recording(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    char path[64];
    struct tl_lab_trace trace = {0};
    struct tl_error error = {0};
    if (fd < 0)
        fd = memfd_create("recording", MFD_CLOEXEC);
    MUST(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (tl_lab_trace_load(&trace, path, &error) != TL_OK) {
        MUST(error.text[0] && !trace.at_ms);
        return;
    }
    MUST(trace.count > 0);
    int64_t last_ns = -1;
    for (uint64_t i = 0; i < 2 * trace.count; i++) {
        int64_t at_ns = tl_lab_trace_at_ns(&trace, i);
        MUST(at_ns >= last_ns && tl_lab_trace_find(&trace, at_ns) <= i);
        last_ns = at_ns;
    }
    tl_lab_trace_finish(&trace);
    fuzz_accepted++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] & 1)
        recording(data + 1, size - 1);
    else if (size > 0)
        parameters(data + 1, size - 1);
    return 0;
}

static const char *const texts[] = {
    "rate=200M down.rate=100M delay=20ms jitter=1ms queue=500kB loss=0.1% seed=7 near.rmem=64KiB",
    "policer=40M/150kB shaper=30M/5MB burst-loss=0.01%/30% reorder=3%/5ms corrupt=0.3% "
    "outage=6s-9s",
    "rate=30M dropout=8s/1.6s delay-step=5s:+30ms duplicate=1% maxlen=1300 dscp=0 "
    "strip=wscale,sack",
    "radio=4M-40M fades=12s/300ms handovers=25s/120ms grants=2ms-10ms wander=3ms/30ms",
    "rate=90M aqm=fq-codel,ecn flow-policer=20M/50kB port-loss=odd:5% mss=900 far.cc=bbr ecn=on",
    "rate=90M cross=60M cross-burst=300ms/200ms cross-flows=2 near.cpu=15% cpu-period=100ms",
    "wifi=150M/2/30% rmem=64KiB wmem=128KiB wscale=off sack=off timestamps=off autotune=off "
    "stock=on",
    "rate=50M link-at=3 routers=5 lan.delay=5ms wan-mtu=1300 icmp=silent icmp-interval=1s "
    "family=both",
};
static const char times[] = "# a link\n0\n1\n1\n\n5\n12\n";
const unsigned fuzz_seed_count = sizeof texts / sizeof *texts + 1;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    const char *text = number < sizeof texts / sizeof *texts ? texts[number] : times;
    bytes[0] = text == times;
    memcpy(bytes + 1, text, strlen(text));
    return 1 + strlen(text);
}
