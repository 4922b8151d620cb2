/* Writing a rule for either end out for one of them. */
#include "either.h"

#include <string.h>

#include "tightlink/base/json_write.h"

const char *const tl_ends[TL_ENDS] = {"sender", "receiver"};

struct expansion {
    const char *end;
    struct tl_json_at words; /* what "either" says for this end */
    struct tl_json_writer writer;
    struct tl_error *reterr;
};

static bool is_end(const char *key)
{
    return strcmp(key, tl_ends[0]) == 0 || strcmp(key, tl_ends[1]) == 0;
}

bool tl_either_asks(const struct tl_json *doc)
{
    struct tl_json_at root = tl_json_root(doc), either;
    return tl_json_find(&root, "either", &either);
}

/* {"sender": …, "receiver": …}, or one of the two. */
static bool is_choice(const struct tl_json_at *at)
{
    struct tl_json_at value;
    const char *key = NULL;
    bool all = tl_json_type(at) == TL_JSON_OBJECT && tl_json_count(at) > 0;
    struct tl_json_members members = tl_json_members(at);
    while (all && tl_json_next(&members, &key, &value))
        all = is_end(key);
    return all;
}

/* What stands at a place for this end; false where that is nothing. */
static bool choose(const struct expansion *x, const struct tl_json_at *at,
                   struct tl_json_at *ret_at)
{
    *ret_at = *at;
    return !is_choice(at) || tl_json_find(at, x->end, ret_at);
}

static enum tl_status word_value(const struct expansion *x, const struct tl_json_at *at,
                                 const char *word, const char **ret_value)
{
    struct tl_json_at value;
    if (strcmp(word, "end") == 0) {
        *ret_value = x->end;
        return TL_OK;
    }
    if (!tl_json_find(&x->words, word, &value))
        return tl_json_error(at, x->reterr, TL_UNKNOWN, "either: there is no word <%s> for the %s",
                             word, x->end);
    return tl_json_string(&value, ret_value, x->reterr);
}

/* The length of the word in "<word>…", 0 where no such thing begins. */
static size_t word_length(const char *text)
{
    size_t len = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
    return len && text[len + 1] == '>' ? len : 0;
}

static enum tl_status write_text(struct expansion *x, const char *key, const struct tl_json_at *at)
{
    struct tl_buf text = TL_BUF_INIT;
    const char *from = NULL, *value = NULL;
    enum tl_status status = tl_json_string(at, &from, x->reterr);
    while (status == TL_OK && *from) {
        size_t len = *from == '<' ? word_length(from) : 0;
        char word[64];
        if (len == 0 || len >= sizeof word) {
            len = 1 + strcspn(from + 1, "<");
            tl_buf_add(&text, from, len);
            from += len;
            continue;
        }
        memcpy(word, from + 1, len);
        word[len] = '\0';
        status = word_value(x, at, word, &value);
        if (status == TL_OK)
            tl_buf_adds(&text, value);
        from += len + 2;
    }
    if (status == TL_OK && text.status != TL_OK)
        status = tl_error_set(x->reterr, TL_NOMEM, "out of memory");
    if (status == TL_OK)
        tl_json_add_string(&x->writer, key, tl_buf_text(&text));
    tl_buf_finish(&text);
    return status;
}

static enum tl_status write_value(struct expansion *x, const char *key,
                                  const struct tl_json_at *at);

static enum tl_status write_members(struct expansion *x, const struct tl_json_at *at)
{
    struct tl_json_at value;
    const char *key = NULL;
    enum tl_status status = TL_OK;
    struct tl_json_members members = tl_json_members(at);
    while (status == TL_OK && tl_json_next(&members, &key, &value))
        if (strcmp(key, "either") != 0 && choose(x, &value, &value))
            status = write_value(x, key, &value);
    return status;
}

static enum tl_status write_items(struct expansion *x, const struct tl_json_at *at)
{
    enum tl_status status = TL_OK;
    for (size_t i = 0; i < tl_json_count(at) && status == TL_OK; i++) {
        struct tl_json_at item = tl_json_item(at, i);
        if (choose(x, &item, &item))
            status = write_value(x, NULL, &item);
    }
    return status;
}

static enum tl_status write_value(struct expansion *x, const char *key, const struct tl_json_at *at)
{
    enum tl_status status = TL_OK;
    bool truth = false;
    double number = 0;
    switch (tl_json_type(at)) {
    case TL_JSON_STRING:
        return write_text(x, key, at);
    case TL_JSON_OBJECT:
        tl_json_begin_object(&x->writer, key);
        status = write_members(x, at);
        tl_json_end(&x->writer);
        return status;
    case TL_JSON_ARRAY:
        tl_json_begin_array(&x->writer, key);
        status = write_items(x, at);
        tl_json_end(&x->writer);
        return status;
    case TL_JSON_BOOL:
        status = tl_json_bool(at, &truth, x->reterr);
        tl_json_add_bool(&x->writer, key, truth);
        return status;
    case TL_JSON_NULL:
        tl_json_add_null(&x->writer, key);
        return TL_OK;
    default:
        status = tl_json_number(at, &number, x->reterr);
        tl_json_add_number(&x->writer, key, number);
        return status;
    }
}

/* "either": ["sender", "receiver"], or {"sender": {words}, "receiver": {words}}. */
static enum tl_status find_words(struct expansion *x, const struct tl_json_at *root)
{
    struct tl_json_at either;
    (void)tl_json_find(root, "either", &either);
    x->words = either;
    if (tl_json_type(&either) == TL_JSON_ARRAY) {
        bool both = tl_json_count(&either) == TL_ENDS;
        for (size_t i = 0; both && i < TL_ENDS; i++) {
            struct tl_json_at item = tl_json_item(&either, i);
            const char *end = "";
            both = tl_json_string(&item, &end, x->reterr) == TL_OK && strcmp(end, tl_ends[i]) == 0;
        }
        if (both)
            return TL_OK;
    } else if (is_choice(&either) && tl_json_count(&either) == TL_ENDS) {
        return tl_json_get_object(&either, x->end, &x->words, x->reterr);
    }
    return tl_json_error(&either, x->reterr, TL_SYNTAX,
                         "[\"sender\", \"receiver\"] is expected, or an object with the words of "
                         "each");
}

enum tl_status tl_either_write(const struct tl_json *doc, const char *end, struct tl_buf *out,
                               struct tl_error *reterr)
{
    struct tl_json_at root = tl_json_root(doc);
    struct expansion x = {.end = end, .reterr = reterr};
    enum tl_status status = find_words(&x, &root);
    tl_json_writer_init(&x.writer, out, true);
    if (status == TL_OK)
        status = write_value(&x, NULL, &root);
    if (status == TL_OK && out->status != TL_OK)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    return status;
}
