/* What addresses, names and paths look like inside a text, and what only looks so.
 *
 * Each matcher reads from one place on and is bounded by the end of the text. Where form leaves
 * a doubt the value is masked: a mask too many costs a word, one too few cannot be called back. */
#include "redact_match.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static bool is_hex(char c)
{
    return isxdigit((unsigned char)c);
}

bool redact_is_word(char c)
{
    return is_alnum(c) || c == '_';
}

static char before(const char *text, size_t at)
{
    return at ? text[at - 1] : ' ';
}

void redact_spell_name(const char *name, size_t len, char ret_value[TL_REDACT_VALUE_SIZE])
{
    if (len >= TL_REDACT_VALUE_SIZE)
        len = TL_REDACT_VALUE_SIZE - 1;
    for (size_t i = 0; i < len; i++)
        ret_value[i] = (char)tolower((unsigned char)name[i]);
    while (len && ret_value[len - 1] == '.')
        len--;
    ret_value[len] = '\0';
}

static void spell_as_is(const char *text, size_t len, char ret_value[TL_REDACT_VALUE_SIZE])
{
    snprintf(ret_value, TL_REDACT_VALUE_SIZE, "%.*s", (int)len, text);
}

/* --- hardware addresses --- */

/* "00:11:22:33:44:55", with dashes, or longer (InfiniBand); bytes, 0 without. */
static size_t mac_pairs(const char *text)
{
    size_t pairs = 0, len = 0;
    char separator = text[0] && text[1] ? text[2] : '\0';
    if (separator != ':' && separator != '-')
        return 0;
    while (is_hex(text[len]) && is_hex(text[len + 1]) && !is_hex(text[len + 2])) {
        len += 2;
        pairs++;
        if (text[len] != separator || !is_hex(text[len + 1]))
            break;
        len++;
    }
    return pairs >= 6 && !redact_is_word(text[len]) ? len : 0;
}

/* "0011.2233.4455", as switches print it. */
static size_t mac_quads(const char *text)
{
    for (size_t i = 0; i < 14; i++)
        if (i % 5 == 4 ? text[i] != '.' : !is_hex(text[i]))
            return 0;
    return redact_is_word(text[14]) || (text[14] == '.' && redact_is_word(text[15])) ? 0 : 14;
}

/* Twelve hexadecimal digits, letters and digits among them; also behind enx and wlx, which
 * systemd puts before the address of an interface. */
static size_t mac_plain(const char *text)
{
    bool named = strncasecmp(text, "enx", 3) == 0 || strncasecmp(text, "wlx", 3) == 0;
    size_t from = named ? 3 : 0, letters = 0;
    for (size_t i = 0; i < 12; i++) {
        if (!is_hex(text[from + i]))
            return 0;
        letters += !isdigit((unsigned char)text[from + i]);
    }
    bool mixed = letters > 0 && letters < 12;
    return !redact_is_word(text[from + 12]) && (named || mixed) ? from + 12 : 0;
}

static bool match_mac(const char *text, size_t at, struct redact_match *ret_match)
{
    size_t len = 0;
    if (is_alnum(before(text, at)))
        return false;
    if (!(len = mac_pairs(text + at)) && !(len = mac_quads(text + at)))
        len = mac_plain(text + at);
    if (!len)
        return false;
    size_t used = 0;
    for (size_t i = 0; i < len && used + 1 < sizeof ret_match->value; i++)
        if (is_hex(text[at + i]) && !(len == 15 && i < 3))
            ret_match->value[used++] = (char)tolower((unsigned char)text[at + i]);
    ret_match->value[used] = '\0';
    ret_match->kind = TL_MASK_MAC;
    ret_match->len = len;
    return true;
}

/* --- addresses --- */

/* Loopback, unspecified, broadcast and masks of networks: the same everywhere. */
static bool tells_nothing4(const struct in_addr *address)
{
    uint32_t a = ntohl(address->s_addr);
    return a >> 24 == 127 || a == 0 || a >> 16 == 0xffff;
}

static bool tells_nothing6(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address);
}

#define SECTION_REACH 64

/* "section 4.2.3.2" of a standard, and "clause 28 (..., 28.2.3.1)": the word stands before, with
 * the same first number behind it. */
static bool is_of_a_section(const char *text, size_t at)
{
    static const char *const words[] = {"section ", "sections ", "clause "};
    size_t digits = strspn(text + at, "0123456789");
    for (size_t from = at > SECTION_REACH ? at - SECTION_REACH : 0; from < at; from++) {
        for (size_t i = 0; i < COUNT(words); i++) {
            const char *number = text + from + strlen(words[i]);
            if (strncasecmp(text + from, words[i], strlen(words[i])) == 0 && number <= text + at &&
                strncmp(number, text + at, digits) == 0 && !isdigit((unsigned char)number[digits]))
                return true;
        }
    }
    return false;
}

/* Dotted numbers: four of at most 255 are an address, and more than four begin with one. */
static bool match_ip4(const char *text, size_t at, struct redact_match *ret_match)
{
    char last = before(text, at);
    if (isdigit((unsigned char)last) ||
        (last == '.' && at >= 2 && isdigit((unsigned char)text[at - 2])))
        return false;
    size_t len = 0;
    unsigned parts[4], count = 0;
    while (isdigit((unsigned char)text[at + len])) {
        unsigned part = 0;
        size_t digits = 0;
        for (; isdigit((unsigned char)text[at + len]) && digits < 4; digits++)
            part = part * 10 + (unsigned)(text[at + len++] - '0');
        if (digits > 3 || part > 255)
            return false;
        if (count < 4)
            parts[count] = part;
        count++;
        if (text[at + len] != '.' || !isdigit((unsigned char)text[at + len + 1]))
            break;
        len++;
    }
    if (count < 4 || is_of_a_section(text, at))
        return false;
    struct in_addr address;
    snprintf(ret_match->value, sizeof ret_match->value, "%u.%u.%u.%u", parts[0], parts[1], parts[2],
             parts[3]);
    ret_match->keep = count == 4 && inet_pton(AF_INET, ret_match->value, &address) == 1 &&
                      tells_nothing4(&address);
    if (count > 4)
        spell_as_is(text + at, len, ret_match->value);
    ret_match->kind = TL_MASK_IP4;
    ret_match->len = len;
    return true;
}

/* The longest begin that is an address; a sentence may go on with ':' or '.'. */
static bool match_ip6(const char *text, size_t at, struct redact_match *ret_match)
{
    char candidate[INET6_ADDRSTRLEN + 1];
    struct in6_addr address;
    size_t run = 0, colons = 0;
    if (redact_is_word(before(text, at)) || before(text, at) == ':')
        return false;
    while (run < INET6_ADDRSTRLEN &&
           (is_hex(text[at + run]) || text[at + run] == ':' || text[at + run] == '.'))
        colons += text[at + run++] == ':';
    for (size_t len = run; colons >= 2 && len >= 2; len--) {
        snprintf(candidate, sizeof candidate, "%.*s", (int)len, text + at);
        if (redact_is_word(text[at + len]) || inet_pton(AF_INET6, candidate, &address) != 1)
            continue;
        ret_match->keep = tells_nothing6(&address);
        inet_ntop(AF_INET6, &address, ret_match->value, sizeof ret_match->value);
        if (text[at + len] == '%') /* the zone: an interface */
            while (redact_is_word(text[at + ++len]) || text[at + len] == '-')
                continue;
        ret_match->kind = TL_MASK_IP6;
        ret_match->len = len;
        return true;
    }
    return false;
}

/* --- names --- */

static bool is_name_char(char c)
{
    return redact_is_word(c) || c == '-' || c == '.';
}

/* A name begins here: nothing before it belongs to the same run of characters. */
static bool name_begins(const char *text, size_t at)
{
    if (!is_alnum(text[at]) && text[at] != '_')
        return false;
    while (at && (text[at - 1] == '-' || text[at - 1] == '.' || text[at - 1] == '_'))
        at--;
    return !at || !is_alnum(text[at - 1]);
}

static size_t name_run(const char *text)
{
    size_t len = 0;
    while (is_name_char(text[len]))
        len++;
    while (len && (text[len - 1] == '-' || text[len - 1] == '.' || text[len - 1] == '_'))
        len--;
    return len;
}

/* With a dot, no empty part, and an end that no number has. */
static bool looks_like_host(const char *name, size_t len)
{
    const char *last = memrchr(name, '.', len);
    if (!last || strchr("0123456789", last[1]) || len - (size_t)(last + 1 - name) < 2)
        return false;
    for (size_t i = 0; i + 1 < len; i++)
        if (name[i] == '.' && name[i + 1] == '.')
            return false;
    return true;
}

static bool match_host(const char *text, size_t at, struct redact_match *ret_match)
{
    if (!name_begins(text, at))
        return false;
    size_t len = name_run(text + at);
    if (!looks_like_host(text + at, len) || redact_is_no_host(text + at, len))
        return false;
    ret_match->kind = TL_MASK_HOST;
    ret_match->len = len;
    redact_spell_name(text + at, len, ret_match->value);
    return true;
}

/* user@host, but for "900M@80ms": a goal. */
static bool match_user(const char *text, size_t at, struct redact_match *ret_match)
{
    if (!name_begins(text, at))
        return false;
    size_t user = 0;
    while (is_name_char(text[at + user]) || text[at + user] == '+' || text[at + user] == '%')
        user++;
    if (!user || text[at + user] != '@')
        return false;
    size_t host = name_run(text + at + user + 1);
    if (!host || (isdigit((unsigned char)text[at]) && isdigit((unsigned char)text[at + user + 1]) &&
                  !memchr(text + at + user + 1, '.', host)))
        return false;
    ret_match->kind = TL_MASK_USER;
    ret_match->len = user + 1 + host;
    redact_spell_name(text + at, ret_match->len, ret_match->value);
    return true;
}

/* Everything from the scheme on: a path of a server tells as much as its name. */
static bool match_url(const char *text, size_t at, struct redact_match *ret_match)
{
    size_t scheme = 0, len;
    if (is_alnum(before(text, at)))
        return false;
    while (isalpha((unsigned char)text[at + scheme]) || text[at + scheme] == '+')
        scheme++;
    if (!scheme || strncmp(text + at + scheme, "://", 3) != 0)
        return false;
    len = scheme + 3 + strcspn(text + at + scheme + 3, " \t\r\n\"'<>`|");
    while (len > scheme + 3 && strchr(".,;:!?)", text[at + len - 1]))
        len--;
    if (len == scheme + 3)
        return false;
    ret_match->kind = TL_MASK_HOST;
    ret_match->len = len;
    spell_as_is(text + at, len, ret_match->value);
    return true;
}

/* --- wireless networks --- */

/* Where the word SSID stands before it: SSID "attic", ssid=attic. */
static bool match_ssid(const char *text, size_t at, struct redact_match *ret_match)
{
    static const char *const verbs[] = {"is", "was", "has", "of", "and", "or", "in", "that", "not"};
    size_t back = at;
    char quote = before(text, at);
    if (!text[at] || strchr(" \t\r\n=:\"'", text[at]))
        return false;
    if (quote == '"' || quote == '\'')
        back--;
    else
        quote = '\0';
    size_t gap = back;
    while (gap && strchr(" =:", text[gap - 1]))
        gap--;
    if (gap == back || gap < 4 || strncasecmp(text + gap - 4, "ssid", 4) != 0)
        return false;
    const char *end = quote ? strchr(text + at, quote) : NULL;
    size_t len = end ? (size_t)(end - text) - at : strcspn(text + at, " \t\r\n,;\"'()");
    while (!end && len && strchr(".:!?", text[at + len - 1]))
        len--;
    if (!len || redact_is_among(text + at, len, verbs, COUNT(verbs)))
        return false;
    ret_match->kind = TL_MASK_SSID;
    ret_match->len = len;
    spell_as_is(text + at, len, ret_match->value);
    return true;
}

/* --- paths --- */

/* The system's own, which every machine has. */
static bool is_system_path(const char *path, size_t len)
{
    static const char *const trees[] = {
        "/proc/",           "/sys/",      "/etc/sysctl.",  "/etc/systemd/", "/etc/udev/",
        "/etc/modprobe.d/", "/etc/fstab", "/etc/network/", "/usr/bin/",     "/usr/sbin/",
        "/usr/lib/",        "/usr/share", "/bin/",         "/sbin/",        "/lib/"};
    for (size_t i = 0; i < COUNT(trees); i++)
        if (len + 1 >= strlen(trees[i]) && strncmp(path, trees[i], strlen(trees[i]) - 1) == 0 &&
            !memchr(path, '~', len))
            return true;
    /* /dev/sda, but not what people name: /dev/mapper/..., /dev/disk/by-label/... */
    return len > 5 && strncmp(path, "/dev/", 5) == 0 && !memchr(path + 5, '/', len - 5);
}

/* Bytes of the path's begin: "/", "~/", "~anna/", "C:\", "\\server". 0 where none is. */
static size_t path_begin(const char *text)
{
    size_t len = 1;
    if (text[0] == '/') { /* "/32" is the length of a prefix */
        size_t digits = strspn(text + 1, "0123456789");
        bool prefix = digits && !redact_is_word(text[1 + digits]) && text[1 + digits] != '/';
        return !prefix && (redact_is_word(text[1]) || text[1] == '.') ? 1 : 0;
    }
    if (text[0] == '~') {
        while (redact_is_word(text[len]) || text[len] == '-' || text[len] == '.')
            len++;
        return text[len] == '/' ? len + 1 : 0;
    }
    if (isalpha((unsigned char)text[0]) && text[1] == ':' && text[2] == '\\')
        return 3;
    return text[0] == '\\' && text[1] == '\\' && is_alnum(text[2]) ? 2 : 0;
}

static bool match_path(const char *text, size_t at, struct redact_match *ret_match)
{
    char last = before(text, at);
    size_t len = path_begin(text + at);
    if (!len || redact_is_word(last) || strchr("./\\~*", last) ||
        ((last == ')' || last == '}') && text[at] == '/'))
        return false;
    const char *end = last == '"' || last == '\'' ? strchr(text + at, last) : NULL;
    len =
        end ? (size_t)(end - text) - at : len + strcspn(text + at + len, " \t\r\n\"'`<>|;,()[]{}");
    while (!end && len > 1 && strchr(".:!?", text[at + len - 1]))
        len--;
    if (is_system_path(text + at, len))
        return false; /* what it holds is looked at piece by piece */
    ret_match->kind = TL_MASK_PATH;
    ret_match->len = len;
    spell_as_is(text + at, len, ret_match->value);
    return true;
}

bool redact_match_address(const char *text, struct redact_match *ret_match)
{
    static bool (*const matchers[])(const char *, size_t,
                                    struct redact_match *) = {match_mac, match_ip6, match_ip4};
    for (size_t i = 0; i < COUNT(matchers); i++) {
        *ret_match = (struct redact_match){0};
        if (matchers[i](text, 0, ret_match) && !text[ret_match->len])
            return true;
    }
    return false;
}

bool redact_match_at(const char *text, size_t at, struct redact_match *ret_match)
{
    static bool (*const matchers[])(const char *, size_t, struct redact_match *) = {
        match_ssid, match_url, match_mac, match_ip6, match_path, match_user, match_host, match_ip4};
    for (size_t i = 0; i < COUNT(matchers); i++) {
        ret_match->len = 0;
        ret_match->keep = false;
        if (matchers[i](text, at, ret_match))
            return true;
    }
    return false;
}
