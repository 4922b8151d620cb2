/* Fuzz target: tightlink.conf. Whatever it holds, what is taken has a system, an address without
 * a control character, and nothing in it is a secret; what is refused is refused with a sentence.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tightlink/ticket/ticket.h"

unsigned long fuzz_accepted;

static const char *path_of_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("tightlink.conf", MFD_CLOEXEC);
        MUST(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    MUST(ftruncate(fd, 0) == 0);
    MUST(pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

static void check_target(const struct tl_ticket_target_info *target)
{
    MUST(*target->name && target->system);
    MUST(strncmp(target->url, "https://", 8) == 0 || strncmp(target->url, "http://", 7) == 0);
    for (const char *c = target->url; *c; c++)
        MUST((unsigned char)*c >= 0x20 && *c != 0x7f && *c != '@');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    if (tl_ticket_config_load(path_of_file(data, size), &config, &error) != TL_OK) {
        MUST(!config && error.text[0]);
        return 0;
    }
    for (size_t i = 0; i < tl_ticket_target_count(config); i++) {
        struct tl_ticket_target_info target = tl_ticket_target_at(config, i);
        check_target(&target);
        fuzz_accepted++;
    }
    tl_ticket_config_destroy(config);
    return 0;
}

static const char *const seeds[] = {
    "[ticket helpdesk]\nsystem = rt\nurl = https://helpdesk.example.net/rt\n"
    "token_file = helpdesk.token\nqueue = Network\n",
    "[ticket desk]\nsystem=zammad\nurl=https://desk.example.net\ntoken_file=/etc/desk.token\n"
    "group=Users\ncustomer=user@example.net\n; a comment\n",
    "[ticket code]\nsystem = github\nurl = https://api.github.com\ntoken_file = t\n"
    "repository = example/network\nlabels = slow,net\n[telemetry log]\nsystem = syslog\n"
    "address = log.example.net:514\ntransport = tcp\nunmask = yes\n",
    "[telemetry collector]\nsystem = otlp\nurl = https://collector.example.net:4318\n"
    "[ticket hook]\nsystem = webhook\nurl = http://127.0.0.1:8080/x\ntoken_file = k\n"
    "allow_http = yes\nca_file = ca.pem\n",
};
const unsigned fuzz_seed_count = sizeof seeds / sizeof *seeds;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    size_t len = strlen(seeds[number]);
    memcpy(bytes, seeds[number], len);
    return len;
}
