/* The redactor: what is known to name somebody, the masks, and texts with masks in them.
 *
 * Forms are in redact_match.c, the copies of a run in redact_run.c, the file of the mapping in
 * redact_file.c. */
#include "redact_private.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tightlink/base/grow.h"
#include "tightlink/base/random.h"

#define DIGEST_SIZE 32
#define MASK_BYTES  3 /* of the digest, in hexadecimal; more where two masks would be alike */

/* Words of our own sentences: a host of this name is masked where a field names it, and not in
 * every sentence. */
static const char *const own_words[] = {
    "a",          "access",   "address",   "admin",  "all",     "an",      "and",
    "as",         "at",       "bbr",       "both",   "buffer",  "by",      "client",
    "connection", "cpu",      "cubic",     "data",   "default", "desktop", "disk",
    "download",   "end",      "far",       "file",   "flow",    "for",     "from",
    "gateway",    "guest",    "home",      "host",   "hosts",   "in",      "interface",
    "internet",   "is",       "it",        "kernel", "lan",     "limit",   "link",
    "linux",      "local",    "localhost", "loss",   "memory",  "mtu",     "near",
    "network",    "no",       "nobody",    "not",    "of",      "on",      "one",
    "or",         "packet",   "packets",   "path",   "pc",      "proc",    "program",
    "rate",       "receiver", "responder", "root",   "route",   "router",  "sender",
    "server",     "socket",   "stage",     "stream", "streams", "support", "sys",
    "system",     "tcp",      "team",      "test",   "the",     "this",    "tightlink",
    "time",       "to",       "transfer",  "udp",    "upload",  "user",    "was",
    "wifi",       "window",   "wireless",  "with",   "www",
};

/* Names that are the same everywhere. */
static const char *const nameless[] = {"localhost", "localhost.localdomain", "ip6-localhost",
                                       "(none)"};

static const struct {
    const char *name, *text;
} kinds[TL_MASK_KIND_COUNT] = {
    [TL_MASK_IP4] = {"ip4", "IPv4 address"},       [TL_MASK_IP6] = {"ip6", "IPv6 address"},
    [TL_MASK_MAC] = {"mac", "hardware address"},   [TL_MASK_HOST] = {"host", "host name or URL"},
    [TL_MASK_SSID] = {"ssid", "wireless network"}, [TL_MASK_USER] = {"user", "user name"},
    [TL_MASK_PATH] = {"path", "path of a file"},
};

const char *tl_mask_kind_name(enum tl_mask_kind kind)
{
    return kinds[kind].name;
}

const char *tl_mask_kind_text(enum tl_mask_kind kind)
{
    return kinds[kind].text;
}

bool tl_is_mask(const char *name)
{
    for (int kind = 0; kind < TL_MASK_KIND_COUNT; kind++) {
        size_t len = strlen(kinds[kind].name);
        if (strncmp(name, kinds[kind].name, len) != 0 || name[len] != '-')
            continue;
        size_t digits = strlen(name + len + 1);
        return digits >= 2 * MASK_BYTES && digits % 2 == 0 &&
               strspn(name + len + 1, "0123456789abcdef") == digits;
    }
    return false;
}

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(words[i], word) == 0)
            return true;
    return false;
}

#define IS_AMONG(word, words) is_among(word, words, sizeof(words) / sizeof *(words))

/* --- life --- */

enum tl_status tl_redactor_create(const uint8_t *key, struct tl_redactor **ret_redactor,
                                  struct tl_error *reterr)
{
    struct tl_redactor *redactor = calloc(1, sizeof *redactor);
    enum tl_status status = TL_OK;
    if (!redactor)
        return tl_error_set(reterr, TL_NOMEM, "%s", tl_status_text(TL_NOMEM));
    if (key)
        memcpy(redactor->key, key, sizeof redactor->key);
    else
        status = tl_random_secure(redactor->key, sizeof redactor->key);
    if (status != TL_OK) {
        free(redactor);
        return tl_error_set(reterr, status, "the kernel gives no random key for the masks");
    }
    *ret_redactor = redactor;
    return TL_OK;
}

void tl_redactor_destroy(struct tl_redactor *redactor)
{
    if (!redactor)
        return;
    for (size_t i = 0; i < redactor->count; i++) {
        free(redactor->values[i].value);
        free(redactor->values[i].mask);
    }
    free(redactor->values);
    for (size_t i = 0; i < redactor->learned_count; i++)
        free(redactor->learned[i].word);
    OPENSSL_cleanse(redactor->key, sizeof redactor->key);
    free(redactor);
}

enum tl_status tl_redactor_status(const struct tl_redactor *redactor)
{
    return redactor->status;
}

size_t tl_redactor_count(const struct tl_redactor *redactor)
{
    return redactor->count - redactor->unseen_count;
}

struct tl_mask tl_redactor_at(const struct tl_redactor *redactor, size_t index)
{
    const struct redact_value *value = &redactor->values[index];
    return (struct tl_mask){value->kind, value->value, value->mask, value->count};
}

static size_t count_in(const char *mask, const char *text, size_t len)
{
    size_t count = 0, size = strlen(mask);
    const char *end = text + len, *at = text;
    while ((at = memmem(at, (size_t)(end - at), mask, size))) {
        at += size; /* a longer mask that begins alike is another one */
        count += at == end || !isxdigit((unsigned char)*at);
    }
    return count;
}

void tl_redactor_count_in(struct tl_redactor *redactor, const char *text, size_t len)
{
    size_t seen = 0;
    for (size_t i = 0; i < redactor->count; i++) {
        struct redact_value value = redactor->values[i];
        value.count = count_in(value.mask, text, len);
        redactor->values[i].count = value.count;
        if (!value.count)
            continue;
        memmove(&redactor->values[seen + 1], &redactor->values[seen],
                (i - seen) * sizeof redactor->values[0]);
        redactor->values[seen++] = value;
    }
    redactor->unseen_count = redactor->count - seen;
}

static void fail(struct tl_redactor *redactor, enum tl_status status)
{
    if (redactor->status == TL_OK)
        redactor->status = status;
}

/* --- masks --- */

static bool mask_is_taken(const struct tl_redactor *redactor, const char *mask)
{
    for (size_t i = 0; i < redactor->count; i++)
        if (strcmp(redactor->values[i].mask, mask) == 0)
            return true;
    return false;
}

/* "host-3fa9c1", longer where another value has that one already; NULL when it fails. */
static char *make_mask(const struct tl_redactor *redactor, enum tl_mask_kind kind,
                       const char *value)
{
    char message[TL_REDACT_VALUE_SIZE + 16], mask[16 + 2 * DIGEST_SIZE];
    uint8_t digest[DIGEST_SIZE];
    unsigned size = 0;
    int len = snprintf(message, sizeof message, "%s:%s", kinds[kind].name, value);
    /* OpenSSL 3.0 uses what it had no memory to make. */
    if (!OSSL_LIB_CTX_get0_global_default() ||
        !HMAC(EVP_sha256(), redactor->key, sizeof redactor->key, (const uint8_t *)message,
              (size_t)len, digest, &size))
        return NULL;
    int at = snprintf(mask, sizeof mask, "%s-", kinds[kind].name);
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        at += snprintf(mask + at, sizeof mask - (size_t)at, "%02x", digest[i]);
        if (i + 1 >= MASK_BYTES && !mask_is_taken(redactor, mask))
            break;
    }
    return strdup(mask);
}

static struct redact_value *find_value(const struct tl_redactor *redactor, enum tl_mask_kind kind,
                                       const char *value)
{
    for (size_t i = 0; i < redactor->count; i++)
        if (redactor->values[i].kind == kind && strcmp(redactor->values[i].value, value) == 0)
            return &redactor->values[i];
    return NULL;
}

static struct redact_value *add_value(struct tl_redactor *redactor, enum tl_mask_kind kind,
                                      const char *value)
{
    if (redactor->count == TL_REDACT_VALUES_MAX) {
        fail(redactor, TL_LIMIT);
        return NULL;
    }
    if (!tl_grow(&redactor->values, redactor->count, &redactor->capacity, 64,
                 sizeof *redactor->values)) {
        fail(redactor, TL_NOMEM);
        return NULL;
    }
    struct redact_value new = {kind, strdup(value), make_mask(redactor, kind, value), 0};
    if (!new.value || !new.mask) {
        free(new.value);
        free(new.mask);
        fail(redactor, TL_NOMEM);
        return NULL;
    }
    redactor->values[redactor->count] = new;
    return &redactor->values[redactor->count++];
}

/* What fails leaves a gap, never the value. */
static void add_mask(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *value,
                     struct tl_buf *out)
{
    struct redact_value *found = find_value(redactor, kind, value);
    if (!found)
        found = add_value(redactor, kind, value);
    if (!found) {
        tl_buf_adds(out, "masked");
        return;
    }
    found->count++;
    redactor->unseen_count = 0;
    tl_buf_adds(out, found->mask);
}

/* --- learning --- */

static void learn_word(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *word,
                       size_t len, const char *value)
{
    if (len < 2 || len >= TL_REDACT_VALUE_SIZE)
        return;
    for (size_t i = 0; i < redactor->learned_count; i++)
        if (strlen(redactor->learned[i].word) == len &&
            strncasecmp(redactor->learned[i].word, word, len) == 0)
            return;
    if (redactor->learned_count == REDACT_LEARNED_MAX) {
        fail(redactor, TL_LIMIT);
        return;
    }
    struct redact_word *new = &redactor->learned[redactor->learned_count];
    new->kind = kind;
    snprintf(new->value, sizeof new->value, "%s", value);
    new->word = strndup(word, len);
    if (!new->word) {
        fail(redactor, TL_NOMEM);
        return;
    }
    if (IS_AMONG(new->word, own_words)) {
        free(new->word);
        return;
    }
    redactor->learned_count++;
}

/* A host goes by its full name and by the first part of it: one value, one mask. */
static void learn_host(struct tl_redactor *redactor, const char *name)
{
    char value[TL_REDACT_VALUE_SIZE];
    size_t label = strcspn(name, ".");
    redact_spell_name(name, strlen(name), value);
    learn_word(redactor, TL_MASK_HOST, name, strlen(name), value);
    if (name[label] && strspn(name, "0123456789") < label)
        learn_word(redactor, TL_MASK_HOST, name, label, value);
}

void tl_redactor_learn(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *value)
{
    struct redact_match match;
    if (!value || !*value || IS_AMONG(value, nameless) || redact_match_address(value, &match))
        return; /* addresses are found by their form */
    if (kind == TL_MASK_HOST)
        learn_host(redactor, value);
    else
        learn_word(redactor, kind, value, strlen(value), value);
}

void tl_redactor_learn_here(struct tl_redactor *redactor)
{
    char host[256] = "", buffer[4096];
    struct passwd user, *found = NULL;
    if (gethostname(host, sizeof host - 1) == 0)
        tl_redactor_learn(redactor, TL_MASK_HOST, host);
    if (getpwuid_r(getuid(), &user, buffer, sizeof buffer, &found) == 0 && found) {
        tl_redactor_learn(redactor, TL_MASK_USER, found->pw_name);
        if (strlen(found->pw_dir) > 1)
            tl_redactor_learn(redactor, TL_MASK_PATH, found->pw_dir);
    }
    tl_redactor_learn(redactor, TL_MASK_USER, getenv("USER"));
    tl_redactor_learn(redactor, TL_MASK_USER, getenv("SUDO_USER"));
}

/* --- texts --- */

/* The longest learned word that stands at text[at]; its bytes, 0 without. */
static size_t match_learned(const struct tl_redactor *redactor, const char *text, size_t at,
                            const struct redact_word **ret_word)
{
    size_t best = 0;
    bool begins = !at || !redact_is_word(text[at - 1]);
    for (size_t i = 0; i < redactor->learned_count; i++) {
        const struct redact_word *word = &redactor->learned[i];
        size_t len = strlen(word->word);
        if (len <= best || strncasecmp(text + at, word->word, len) != 0)
            continue;
        if ((!begins && redact_is_word(word->word[0])) ||
            (redact_is_word(word->word[len - 1]) && redact_is_word(text[at + len])))
            continue;
        best = len;
        *ret_word = word;
    }
    return best;
}

void tl_redact_text(struct tl_redactor *redactor, const char *text, struct tl_buf *out)
{
    struct redact_match match;
    const struct redact_word *word = NULL;
    size_t plain = 0, at = 0;
    if (!text)
        return;
    while (text[at]) {
        size_t learned = match_learned(redactor, text, at, &word);
        bool formed = redact_match_at(text, at, &match);
        if (!learned && !formed) {
            at++;
            continue;
        }
        if (formed && match.keep && !learned) {
            at += match.len;
            continue;
        }
        tl_buf_add(out, text + plain, at - plain);
        bool by_word = learned && (!formed || match.keep || learned >= match.len);
        if (by_word)
            add_mask(redactor, word->kind, word->value, out);
        else
            add_mask(redactor, match.kind, match.value, out);
        at += by_word ? learned : match.len;
        plain = at;
    }
    tl_buf_add(out, text + plain, at - plain);
}

void tl_redact_name(struct tl_redactor *redactor, enum tl_mask_kind kind, const char *name,
                    struct tl_buf *out)
{
    struct redact_match match;
    char value[TL_REDACT_VALUE_SIZE];
    if (!name || !*name)
        return;
    if (IS_AMONG(name, nameless)) {
        tl_buf_adds(out, name);
    } else if (redact_match_address(name, &match)) {
        if (match.keep)
            tl_buf_adds(out, name);
        else
            add_mask(redactor, match.kind, match.value, out);
    } else {
        if (kind == TL_MASK_HOST || kind == TL_MASK_USER)
            redact_spell_name(name, strlen(name), value);
        else
            snprintf(value, sizeof value, "%s", name);
        /* a first label that was learned is the whole host */
        for (size_t i = 0; i < redactor->learned_count; i++)
            if (redactor->learned[i].kind == kind &&
                strcasecmp(redactor->learned[i].word, name) == 0)
                snprintf(value, sizeof value, "%s", redactor->learned[i].value);
        add_mask(redactor, kind, value, out);
    }
}
