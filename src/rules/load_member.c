/* The members of a rule file: where a fault is told, and the small readers that all parts use. */
#include "load.h"

#include <stdarg.h>
#include <string.h>

#include "tightlink/base/utf8.h"

#define RULE_VALUES_MAX 8192 /* JSON values in one file; the largest rule here has some 300 */

const struct tl_json_limits tl_load_json_limits = {.bytes_max = TL_RULE_FILE_BYTES_MAX,
                                                   .values_max = RULE_VALUES_MAX,
                                                   .depth_max = TL_RULE_DEPTH_MAX};

void tl_load_fault(struct tl_load *load, const struct tl_error *error)
{
    if (load->errors++ == 0) {
        load->first = *error;
        tl_error_prefix(&load->first, "%s", load->file);
    }
    if (load->report)
        tl_buf_addf(load->report, "%s: %s\n", load->file, error->text);
}

void tl_load_fault_at(struct tl_load *load, const struct tl_json_at *at, enum tl_status status,
                      const char *fmt, ...)
{
    struct tl_error sentence, error;
    va_list args;
    va_start(args, fmt);
    (void)tl_error_setv(&sentence, status, fmt, args);
    va_end(args);
    (void)tl_json_error(at, &error, status, "%s", sentence.text);
    tl_load_fault(load, &error);
}

struct tl_json_at tl_load_member(const struct tl_json_at *object, const char *key)
{
    struct tl_json_at at = *object;
    (void)tl_json_find(object, key, &at);
    return at;
}

bool tl_load_is_printable(const char *text)
{
    size_t len = strlen(text), at = 0;
    while (at < len) {
        uint32_t character;
        size_t n = tl_utf8_decode(text + at, len - at, &character);
        if (n == 0 || !tl_utf8_is_printable(character))
            return false;
        at += n;
    }
    return true;
}

bool tl_load_string(struct tl_load *load, const struct tl_json_at *object, const char *key,
                    bool required, struct tl_json_at *ret_at, const char **ret_text)
{
    struct tl_error error;
    if (!tl_json_find(object, key, ret_at)) {
        if (required)
            tl_load_fault_at(load, object, TL_UNKNOWN, "the key \"%s\" is missing", key);
        return false;
    }
    if (tl_json_string(ret_at, ret_text, &error) != TL_OK) {
        tl_load_fault(load, &error);
        return false;
    }
    if (!tl_load_is_printable(*ret_text)) {
        tl_load_fault_at(load, ret_at, TL_SYNTAX, "a control or invisible character in a text");
        return false;
    }
    return true;
}

bool tl_load_text(struct tl_load *load, const struct tl_json_at *object, const char *key,
                  bool required, const char **ret_text)
{
    struct tl_json_at at;
    const char *text = NULL;
    if (!tl_load_string(load, object, key, required, &at, &text))
        return false;
    if (!*text || strlen(text) > TL_LOAD_TEXT_CHARS_MAX) {
        tl_load_fault_at(load, &at, TL_LIMIT, "1 to %d characters are expected",
                         TL_LOAD_TEXT_CHARS_MAX);
        return false;
    }
    *ret_text = tl_arena_strdup(load->arena, text);
    return *ret_text != NULL;
}

void tl_load_formula(struct tl_load *load, const struct tl_json_at *object, const char *key,
                     bool required, bool results, enum tl_unit unit, struct tl_formula *ret_formula)
{
    struct tl_error error;
    struct tl_json_at at;
    const char *text = NULL;
    if (!tl_load_string(load, object, key, required, &at, &text))
        return;
    enum tl_status status = tl_formula_compile(load->arena, &load->rule->scope, results, text,
                                               strlen(text), ret_formula, &error);
    if (status != TL_OK)
        tl_load_fault_at(load, &at, status, "%s", error.text);
    else if (ret_formula->unit != unit)
        tl_load_fault_at(load, &at, TL_SYNTAX, "%s is expected, \"%s\" is %s", tl_unit_name(unit),
                         ret_formula->text, tl_unit_name(ret_formula->unit));
}

bool tl_load_role(struct tl_load *load, const struct tl_json_at *object, const char *key,
                  enum tl_role *ret_role)
{
    const char *text = NULL;
    if (!tl_load_text(load, object, key, true, &text))
        return false;
    for (int i = TL_ROLE_RECEIVER; i < TL_ROLE_COUNT; i++) {
        if (strcmp(tl_role_name((enum tl_role)i), text) == 0) {
            *ret_role = (enum tl_role)i;
            return true;
        }
    }
    struct tl_json_at at = tl_load_member(object, key);
    tl_load_fault_at(load, &at, TL_UNKNOWN,
                     "\"%.40s\" is none of receiver sender path lan flow receiver-lan sender-lan",
                     text);
    return false;
}

bool tl_load_is_id(const char *text, bool name)
{
    size_t len = strspn(text, name ? "abcdefghijklmnopqrstuvwxyz0123456789_"
                                   : "abcdefghijklmnopqrstuvwxyz0123456789-");
    return len > 0 && len <= TL_LOAD_ID_CHARS_MAX && !text[len] && text[0] >= 'a';
}

bool tl_load_is_name(const char *text)
{
    static const char *const taken[] = {"true", "false", "fixed", "at_least", "aim"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(taken[i], text) == 0)
            return false;
    return tl_load_is_id(text, true) && strncmp(text, "ceiling", 7) != 0;
}
