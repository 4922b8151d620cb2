/* The strict RFC 8259 parser: text to a json-c tree in one pass.
 *
 * Recursive descent, one function a production, the depth bounded by the limits.
 * The cursors that read the tree are in json.c. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_tree.h"
#include "tightlink/base/buf.h"
#include "tightlink/base/utf8.h"

/* Longest number text. A double needs 24; nobody writes the rest by accident. */
#define NUMBER_LEN_MAX 100

struct parser {
    const char *start, *p, *end;
    const struct tl_json_limits *limits;
    size_t values;
    unsigned depth;
    struct tl_buf text; /* the string that was read last, unescaped */
    char pointer[TL_JSON_POINTER_SIZE];
    size_t pointer_len;
    struct tl_error *reterr;
};

static enum tl_status parse_value(struct parser *parser, struct json_object **ret_value);

/* An error at the current byte: "line 3, column 7 (/a/b): …". */
static enum tl_status fail(struct parser *parser, enum tl_status status, const char *fmt, ...)
    TL_PRINTF(3, 4);

static enum tl_status fail(struct parser *parser, enum tl_status status, const char *fmt, ...)
{
    if (!parser->reterr)
        return status;
    size_t line = 1;
    const char *line_start = parser->start;
    for (const char *p = parser->start; p < parser->p; p++) {
        if (*p == '\n') {
            line++;
            line_start = p + 1;
        }
    }
    va_list args;
    va_start(args, fmt);
    tl_error_setv(parser->reterr, status, fmt, args);
    va_end(args);
    tl_error_prefix(parser->reterr, "line %zu, column %zu (%s)", line,
                    (size_t)(parser->p - line_start) + 1,
                    parser->pointer[0] ? parser->pointer : "/");
    return status;
}

static enum tl_status fail_here(struct parser *parser, const char *expected)
{
    if (parser->p == parser->end)
        return fail(parser, TL_SYNTAX, "expected %s, but the text ends", expected);
    char found[16];
    uint32_t character;
    size_t used = tl_utf8_decode(parser->p, (size_t)(parser->end - parser->p), &character);
    tl_utf8_clean(parser->p, used ? used : 1, found, sizeof found);
    return fail(parser, TL_SYNTAX, "expected %s, found '%s'", expected, found);
}

static void skip_space(struct parser *parser)
{
    while (parser->p < parser->end &&
           (*parser->p == ' ' || *parser->p == '\t' || *parser->p == '\n' || *parser->p == '\r'))
        parser->p++;
}

static bool at(const struct parser *parser, char c)
{
    return parser->p < parser->end && *parser->p == c;
}

static bool take(struct parser *parser, char c)
{
    if (!at(parser, c))
        return false;
    parser->p++;
    return true;
}

/* --- strings (RFC 8259, section 7) --- */

static enum tl_status parse_hex4(struct parser *parser, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++, parser->p++) {
        char c = parser->p < parser->end ? *parser->p : '\0';
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return fail_here(parser, "four hexadecimal digits after \\u");
        unit = unit << 4 | digit;
    }
    *ret_unit = unit;
    return TL_OK;
}

/* After "\u": one unit, or two that form a surrogate pair. */
static enum tl_status parse_unicode(struct parser *parser)
{
    uint32_t unit = 0, low = 0;
    enum tl_status status = parse_hex4(parser, &unit);
    if (status != TL_OK)
        return status;
    if (unit == 0)
        return fail(parser, TL_SYNTAX, "\\u0000 is not allowed in a string");
    if (unit >= 0xd800 && unit <= 0xdfff) {
        if (unit >= 0xdc00 || parser->end - parser->p < 2 || memcmp(parser->p, "\\u", 2) != 0)
            return fail(parser, TL_SYNTAX, "half of a surrogate pair");
        parser->p += 2;
        status = parse_hex4(parser, &low);
        if (status != TL_OK)
            return status;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(parser, TL_SYNTAX, "half of a surrogate pair");
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    char bytes[4];
    tl_buf_add(&parser->text, bytes, tl_utf8_encode(unit, bytes));
    return TL_OK;
}

static enum tl_status parse_escape(struct parser *parser)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    if (take(parser, 'u'))
        return parse_unicode(parser);
    const char *name = parser->p < parser->end && *parser->p ? strchr(names, *parser->p) : NULL;
    if (!name)
        return fail_here(parser, "one of \"\\/bfnrtu after a backslash");
    tl_buf_add(&parser->text, &meant[name - names], 1);
    parser->p++;
    return TL_OK;
}

/* Of ASCII that stands for itself. */
static size_t plain_len(const struct parser *parser)
{
    const char *p = parser->p;
    while (p < parser->end && *p >= 0x20 && *p <= 0x7e && *p != '"' && *p != '\\')
        p++;
    return (size_t)(p - parser->p);
}

/* Reads a string, quotes and all, into parser->text. */
static enum tl_status parse_text(struct parser *parser)
{
    parser->text.len = 0;
    if (!take(parser, '"'))
        return fail_here(parser, "a string in double quotes");
    while (!take(parser, '"')) {
        if (take(parser, '\\')) {
            enum tl_status status = parse_escape(parser);
            if (status != TL_OK)
                return status;
            continue;
        }
        if (parser->p == parser->end || (unsigned char)*parser->p < 0x20)
            return fail_here(parser, "the end of a string");
        size_t used = plain_len(parser);
        if (!used)
            used = tl_utf8_decode(parser->p, (size_t)(parser->end - parser->p), NULL);
        if (!used)
            return fail(parser, TL_SYNTAX, "a byte that is not UTF-8");
        tl_buf_add(&parser->text, parser->p, used);
        parser->p += used;
    }
    return parser->text.status;
}

static enum tl_status parse_string(struct parser *parser, struct json_object **ret_value)
{
    enum tl_status status = parse_text(parser);
    if (status != TL_OK)
        return status;
    *ret_value = json_object_new_string_len(tl_buf_text(&parser->text), (int)parser->text.len);
    return *ret_value ? TL_OK : TL_NOMEM;
}

/* --- numbers (section 6) --- */

static bool take_digits(struct parser *parser)
{
    const char *first = parser->p;
    while (parser->p < parser->end && *parser->p >= '0' && *parser->p <= '9')
        parser->p++;
    return parser->p > first;
}

/* Moves over -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? */
static enum tl_status scan_number(struct parser *parser, bool *ret_integer)
{
    bool integer = true;
    take(parser, '-');
    if (take(parser, '0')) {
        if (parser->p < parser->end && *parser->p >= '0' && *parser->p <= '9')
            return fail(parser, TL_SYNTAX, "a number may not begin with 0");
    } else if (!take_digits(parser)) {
        return fail_here(parser, "a digit");
    }
    if (take(parser, '.')) {
        integer = false;
        if (!take_digits(parser))
            return fail_here(parser, "a digit after the decimal point");
    }
    if (take(parser, 'e') || take(parser, 'E')) {
        integer = false;
        if (!take(parser, '+'))
            take(parser, '-');
        if (!take_digits(parser))
            return fail_here(parser, "a digit in the exponent");
    }
    *ret_integer = integer;
    return TL_OK;
}

static enum tl_status parse_number(struct parser *parser, struct json_object **ret_value)
{
    const char *first = parser->p;
    bool integer = false;
    enum tl_status status = scan_number(parser, &integer);
    if (status != TL_OK)
        return status;
    size_t len = (size_t)(parser->p - first);
    char text[NUMBER_LEN_MAX + 1];
    if (len > NUMBER_LEN_MAX)
        return fail(parser, TL_LIMIT, "a number of more than %d characters", NUMBER_LEN_MAX);
    memcpy(text, first, len);
    text[len] = '\0';
    if (integer) {
        errno = 0;
        long long value = strtoll(text, NULL, 10);
        if (errno == ERANGE)
            return fail(parser, TL_RANGE, "%s does not fit 64 bits", text);
        *ret_value = json_object_new_int64(value);
    } else {
        double value = strtod_l(text, NULL, tl_json_locale());
        if (!isfinite(value))
            return fail(parser, TL_RANGE, "%s is too large a number", text);
        *ret_value = json_object_new_double(value);
    }
    return *ret_value ? TL_OK : TL_NOMEM;
}

/* --- arrays and objects (sections 4 and 5) --- */

static enum tl_status enter(struct parser *parser)
{
    if (parser->depth == parser->limits->depth_max)
        return fail(parser, TL_LIMIT, "nested deeper than %u levels", parser->limits->depth_max);
    parser->depth++;
    parser->p++;
    skip_space(parser);
    return TL_OK;
}

static void leave_place(struct parser *parser, size_t pointer_len)
{
    parser->pointer_len = pointer_len;
    parser->pointer[pointer_len] = '\0';
}

static enum tl_status parse_array(struct parser *parser, struct json_object **ret_value)
{
    enum tl_status status = enter(parser);
    if (status != TL_OK)
        return status;
    struct json_object *array = json_object_new_array_ext(4);
    if (!array)
        return TL_NOMEM;
    size_t outer = parser->pointer_len, index = 0;
    for (bool done = take(parser, ']'); !done && status == TL_OK; index++) {
        struct json_object *item = NULL;
        parser->pointer_len = tl_json_pointer_add_index(parser->pointer, outer, index);
        status = parse_value(parser, &item);
        if (status == TL_OK && json_object_array_add(array, item) != 0) {
            json_object_put(item);
            status = TL_NOMEM;
        }
        skip_space(parser);
        done = status == TL_OK && take(parser, ']');
        if (status == TL_OK && !done && !take(parser, ','))
            status = fail_here(parser, "',' or ']'");
        leave_place(parser, outer);
    }
    if (status != TL_OK) {
        json_object_put(array);
        return status;
    }
    parser->depth--;
    *ret_value = array;
    return TL_OK;
}

/* One "key": value, added to object. */
static enum tl_status parse_member(struct parser *parser, struct json_object *object)
{
    struct json_object *value = NULL;
    skip_space(parser);
    enum tl_status status = parse_text(parser);
    if (status != TL_OK)
        return status;
    char *key = tl_buf_steal(&parser->text); /* the value needs the buffer */
    if (!key)
        return TL_NOMEM;
    parser->pointer_len = tl_json_pointer_add_key(parser->pointer, parser->pointer_len, key);
    if (json_object_object_get_ex(object, key, NULL)) {
        status = fail(parser, TL_SYNTAX, "this key is there twice");
        goto out;
    }
    skip_space(parser);
    if (!take(parser, ':')) {
        status = fail_here(parser, "':'");
        goto out;
    }
    status = parse_value(parser, &value);
    if (status == TL_OK &&
        json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW) != 0) {
        json_object_put(value);
        status = TL_NOMEM;
    }
out:
    free(key);
    return status;
}

static enum tl_status parse_object(struct parser *parser, struct json_object **ret_value)
{
    enum tl_status status = enter(parser);
    if (status != TL_OK)
        return status;
    struct json_object *object = json_object_new_object();
    if (!object)
        return TL_NOMEM;
    size_t outer = parser->pointer_len;
    for (bool done = take(parser, '}'); !done && status == TL_OK;) {
        status = parse_member(parser, object);
        skip_space(parser);
        done = status == TL_OK && take(parser, '}');
        if (status == TL_OK && !done && !take(parser, ','))
            status = fail_here(parser, "',' or '}'");
        leave_place(parser, outer);
    }
    if (status != TL_OK) {
        json_object_put(object);
        return status;
    }
    parser->depth--;
    *ret_value = object;
    return TL_OK;
}

/* --- values (section 3) --- */

static bool take_word(struct parser *parser, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(parser->end - parser->p) < len || memcmp(parser->p, word, len) != 0)
        return false;
    parser->p += len;
    return true;
}

static enum tl_status parse_value(struct parser *parser, struct json_object **ret_value)
{
    if (++parser->values > parser->limits->values_max)
        return fail(parser, TL_LIMIT, "more than %zu values", parser->limits->values_max);
    skip_space(parser);
    char c = parser->p < parser->end ? *parser->p : '\0';
    if (c == '{')
        return parse_object(parser, ret_value);
    if (c == '[')
        return parse_array(parser, ret_value);
    if (c == '"')
        return parse_string(parser, ret_value);
    if (c == '-' || (c >= '0' && c <= '9'))
        return parse_number(parser, ret_value);
    if (take_word(parser, "null")) {
        *ret_value = NULL;
        return TL_OK;
    }
    bool truth = take_word(parser, "true");
    if (!truth && !take_word(parser, "false"))
        return fail_here(parser, "a value");
    *ret_value = json_object_new_boolean(truth);
    return *ret_value ? TL_OK : TL_NOMEM;
}

enum tl_status tl_json_parse(const char *text, size_t len, const struct tl_json_limits *limits,
                             struct tl_json **ret_doc, struct tl_error *reterr)
{
    assert(limits->depth_max <= TL_JSON_DEPTH_MAX);
    if (len > limits->bytes_max)
        return tl_error_set(reterr, TL_LIMIT, "the text is longer than %zu bytes",
                            limits->bytes_max);
    struct parser parser = {
        .start = text, .p = text, .end = text + len, .limits = limits, .reterr = reterr};
    struct json_object *root = NULL;
    struct tl_json *doc = NULL;
    enum tl_status status = parse_value(&parser, &root);
    if (status == TL_OK) {
        skip_space(&parser);
        if (parser.p < parser.end)
            status = fail_here(&parser, "the end of the text");
    }
    if (status == TL_OK && !(doc = malloc(sizeof *doc)))
        status = TL_NOMEM;
    if (status == TL_OK) {
        doc->root = root;
        *ret_doc = doc;
    } else {
        json_object_put(root);
    }
    if (status == TL_NOMEM)
        tl_error_set(reterr, status, "%s", tl_status_text(status));
    tl_buf_finish(&parser.text);
    return status;
}
