/* Fuzz target: remedies and undo files. Whatever they hold, only settings below net. come out,
 * with values of digits, blanks and small letters, and routes, whose devices are plain names. */
#include <string.h>

#include "fuzz.h"
#include "tightlink/fix/fix.h"

unsigned long fuzz_accepted;

static void check_value(const char *value)
{
    MUST(*value && strlen(value) < TL_FIX_VALUE_SIZE);
    MUST(strspn(value, "0123456789 abcdefghijklmnopqrstuvwxyz_-") == strlen(value));
}

static void check_route(const char *value)
{
    MUST(*value && strlen(value) < TL_FIX_VALUE_SIZE);
    for (const char *at = value; *at; at++)
        MUST((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
             (*at >= 'A' && *at <= 'Z') || strchr(" .:_@-", *at));
}

static void check(const struct tl_fix *fix, bool undo)
{
    MUST(fix->count <= TL_FIX_SETTINGS_MAX);
    for (size_t i = 0; i < fix->count; i++) {
        const char *key = fix->settings[i].key;
        if (strcmp(key, "ip route") == 0) {
            check_route(fix->settings[i].after);
            continue;
        }
        MUST(strncmp(key, "net.", 4) == 0 && !strchr(key, '/') && !strstr(key, ".."));
        check_value(fix->settings[i].after);
        if (undo)
            check_value(fix->settings[i].before);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_fix fix = {.root = TL_FIX_ROOT}, undo = {0};
    struct tl_error error = {0};
    char text[FUZZ_INPUT_MAX + 1];
    size_t len = size < FUZZ_INPUT_MAX ? size : FUZZ_INPUT_MAX;
    memcpy(text, data, len);
    text[len] = '\0';
    if (tl_fix_parse(text, &fix, &error) == TL_OK) {
        MUST(fix.count > 0);
        check(&fix, false);
        fuzz_accepted++;
    } else {
        MUST(fix.count == 0 && error.text[0]);
    }
    if (tl_fix_undo_parse(text, len, &undo, &error) == TL_OK) {
        check(&undo, true);
        fuzz_accepted++;
    }
    return 0;
}

static const char *const seeds[] = {
    "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 8388608\"",
    "sysctl -w net.core.rmem_max=8388608 net.core.rmem_default=1048576",
    "sysctl -w net.ipv4.tcp_congestion_control=bbr",
    "{\"format\": \"tightlink.undo/1\", \"settings\": [{\"key\": \"net.ipv4.tcp_rmem\", "
    "\"before\": \"4096 131072 6291456\", \"after\": \"4096 131072 8388608\"}]}",
};
const unsigned fuzz_seed_count = sizeof seeds / sizeof *seeds;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    size_t len = strlen(seeds[number]);
    memcpy(bytes, seeds[number], len);
    return len;
}
