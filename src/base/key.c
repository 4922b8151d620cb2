/* Key files: their lines, and making new ones. What a key is used for is the engine's affair. */
#include "tightlink/base/key.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/base/random.h"
#include "tightlink/base/secret.h"

struct tl_keys {
    size_t count, room;
    struct tl_key *keys;
};

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

static size_t name_length(const char *text)
{
    size_t len = 0;
    while (is_name_character(text[len]))
        len++;
    return len;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* "192.0.2.0/24", "2001:db8::/32", or one address; false when it is none. */
static bool parse_network(char *text, struct tl_key_network *ret_network)
{
    struct in_addr v4;
    char *slash = strchr(text, '/'), *end = NULL;
    unsigned long bits =
        slash && slash[1] >= '0' && slash[1] <= '9' ? strtoul(slash + 1, &end, 10) : 0;
    if (slash && (!end || *end != '\0'))
        return false;
    if (slash)
        *slash = '\0';
    *ret_network =
        (struct tl_key_network){.address = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}}}};
    bool is_v4 = inet_pton(AF_INET, text, &v4) == 1;
    unsigned long first = is_v4 ? 96 : 0, most = is_v4 ? 32 : 128;
    if (is_v4)
        memcpy(&ret_network->address.s6_addr[12], &v4, sizeof v4);
    else if (inet_pton(AF_INET6, text, &ret_network->address) != 1)
        return false;
    if (bits > most)
        return false;
    ret_network->bits = (uint8_t)(first + (slash ? bits : most));
    return true;
}

static bool parse_networks(char *text, struct tl_key *key)
{
    for (char *next; text; text = next) {
        next = strchr(text, ',');
        if (next)
            *next++ = '\0';
        if (key->network_count == TL_KEY_NETWORKS_MAX ||
            !parse_network(text, &key->networks[key->network_count++]))
            return false;
    }
    return true;
}

/* What stands behind the secret; the words are cut in place. */
static bool parse_words(char *text, struct tl_key *key)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (strcmp(word, "class=admin") == 0)
            key->admin = true;
        else if (strncmp(word, "from=", 5) != 0 || !parse_networks(word + 5, key))
            return false;
    }
    return true;
}

/* "NAME HEX [WORD]..."; false when the line is none. */
static bool parse_line(char *line, struct tl_key *ret_key)
{
    size_t len = name_length(line);
    if (len == 0 || len >= sizeof ret_key->name)
        return false;
    memcpy(ret_key->name, line, len);
    ret_key->name[len] = '\0';
    char *hex = line + len + strspn(line + len, " \t");
    if (hex == line + len)
        return false;
    for (size_t i = 0; i < TL_KEY_SECRET_SIZE; i++) {
        int high = hex_digit(hex[2 * i]);
        int low = high < 0 ? -1 : hex_digit(hex[2 * i + 1]);
        if (low < 0)
            return false;
        ret_key->secret[i] = (uint8_t)(high << 4 | low);
    }
    hex += (size_t)2 * TL_KEY_SECRET_SIZE;
    return (*hex == '\0' || strspn(hex, " \t\r") > 0) && parse_words(hex, ret_key);
}

/* realloc() would leave a copy behind. */
static struct tl_key *next_place(struct tl_keys *keys)
{
    if (keys->count < keys->room)
        return &keys->keys[keys->count];
    size_t room = keys->room ? 2 * keys->room : 4;
    struct tl_key *more = calloc(room, sizeof *more);
    if (!more)
        return NULL;
    if (keys->keys) {
        memcpy(more, keys->keys, keys->count * sizeof *more);
        explicit_bzero(keys->keys, keys->count * sizeof *more);
        free(keys->keys);
    }
    keys->keys = more;
    keys->room = room;
    return &keys->keys[keys->count];
}

static enum tl_status take_line(struct tl_keys *keys, const char *path, int number, char *line,
                                struct tl_error *reterr)
{
    if (line[strspn(line, " \t\r")] == '\0' || line[0] == '#')
        return TL_OK;
    if (keys->count == TL_KEYS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "%s has more than %d keys", path, TL_KEYS_MAX);
    struct tl_key *key = next_place(keys);
    if (!key)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the keys of %s", path);
    if (!parse_line(line, key))
        return tl_error_set(reterr, TL_SYNTAX,
                            "%s line %d is no key: a name and %d hexadecimal digits, as "
                            "`tightlink key NAME` makes it, then from=NETWORK[,NETWORK]... (up to "
                            "%d, as 192.0.2.0/24) or class=admin, if at all",
                            path, number, 2 * TL_KEY_SECRET_SIZE, TL_KEY_NETWORKS_MAX);
    if (tl_keys_find(keys, key->name, strlen(key->name)))
        return tl_error_set(reterr, TL_SYNTAX, "%s line %d: the name %s is there twice", path,
                            number, key->name);
    keys->count++;
    return TL_OK;
}

static enum tl_status take_text(struct tl_keys *keys, const char *path, char *text,
                                struct tl_error *reterr)
{
    int number = 1;
    for (char *line = text; line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        enum tl_status status = take_line(keys, path, number, line, reterr);
        if (status != TL_OK)
            return status;
        line = end ? end + 1 : NULL;
    }
    if (keys->count == 0)
        return tl_error_set(reterr, TL_SYNTAX, "%s has no key: `tightlink key NAME` makes one",
                            path);
    return TL_OK;
}

enum tl_status tl_keys_parse(const char *path, char *text, struct tl_keys **ret_keys,
                             struct tl_error *reterr)
{
    struct tl_keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the keys of %s", path);
    enum tl_status status = take_text(keys, path, text, reterr);
    if (status == TL_OK)
        *ret_keys = keys;
    else
        tl_keys_destroy(keys);
    return status;
}

enum tl_status tl_keys_load(const char *path, struct tl_keys **ret_keys, struct tl_error *reterr)
{
    char *text = malloc(TL_KEYS_FILE_MAX + 1);
    size_t len;
    if (!text)
        return tl_error_set(reterr, TL_NOMEM, "no memory for the keys of %s", path);
    enum tl_status status =
        tl_secret_file_read(path, "key file", text, TL_KEYS_FILE_MAX + 1, &len, reterr);
    if (status == TL_OK)
        status = tl_keys_parse(path, text, ret_keys, reterr);
    explicit_bzero(text, TL_KEYS_FILE_MAX + 1);
    free(text);
    return status;
}

void tl_keys_destroy(struct tl_keys *keys)
{
    if (!keys)
        return;
    if (keys->keys)
        explicit_bzero(keys->keys, keys->room * sizeof *keys->keys);
    free(keys->keys);
    free(keys);
}

size_t tl_keys_count(const struct tl_keys *keys)
{
    return keys->count;
}

const struct tl_key *tl_keys_at(const struct tl_keys *keys, size_t index)
{
    return &keys->keys[index];
}

const struct tl_key *tl_keys_find(const struct tl_keys *keys, const void *name, size_t len)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strlen(keys->keys[i].name) == len && memcmp(keys->keys[i].name, name, len) == 0)
            return &keys->keys[i];
    return NULL;
}

static bool begins_with(const struct in6_addr *address, const struct tl_key_network *network)
{
    unsigned bytes = network->bits / 8, rest = network->bits % 8;
    return memcmp(address, &network->address, bytes) == 0 &&
           (rest == 0 ||
            (address->s6_addr[bytes] ^ network->address.s6_addr[bytes]) >> (8 - rest) == 0);
}

bool tl_key_opens_from(const struct tl_key *key, const struct in6_addr *address)
{
    for (unsigned i = 0; i < key->network_count; i++)
        if (begins_with(address, &key->networks[i]))
            return true;
    return key->network_count == 0;
}

enum tl_status tl_key_line_make(const char *name, char ret_line[TL_KEY_LINE_SIZE],
                                struct tl_error *reterr)
{
    size_t len = name_length(name);
    uint8_t secret[TL_KEY_SECRET_SIZE];
    if (len == 0 || len >= TL_KEY_NAME_SIZE || name[len] != '\0')
        return tl_error_set(reterr, TL_SYNTAX,
                            "a key's name is 1 to %d letters, digits, dots, dashes or underscores",
                            TL_KEY_NAME_SIZE - 1);
    enum tl_status status = tl_random_secure(secret, sizeof secret);
    if (status != TL_OK)
        return tl_error_set(reterr, status, "no random numbers from the kernel");
    int at = snprintf(ret_line, TL_KEY_LINE_SIZE, "%s ", name);
    for (size_t i = 0; i < sizeof secret; i++)
        at += snprintf(ret_line + at, 3, "%02x", secret[i]);
    ret_line[at++] = '\n';
    ret_line[at] = '\0';
    explicit_bzero(secret, sizeof secret);
    return TL_OK;
}
