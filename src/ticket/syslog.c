/* syslog: RFC 5424 messages, one datagram each (RFC 5426) or with their length before them over TCP
 * (RFC 6587, 3.4.1: octet counting). And journald's own socket
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL), which takes the same texts as fields. */
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "sinks.h"
#include "tightlink/base/time.h"

/* RFC 5424, 6.1: what every receiver takes. */
#define MESSAGE_MAX 2048
#define WAIT_MS     10000
/* On this machine; who does not read stays deaf. */
#define JOURNAL_WAIT_S 1

enum { FACILITY_USER = 1, SEVERITY_WARNING = 4, SEVERITY_NOTICE = 5 };

/* --- The message ------------------------------------------------------------------------------ */

/* Of a parameter's value: quote, backslash and closing bracket (RFC 5424, 6.3.3). */
static void add_parameter(struct tl_buf *out, const char *name, const char *value)
{
    tl_buf_addf(out, " %s=\"", name);
    for (; *value; value++) {
        if (strchr("\"\\]", *value))
            tl_buf_adds(out, "\\");
        tl_buf_add(out, value, 1);
    }
    tl_buf_adds(out, "\"");
}

static void write_message(const struct tl_telemetry_record *record, struct tl_buf *out)
{
    struct telemetry_text texts[TELEMETRY_TEXTS];
    struct telemetry_number numbers[TELEMETRY_NUMBERS];
    char time[TL_TIME_TEXT_SIZE], value[32];
    tl_time_format_utc(record->time_ns, time);
    /* No host name: the collector knows the sender, and names leave masked or not at all. The
     * enterprise number is the one for examples (RFC 5612): this project has none. */
    tl_buf_addf(out, "<%d>1 %s - tightlink %d verdict [tightlink@32473",
                FACILITY_USER * 8 + (record->moved ? SEVERITY_WARNING : SEVERITY_NOTICE), time,
                (int)getpid());
    telemetry_texts(record, texts);
    for (size_t i = 0; i < TELEMETRY_TEXTS; i++)
        if (texts[i].value[0])
            add_parameter(out, texts[i].key, texts[i].value);
    telemetry_numbers(record, numbers);
    for (size_t i = 0; i < TELEMETRY_NUMBERS; i++) {
        if (!isfinite(numbers[i].value))
            continue;
        snprintf(value, sizeof value, "%.9g", numbers[i].value);
        add_parameter(out, numbers[i].prometheus + strlen("tightlink_"), value);
    }
    tl_buf_adds(out, "] \xEF\xBB\xBF"); /* what follows is UTF-8 */
    tl_buf_adds(out, record->sentence);
    /* Cut at a character's end. */
    if (out->status == TL_OK && out->len > MESSAGE_MAX) {
        size_t len = MESSAGE_MAX;
        while (len && ((unsigned char)out->data[len] & 0xc0) == 0x80)
            len--;
        out->len = len;
        out->data[len] = '\0';
    }
}

/* --- Sending --- */

static enum tl_status failed(const char *where, int errnum, struct tl_error *reterr)
{
    return tl_error_set(reterr, tl_status_from_errno(errnum), "%.200s: %s", where,
                        strerror(errnum));
}

static int connect_within(const struct addrinfo *address, int wait_ms)
{
    int fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    address->ai_protocol);
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
    int error = errno;
    socklen_t size = sizeof error;
    if (error == EINPROGRESS) {
        error = poll(&poll_fd, 1, wait_ms) == 1 ? 0 : ETIMEDOUT;
        if (error == 0)
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error == 0)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static enum tl_status send_all(int fd, const char *where, const struct tl_buf *text,
                               struct tl_error *reterr)
{
    for (size_t at = 0; at < text->len;) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
        ssize_t n = send(fd, text->data + at, text->len - at, MSG_NOSIGNAL);
        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno == EAGAIN && poll(&poll_fd, 1, WAIT_MS) == 1)
            continue;
        else if (n < 0 && errno != EINTR)
            return failed(where, errno == EAGAIN ? ETIMEDOUT : errno, reterr);
    }
    return TL_OK;
}

/* "host:port", "[::1]:port"; without a port 514. */
static bool split_address(const char *address, char host[256], char port[8])
{
    const char *end = address[0] == '[' ? strchr(address, ']') : NULL;
    const char *colon = strrchr(end ? end : address, ':');
    size_t len = end     ? (size_t)(end - address - 1)
                 : colon ? (size_t)(colon - address)
                         : strlen(address);
    const char *from = end ? address + 1 : address;
    if (len == 0 || len >= 256 || (colon && (strlen(colon + 1) == 0 || strlen(colon + 1) > 5)))
        return false;
    memcpy(host, from, len);
    host[len] = '\0';
    snprintf(port, 8, "%s", colon ? colon + 1 : "514");
    return true;
}

static enum tl_status send_syslog(const struct ticket_target *target,
                                  const struct tl_telemetry_record *record, struct tl_error *reterr)
{
    const char *where = target->values[KEY_ADDRESS];
    bool tcp = strcmp(target->values[KEY_TRANSPORT], "tcp") == 0;
    struct addrinfo hints = {.ai_socktype = tcp ? SOCK_STREAM : SOCK_DGRAM}, *found = NULL;
    struct tl_buf message = TL_BUF_INIT, framed = TL_BUF_INIT;
    char host[256], port[8];
    if (!split_address(where, host, port))
        return tl_error_set(reterr, TL_SYNTAX, "\"%.80s\" is no address like log.example.net:514",
                            where);
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return tl_error_set(reterr, TL_NOHOST, "the name %.200s cannot be resolved", host);
    write_message(record, &message);
    if (tcp)
        tl_buf_addf(&framed, "%zu %s", message.len, tl_buf_text(&message));
    int fd = connect_within(found, WAIT_MS);
    enum tl_status status = TL_OK;
    if (message.status != TL_OK || framed.status != TL_OK)
        status = tl_error_set(reterr, TL_NOMEM, "no memory for the message");
    else
        status = fd < 0 ? failed(where, errno, reterr)
                        : send_all(fd, where, tcp ? &framed : &message, reterr);
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    tl_buf_finish(&message);
    tl_buf_finish(&framed);
    return status;
}

const struct telemetry_sink telemetry_syslog = {
    .name = "syslog", .needs = KEY(ADDRESS), .takes = KEY(TRANSPORT), .send = send_syslog};

/* --- journald --- */

/* "KEY=value\n"; a value with newlines has its length before it instead. */
static void add_field(struct tl_buf *out, const char *key, const char *value)
{
    char name[64];
    size_t i = 0;
    for (; key[i] && i + 1 < sizeof name; i++)
        name[i] = (char)(key[i] >= 'a' && key[i] <= 'z' ? key[i] - 32 : key[i]);
    name[i] = '\0';
    if (!strchr(value, '\n')) {
        tl_buf_addf(out, "%s=%s\n", name, value);
        return;
    }
    uint64_t len = strlen(value);
    unsigned char size[8];
    for (i = 0; i < sizeof size; i++)
        size[i] = (unsigned char)(len >> 8 * i);
    tl_buf_addf(out, "%s\n", name);
    tl_buf_add(out, size, sizeof size);
    tl_buf_addf(out, "%s\n", value);
}

static enum tl_status send_journald(const struct ticket_target *target,
                                    const struct tl_telemetry_record *record,
                                    struct tl_error *reterr)
{
    const char *given = target->values[KEY_ADDRESS];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct telemetry_text texts[TELEMETRY_TEXTS];
    struct tl_buf text = TL_BUF_INIT;
    char key[64];
    if (strlen(given) >= sizeof address.sun_path)
        return tl_error_set(reterr, TL_LIMIT, "%.200s is too long for a socket's path", given);
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s",
             given[0] ? given : "/run/systemd/journal/socket");
    add_field(&text, "MESSAGE", record->sentence);
    add_field(&text, "PRIORITY", record->moved ? "4" : "5");
    add_field(&text, "SYSLOG_IDENTIFIER", "tightlink");
    telemetry_texts(record, texts);
    for (size_t i = 0; i < TELEMETRY_TEXTS; i++) {
        snprintf(key, sizeof key, "tightlink_%s", texts[i].key);
        add_field(&text, key, texts[i].value);
    }
    enum tl_status status = text.status;
    const struct timeval wait = {.tv_sec = JOURNAL_WAIT_S};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (status != TL_OK)
        (void)tl_error_set(reterr, status, "no memory for the message");
    else if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0 ||
             sendto(fd, text.data, text.len, MSG_NOSIGNAL, (const struct sockaddr *)&address,
                    sizeof address) != (ssize_t)text.len)
        status = failed(address.sun_path, errno == EAGAIN ? ETIMEDOUT : errno, reterr);
    if (fd >= 0)
        close(fd);
    tl_buf_finish(&text);
    return status;
}

const struct telemetry_sink telemetry_journald = {
    .name = "journald", .takes = KEY(ADDRESS), .send = send_journald};
