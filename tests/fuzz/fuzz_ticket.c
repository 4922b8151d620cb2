/* Fuzz target: what ticket systems answer. libcurl's calls are taken over when this is linked, so
 * that each system's own code runs as it is, search, ticket, attachments and comment, from the
 * request to the sentence.
 *
 * An input is a number (its lowest bit: a comment; the rest: which system) and answers, divided by
 * a byte 0x1e: how the request ends, then the headers' own line (where bit 6 is set) and the body
 * (repeated beyond what is read where bit 5 is). Whatever they say: a ticket's number is one, its
 * page is at the system's own address; every request goes to that address, its headers are lines,
 * and no secret stands in path, body or sentence. */
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"

#define BASE       "https://desk.example.net/at"
#define RUN        "01JA000000000000000000TEST"
#define SECRET     "canary-7d1c4e0a"
#define APP_SECRET "canary-9b5f2c33"
#define DIVIDER    0x1e
#define LONG_BODY  0x20
#define HAS_HEADER 0x40

unsigned long fuzz_accepted;

/* --- libcurl ------------------------------------------------------------------------------------
 */

CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_perform(CURL *curl);
CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...);

static struct {
    const uint8_t *answers;
    size_t len;
    long code;
    unsigned requests;
    const char *base; /* the target's url */
    const char *url, *body;
    curl_off_t body_len;
    const struct curl_slist *headers;
    curl_write_callback take_body, take_header;
    void *body_to, *header_to;
} wire;

CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list args;
    va_start(args, option);
    switch ((int)option) {
    case CURLOPT_URL:
        wire.url = va_arg(args, const char *);
        break;
    case CURLOPT_POSTFIELDS:
        wire.body = va_arg(args, const char *);
        break;
    case CURLOPT_POSTFIELDSIZE_LARGE:
        wire.body_len = va_arg(args, curl_off_t);
        break;
    case CURLOPT_HTTPHEADER:
        wire.headers = va_arg(args, const struct curl_slist *);
        break;
    case CURLOPT_WRITEFUNCTION:
        wire.take_body = va_arg(args, curl_write_callback);
        break;
    case CURLOPT_WRITEDATA:
        wire.body_to = va_arg(args, void *);
        break;
    case CURLOPT_HEADERFUNCTION:
        wire.take_header = va_arg(args, curl_write_callback);
        break;
    case CURLOPT_HEADERDATA:
        wire.header_to = va_arg(args, void *);
        break;
    default:
        break;
    }
    va_end(args);
    return CURLE_OK;
}

static void check_request(void)
{
    size_t base = strlen(wire.base);
    MUST(strncmp(wire.url, wire.base, base) == 0 && (wire.url[base] == '/' || !wire.url[base]));
    for (const char *c = wire.url; *c; c++)
        MUST(*c > ' ' && *c < 127);
    MUST(!strstr(wire.url, "/../") && !strchr(wire.url, '#') && !strstr(wire.url, "canary"));
    for (const struct curl_slist *line = wire.headers; line; line = line->next) {
        MUST(strchr(line->data, ':'));
        for (const char *c = line->data; *c; c++)
            MUST((unsigned char)*c >= ' ' && *c != 127);
    }
    MUST(!wire.body || !memmem(wire.body, (size_t)wire.body_len, "canary", 6));
    MUST(++wire.requests <= 16); /* whatever comes back */
}

static CURLcode give(const uint8_t *body, size_t len, bool is_long)
{
    size_t given = 0;
    do {
        if (len > 0 && wire.take_body((char *)(uintptr_t)body, 1, len, wire.body_to) != len)
            return CURLE_WRITE_ERROR;
        given += len;
    } while (is_long && len > 0 && given <= TICKET_REPLY_MAX);
    MUST(!is_long || len == 0);
    return CURLE_OK;
}

CURLcode __wrap_curl_easy_perform(CURL *curl)
{
    static const long codes[16] = {200, 201, 204, 302, 400, 401, 403, 404,
                                   413, 429, 500, 503, 200, 200, 200, 200};
    static const CURLcode failures[4] = {CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT,
                                         CURLE_PEER_FAILED_VERIFICATION, CURLE_RECV_ERROR};
    check_request();
    const uint8_t *answer = wire.answers;
    const uint8_t *end = wire.len ? memchr(answer, DIVIDER, wire.len) : NULL;
    size_t len = end ? (size_t)(end - answer) : wire.len;
    wire.answers += end ? len + 1 : len;
    wire.len -= end ? len + 1 : len;
    wire.body = NULL;
    wire.code = 200;
    if (len == 0)
        return CURLE_OK;
    uint8_t how = *answer++;
    len--;
    if (how & 0x80)
        return failures[how & 3];
    wire.code = codes[how & 15];
    if (how & HAS_HEADER) {
        const uint8_t *line = len ? memchr(answer, '\n', len) : NULL;
        size_t line_len = line ? (size_t)(line - answer) + 1 : len;
        if (line_len > 0)
            (void)wire.take_header((char *)(uintptr_t)answer, 1, line_len, wire.header_to);
        answer += line_len;
        len -= line_len;
    }
    return give(answer, len, how & LONG_BODY);
}

CURLcode __wrap_curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    va_list args;
    va_start(args, info);
    *va_arg(args, long *) = wire.code;
    va_end(args);
    return CURLE_OK;
}

/* --- The target ----------------------------------------------------------------------------------
 */

static char secret_file[] = "/tmp/tightlink-fuzz-token-XXXXXX",
            app_file[] = "/tmp/tightlink-fuzz-app-XXXXXX";

static void write_file(char *name, const char *text)
{
    int fd = mkstemp(name);
    MUST(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static void remove_files(void)
{
    unlink(secret_file);
    unlink(app_file);
}

static const char *const sections[] = {
    "system = rt\nqueue = Network\n",
    "system = redmine\nproject = net\n",
    "system = redmine\nproject = net\ntracker = bug\n",
    "system = github\nrepository = example/network\nlabels = slow,net\n",
    "system = gitlab\nproject = example/network\n",
    "system = jira-cloud\nuser = u@example.net\nproject = NET\n",
    "system = jira-dc\nproject = NET\n",
    "system = zammad\ngroup = Users\ncustomer = u@example.net\n",
    "system = servicenow\nuser = u\n",
    "system = webhook\n",
    "system = glpi\n", /* the last: it has a second secret */
};
#define SECTIONS (sizeof sections / sizeof *sections)

static struct tl_ticket_config *load(void)
{
    char name[] = "/tmp/tightlink-fuzz-conf-XXXXXX";
    struct tl_ticket_config *config = NULL;
    struct tl_error error = {0};
    struct tl_buf text = TL_BUF_INIT;
    write_file(secret_file, SECRET "\n");
    write_file(app_file, APP_SECRET "\n");
    (void)atexit(remove_files);
    for (size_t i = 0; i < SECTIONS; i++)
        tl_buf_addf(&text, "[ticket t%zu]\nurl = %s\ntoken_file = %s\n%s", i, BASE, secret_file,
                    sections[i]);
    tl_buf_addf(&text, "app_token_file = %s\n", app_file);
    write_file(name, tl_buf_text(&text));
    if (tl_ticket_config_load(name, &config, &error) != TL_OK)
        fprintf(stderr, "%s\n", error.text);
    unlink(name);
    tl_buf_finish(&text);
    MUST(config && tl_ticket_target_count(config) == SECTIONS);
    return config;
}

static void check_ticket(const struct tl_ticket_config *config, const char *name,
                         const char *ticket)
{
    char address[256] = "";
    MUST(ticket_check_name(ticket, NULL) == TL_OK);
    if (tl_ticket_address(config, name, ticket, address, sizeof address)) {
        MUST(strncmp(address, "https://desk.example.net/", 25) == 0);
        for (const char *c = address; *c; c++)
            MUST(*c > ' ' && *c < 127);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tl_ticket_config *config;
    if (memmem(data, size, "canary", 6)) /* what a server knows it may say, and hear again */
        return 0;
    if (!config)
        config = load();
    char name[16];
    size_t system = size ? (size_t)data[0] / 2 % SECTIONS : 0;
    struct tl_ticket_message message = {.run_id = RUN,
                                        .title = "slow",
                                        .text = "text",
                                        .json = "{}",
                                        .html = "<p>",
                                        .comment_on = size && data[0] % 2 ? "47" : ""};
    struct ticket_job job = {.again = size && data[0] & 0x40};
    struct tl_ticket_result result = {0};
    struct tl_error error = {0};
    snprintf(name, sizeof name, "t%zu", system);
    memset(&wire, 0, sizeof wire);
    wire.base = BASE;
    wire.answers = size ? data + 1 : data;
    wire.len = size ? size - 1 : 0;
    enum tl_status status =
        ticket_make(&job, ticket_config_find(config, name, NULL), &message, &result, &error);
    if (status == TL_OK) {
        check_ticket(config, name, result.ticket);
        fuzz_accepted++;
    } else { /* control characters in it are taken off where it is shown: cli/message.c */
        MUST(error.text[0] && !strstr(error.text, "canary"));
    }
    return 0;
}

/* --- Seeds
 * ---------------------------------------------------------------------------------------- */

/* "|" divides answers, each begins with how it ends: @ as it is with a header, ' ' none. */
static const struct {
    unsigned system;
    bool comment;
    const char *answers;
} seeds[] = {
    {0, false, "0{\"items\":[]}|0{\"id\":\"47\"}"},
    {0, false, "0{\"items\":[{\"id\":47,\"Subject\":\"[tightlink " RUN "] slow\"}]}"},
    {0, true, "0[\"ok\"]|0[\"ok\"]"},
    {1, false,
     "0{\"user\":{}}|0{\"issues\":[]}|0{\"upload\":{\"token\":\"7.a\"}}|0{\"upload\":{\"token\":"
     "\"8.a\"}}|"
     "0{\"issue\":{\"id\":5}}"},
    {1, true,
     "0{\"user\":{}}|0{\"upload\":{\"token\":\"7.a\"}}|0{\"upload\":{\"token\":\"8.a\"}}|0"},
    {2, false,
     "0{\"user\":{}}|0{\"issues\":[]}|0{\"project\":{\"trackers\":[{\"id\":1,\"name\":\"Bug\"}]}}|"
     "0{\"upload\":{\"token\":\"7.a\"}}|0{\"upload\":{\"token\":\"8.a\"}}|"
     "0{\"issue\":{\"id\":5}}"},
    {3, false, "0{\"items\":[]}|0{\"number\":5}"},
    {3, true, "0{\"id\":5}"},
    {4, false,
     "0[]|0{\"markdown\":\"[f](/uploads/f)\"}|0{\"markdown\":\"[r](/uploads/r)\"}|"
     "0{\"iid\":5}"},
    {4, true,
     "0{\"markdown\":\"[f](/uploads/f)\"}|0{\"markdown\":\"[r](/uploads/r)\"}|0{\"id\":1}"},
    {5, false, "0{\"issues\":[]}|0{\"key\":\"NET-4\"}|0[]|0[]"},
    {5, true, "0{\"id\":\"1\"}|0[]|0[]"},
    {6, false, "0{\"issues\":[{\"key\":\"NET-4\"}]}|0[]|0[]"},
    {7, false, "0[]|0{\"id\":5}"},
    {7, true, "0{\"id\":5}"},
    {8, false, "0{\"result\":[]}|0{\"result\":{\"sys_id\":\"a1b2\"}}|0{}|0{}"},
    {8, true, "0{\"result\":{}}|0{}|0{}"},
    {10, false, "0{\"session_token\":\"s5e\"}|0{\"totalcount\":0}|0{\"id\":5}|0{}|0{}|0true"},
    {10, true, "0{\"session_token\":\"s5e\"}|0{\"id\":5}|0{}|0{}|0true"},
    {9, false, "PRetry-After: 5\n{}"},
};
const unsigned fuzz_seed_count = sizeof seeds / sizeof *seeds;

size_t fuzz_seed(unsigned number, uint8_t *bytes)
{
    const char *answers = seeds[number].answers;
    size_t len = strlen(answers);
    bytes[0] = (uint8_t)(2 * seeds[number].system + seeds[number].comment);
    for (size_t i = 0; i < len; i++) {
        bool begins = i == 0 || answers[i - 1] == '|';
        bytes[1 + i] = answers[i] == '|' ? DIVIDER
                       : begins          ? (uint8_t)(answers[i] == 'P' ? HAS_HEADER : 0)
                                         : (uint8_t)answers[i];
    }
    return 1 + len;
}
