/* A remedy's text into settings; setting them, and setting them back. */
#include <string.h>
#include <unistd.h>

#include "setting.h"

static enum tl_status by_hand(struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED,
                        "this is done by hand: only plain \"sysctl -w\" of known settings, and a "
                        "route's congestion control, is applied by tightlink");
}

/* KEY=VALUE or KEY="VALUE" at *text; goes on to what follows it. */
static enum tl_status take_assignment(const char **text, struct tl_fix *fix,
                                      struct tl_error *reterr)
{
    const char *key = *text, *value;
    size_t key_len = strcspn(key, "= "), len;
    if (key[key_len] != '=')
        return by_hand(reterr);
    const struct tl_setting_def *def = tl_setting_find(key, key_len);
    if (!def)
        return tl_error_set(reterr, TL_UNSUPPORTED,
                            "%.*s is no setting that tightlink changes by itself",
                            (int)(key_len < 60 ? key_len : 60), key);
    value = key + key_len + 1;
    bool quoted = *value == '"';
    value += quoted;
    len = strcspn(value, quoted ? "\"" : " ");
    if (quoted && value[len] != '"')
        return by_hand(reterr);
    *text = value + len + quoted;
    if (**text && **text != ' ')
        return by_hand(reterr);
    *text += strspn(*text, " ");
    if (fix->count == TL_FIX_SETTINGS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d settings at once", TL_FIX_SETTINGS_MAX);
    for (size_t i = 0; i < fix->count; i++)
        if (fix->settings[i].key == def->key)
            return tl_error_set(reterr, TL_LIMIT, "%s is set twice", def->key);
    struct tl_fix_setting *setting = &fix->settings[fix->count];
    enum tl_status status = tl_setting_normalise(def, value, len, true, setting->after, reterr);
    if (status == TL_OK) {
        setting->key = def->key;
        fix->count++;
    }
    return status;
}

/* "ip route replace ADDRESS ...": the rest is the setting's value. */
static enum tl_status take_route(const char *value, struct tl_fix *fix, struct tl_error *reterr)
{
    struct tl_fix_setting *setting = &fix->settings[fix->count];
    const struct tl_setting_def *def =
        tl_setting_find(TL_SETTING_ROUTE, sizeof TL_SETTING_ROUTE - 1);
    if (fix->count == TL_FIX_SETTINGS_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d settings at once", TL_FIX_SETTINGS_MAX);
    if (tl_setting_normalise(def, value, strlen(value), true, setting->after, NULL) != TL_OK)
        return by_hand(reterr); /* a lock of the MTU, a name in the address's place ... */
    setting->key = def->key;
    fix->count++;
    return TL_OK;
}

enum tl_status tl_fix_parse(const char *command, struct tl_fix *fix, struct tl_error *reterr)
{
    static const char start[] = "sysctl -w ", route[] = "ip route replace ";
    if (strncmp(command, route, sizeof route - 1) == 0)
        return take_route(command + sizeof route - 1, fix, reterr);
    struct tl_fix changed = *fix;
    const char *text = command + sizeof start - 1;
    if (strncmp(command, start, sizeof start - 1) != 0 || !*text)
        return by_hand(reterr);
    while (*text) {
        enum tl_status status = take_assignment(&text, &changed, reterr);
        if (status != TL_OK)
            return status;
    }
    *fix = changed;
    return TL_OK;
}

/* What a rule or a file asks for, held against this kernel and this machine. */
static enum tl_status check_change(const struct tl_setting_def *def, struct tl_fix_setting *setting,
                                   long long memory_bytes, struct tl_error *reterr)
{
    tl_setting_keep_start(def, setting->before, setting->after);
    if (strcmp(setting->before, setting->after) == 0)
        return TL_OK;
    if (tl_setting_exceeds_memory(def, setting->after, memory_bytes))
        return tl_error_set(reterr, TL_RANGE,
                            "%s is not set to %s: that may take more than 1/%u of this machine's "
                            "memory (%lld MiB)",
                            setting->key, setting->after, def->part, memory_bytes >> 20);
    if (tl_setting_leaps(def, setting->before, setting->after))
        return tl_error_set(reterr, TL_RANGE,
                            "%s is %s now; tightlink does not make it %s, more than %u times that: "
                            "was the run made on another host?",
                            setting->key, setting->before, setting->after, def->times);
    if (def->raise_only && tl_setting_lowers(def, setting->before, setting->after))
        return tl_error_set(reterr, TL_RANGE,
                            "%s is %s now; tightlink does not lower it to %s: was the run saved "
                            "before a change?",
                            setting->key, setting->before, setting->after);
    return TL_OK;
}

enum tl_status tl_fix_read(struct tl_fix *fix, struct tl_error *reterr)
{
    size_t kept = 0;
    long long memory_bytes = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < fix->count; i++) {
        struct tl_fix_setting *setting = &fix->settings[i];
        const struct tl_setting_def *def = tl_setting_find(setting->key, strlen(setting->key));
        enum tl_status status =
            tl_setting_get(fix->root, setting->key, setting->after, setting->before, reterr);
        if (status != TL_OK)
            return status;
        status = check_change(def, setting, memory_bytes, reterr);
        if (status != TL_OK)
            return status;
        if (strcmp(setting->before, setting->after) != 0)
            fix->settings[kept++] = *setting;
    }
    fix->count = kept;
    return TL_OK;
}

/* Writes and reads back. */
static enum tl_status put(const char *root, const char *key, const char *value,
                          struct tl_error *reterr)
{
    char now[TL_FIX_VALUE_SIZE];
    enum tl_status status = tl_setting_set(root, key, value, reterr);
    if (status == TL_OK)
        status = tl_setting_get(root, key, value, now, reterr);
    if (status == TL_OK && strcmp(now, value) != 0)
        status = tl_error_set(reterr, TL_RANGE, "the kernel made \"%s\" of %s = \"%s\"", now, key,
                              value);
    return status;
}

enum tl_status tl_fix_apply(const struct tl_fix *fix, tl_fix_step *step, void *context,
                            struct tl_error *reterr)
{
    struct tl_error error, ignored;
    for (size_t i = 0; i < fix->count; i++) {
        const struct tl_fix_setting *setting = &fix->settings[i];
        enum tl_status status = put(fix->root, setting->key, setting->after, &error);
        if (status == TL_OK) {
            if (step)
                step("set", setting->key, context);
            continue;
        }
        /* The kernel may have taken another value than ours: back by force. */
        bool back = true;
        for (size_t k = 0; k <= i; k++)
            back &=
                put(fix->root, fix->settings[k].key, fix->settings[k].before, &ignored) == TL_OK;
        return tl_error_set(reterr, status, "%s%s", error.text,
                            back ? "; everything is as it was"
                                 : "; and not all could be set back: see tightlink fix --undo");
    }
    return TL_OK;
}

enum tl_status tl_fix_restore(const struct tl_fix *fix, tl_fix_step *step, void *context,
                              struct tl_error *reterr)
{
    enum tl_status result = TL_OK;
    for (size_t i = fix->count; i-- > 0;) {
        const struct tl_fix_setting *setting = &fix->settings[i];
        char now[TL_FIX_VALUE_SIZE];
        struct tl_error error;
        enum tl_status status =
            tl_setting_get(fix->root, setting->key, setting->after, now, &error);
        if (status == TL_OK && strcmp(now, setting->before) == 0)
            continue;
        if (status == TL_OK && strcmp(now, setting->after) != 0)
            status = tl_error_set(&error, TL_BUSY,
                                  "%s is %s, which is neither what tightlink set (%s) nor what was "
                                  "there before (%s): left alone",
                                  setting->key, now, setting->after, setting->before);
        if (status == TL_OK)
            status = put(fix->root, setting->key, setting->before, &error);
        if (status == TL_OK && step)
            step("restored", setting->key, context);
        if (status != TL_OK && result == TL_OK)
            result = tl_error_set(reterr, status, "%s", error.text);
    }
    return result;
}
