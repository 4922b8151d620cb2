/* Where rules come from: compiled in, or the files of a directory. */
#include "source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "either.h"

#define DIRECTORY_DEPTH_MAX 8 /* rules/<family>/<id>.json is 2 */

static int compare_rules(const void *left, const void *right)
{
    const struct tl_rule *a = *(struct tl_rule *const *)left;
    const struct tl_rule *b = *(struct tl_rule *const *)right;
    return strcmp(a->id, b->id);
}

void tl_source_sort(struct tl_rules *rules)
{
    if (rules->count > 1)
        qsort(rules->rules, rules->count, sizeof(struct tl_rule *), compare_rules);
}

static bool make_room(struct tl_rules *rules)
{
    if (rules->count < rules->capacity)
        return true;
    size_t capacity = rules->capacity ? rules->capacity * 2 : 32;
    struct tl_rule **grown = TL_ARENA_ARRAY(&rules->arena, capacity, struct tl_rule *);
    if (!grown)
        return false;
    if (rules->count)
        memcpy(grown, rules->rules, rules->count * sizeof(struct tl_rule *));
    rules->rules = grown;
    rules->capacity = capacity;
    return true;
}

static void count_faults(struct tl_source *source, const struct tl_load *load)
{
    if (load->errors && source->errors == 0)
        source->first = load->first;
    source->errors += load->errors;
}

static void note_fault(struct tl_source *source, const char *file, const struct tl_error *error)
{
    struct tl_load load = {.file = file, .report = source->report};
    tl_load_fault(&load, error);
    count_faults(source, &load);
}

/* Whether the rule still fits beside what the others take. */
static bool may_cost(struct tl_load *load, uint64_t others)
{
    struct tl_error error;
    if (load->rule->scope.cost <= TL_RULES_COST_MAX - others)
        return true;
    (void)tl_error_set(&error, TL_LIMIT,
                       "with this one the formulas of all rules take more than %d operations",
                       TL_RULES_COST_MAX);
    tl_load_fault(load, &error);
    return false;
}

/* Loads one rule; adds it if it is sound. end: of a rule for either, else NULL. */
static bool add_one(struct tl_source *source, const char *file, const char *end, const char *text,
                    size_t len)
{
    struct tl_rules *rules = source->rules;
    struct tl_load load = {.arena = &rules->arena,
                           .rule = TL_ARENA_NEW(&rules->arena, struct tl_rule),
                           .file = file,
                           .end = end,
                           .shared = source->shared,
                           .report = source->report,
                           .may_disable = source->may_disable};
    struct tl_error error;
    if (!load.rule)
        (void)tl_error_set(&error, TL_NOMEM, "out of memory");
    else if (rules->count == TL_RULE_COUNT_MAX)
        (void)tl_error_set(&error, TL_LIMIT, "more than %d rules", TL_RULE_COUNT_MAX);
    else
        error.status = TL_OK;
    if (error.status != TL_OK)
        tl_load_fault(&load, &error);
    else if (tl_load_rule(&load, text, len) && may_cost(&load, rules->cost) && make_room(rules)) {
        rules->cost += load.rule->scope.cost;
        rules->rules[rules->count++] = load.rule;
    }
    count_faults(source, &load);
    return load.errors == 0;
}

/* Both rules of a file for either end; the second only where the first is sound, so that one fault
 * is not told twice. */
static void add_both(struct tl_source *source, const char *file, const struct tl_json *doc)
{
    bool sound = true;
    for (size_t i = 0; i < TL_ENDS && sound; i++) {
        struct tl_buf text = TL_BUF_INIT;
        struct tl_error error;
        sound = tl_either_write(doc, tl_ends[i], &text, &error) == TL_OK;
        if (sound)
            sound = add_one(source, file, tl_ends[i], tl_buf_text(&text), text.len);
        else
            note_fault(source, file, &error);
        tl_buf_finish(&text);
    }
}

/* The rules of one text. */
static void add_rule(struct tl_source *source, const char *file, const char *text, size_t len)
{
    struct tl_json *doc = NULL;
    if (tl_json_parse(text, len, &tl_load_json_limits, &doc, NULL) == TL_OK && tl_either_asks(doc))
        add_both(source, file, doc);
    else
        (void)add_one(source, file, NULL, text, len); /* which tells the faults of its text */
    tl_json_destroy(doc);
}

/* The definitions for all rules: the program's, and then a folder's own. */
static void add_shared(struct tl_source *source, const char *file, const char *text, size_t len,
                       bool is_own)
{
    struct tl_load load = {.arena = &source->rules->arena, .file = file, .report = source->report};
    load.shared = source->shared;
    if (source->shared)
        tl_shared_add(source->shared, &load, text, len, is_own);
    count_faults(source, &load);
}

static void begin(struct tl_source *source)
{
    source->shared = tl_shared_create(&source->rules->arena);
    source->rules->arena.failed |= !source->shared;
    add_shared(source, tl_builtin_shared.path, tl_builtin_shared.text, tl_builtin_shared.len,
               false);
}

static void end(struct tl_source *source)
{
    tl_shared_destroy(source->shared);
    source->shared = NULL;
}

/* Sorts by id, which also brings double ids together. */
static void finish_set(struct tl_source *source)
{
    struct tl_rules *rules = source->rules;
    tl_source_sort(rules);
    for (size_t i = 1; i < rules->count; i++) {
        const struct tl_rule *rule = rules->rules[i], *other = rules->rules[i - 1];
        struct tl_error error;
        if (strcmp(rule->id, other->id) != 0)
            continue;
        (void)tl_error_set(&error, TL_SYNTAX, "/id: the rule \"%s\" stands in %s too", rule->id,
                           other->file);
        note_fault(source, rule->file, &error);
    }
}

/* Reads a regular file of at most TL_RULE_FILE_BYTES_MAX; never waits on a pipe. */
static enum tl_status read_file(int directory, const char *name, struct tl_buf *out,
                                struct tl_error *reterr)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    enum tl_status status = TL_OK;
    char piece[16384];
    ssize_t n = 0;
    if (fd < 0)
        return tl_error_set(reterr, tl_status_from_errno(errno), "%s", strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = tl_error_set(reterr, TL_IO, "not a regular file");
    while (status == TL_OK && (n = read(fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno != EINTR)
            status = tl_error_set(reterr, TL_IO, "%s", strerror(errno));
        else if (n > 0)
            tl_buf_add(out, piece, (size_t)n);
        if (out->len > TL_RULE_FILE_BYTES_MAX)
            status = tl_error_set(reterr, TL_LIMIT, "larger than %d bytes", TL_RULE_FILE_BYTES_MAX);
    }
    close(fd);
    if (status == TL_OK && out->status != TL_OK)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    return status;
}

/* A rule's file, or the folder's own shared.json, which stands at its top and was read before. A
 * file that holds no rule takes memory for its faults, too. */
static enum tl_status add_file(struct tl_source *source, int directory, const char *name,
                               const char *path, struct tl_error *reterr)
{
    struct tl_buf text = TL_BUF_INIT;
    struct tl_error error;
    if (strcmp(path, TL_SHARED_FILE) == 0)
        return TL_OK;
    if (source->files++ == TL_RULE_COUNT_MAX)
        return tl_error_set(reterr, TL_LIMIT, "more than %d files of rules", TL_RULE_COUNT_MAX);
    if (read_file(directory, name, &text, &error) == TL_OK)
        add_rule(source, path, tl_buf_text(&text), text.len);
    else
        note_fault(source, path, &error);
    tl_buf_finish(&text);
    return TL_OK;
}

static bool ends_in_json(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".json") == 0;
}

static enum tl_status add_directory(struct tl_source *source, int parent, const char *name,
                                    const char *prefix, unsigned depth, struct tl_error *reterr);

/* One entry: a folder, a rule file, or something that is none of ours. */
static enum tl_status add_entry(struct tl_source *source, int directory, const char *name,
                                const char *prefix, unsigned depth, struct tl_error *reterr)
{
    struct stat info;
    enum tl_status status = TL_OK;
    if (name[0] == '.' || fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return TL_OK;
    struct tl_buf path = TL_BUF_INIT;
    tl_buf_addf(&path, "%s%s", prefix, name);
    if (S_ISDIR(info.st_mode)) {
        tl_buf_adds(&path, "/");
        status = add_directory(source, directory, name, tl_buf_text(&path), depth + 1, reterr);
    } else if (S_ISREG(info.st_mode) && ends_in_json(name)) {
        status = add_file(source, directory, name, tl_buf_text(&path), reterr);
    }
    tl_buf_finish(&path);
    return status;
}

/* Entries in the order of their names, so that the first error is the same everywhere. */
static enum tl_status add_directory(struct tl_source *source, int parent, const char *name,
                                    const char *prefix, unsigned depth, struct tl_error *reterr)
{
    struct dirent **entries = NULL;
    if (depth > DIRECTORY_DEPTH_MAX)
        return tl_error_set(reterr, TL_LIMIT, "%s: folders nested deeper than %d", prefix,
                            DIRECTORY_DEPTH_MAX);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int count = fd < 0 ? -1 : scandirat(fd, ".", &entries, NULL, alphasort);
    if (count < 0) {
        int errnum = errno;
        if (fd >= 0)
            close(fd);
        return tl_error_set(reterr, tl_status_from_errno(errnum), "%s: %s", *prefix ? prefix : name,
                            strerror(errnum));
    }
    enum tl_status status = TL_OK;
    for (int i = 0; i < count; i++) {
        if (status == TL_OK)
            status = add_entry(source, fd, entries[i]->d_name, prefix, depth, reterr);
        free(entries[i]);
    }
    free(entries);
    close(fd);
    return status;
}

/* The folder's own definitions, if it has any. */
static void add_own_shared(struct tl_source *source, const char *path)
{
    struct tl_buf text = TL_BUF_INIT;
    struct tl_error error;
    struct stat info;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fstatat(fd, TL_SHARED_FILE, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        if (read_file(fd, TL_SHARED_FILE, &text, &error) == TL_OK)
            add_shared(source, TL_SHARED_FILE, tl_buf_text(&text), text.len, true);
        else
            note_fault(source, TL_SHARED_FILE, &error);
    }
    if (fd >= 0)
        close(fd);
    tl_buf_finish(&text);
}

enum tl_status tl_source_directory(struct tl_source *source, const char *path,
                                   struct tl_error *reterr)
{
    begin(source);
    add_own_shared(source, path);
    enum tl_status status = add_directory(source, AT_FDCWD, path, "", 1, reterr);
    if (status == TL_OK)
        finish_set(source);
    if (status == TL_OK && source->check_used && source->shared) {
        struct tl_load load = {.file = TL_SHARED_FILE, .report = source->report};
        tl_shared_check_used(source->shared, &load);
        count_faults(source, &load);
    }
    end(source);
    return status;
}

static struct tl_rules *create_set(void)
{
    return calloc(1, sizeof(struct tl_rules));
}

/* Hands the set over, or names the first fault. */
static enum tl_status conclude(struct tl_source *source, enum tl_status status,
                               struct tl_rules **ret_rules, struct tl_error *reterr)
{
    if (status == TL_OK && source->errors) {
        status = source->first.status;
        (void)tl_error_set(reterr, status, "%s", source->first.text);
    }
    if (status == TL_OK && source->rules->arena.failed)
        status = tl_error_set(reterr, TL_NOMEM, "out of memory");
    if (status != TL_OK) {
        tl_rules_destroy(source->rules);
        return status;
    }
    *ret_rules = source->rules;
    return TL_OK;
}

enum tl_status tl_rules_load_directory(const char *path, struct tl_rules **ret_rules,
                                       struct tl_error *reterr)
{
    struct tl_source source = {.rules = create_set()};
    if (!source.rules)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = tl_source_directory(&source, path, reterr);
    if (status == TL_OK && !source.errors && source.rules->count == 0)
        status = tl_error_set(reterr, TL_UNKNOWN, "%s: there is no rule in it", path);
    return conclude(&source, status, ret_rules, reterr);
}

enum tl_status tl_rules_load_builtin(struct tl_rules **ret_rules, struct tl_error *reterr)
{
    struct tl_source source = {.rules = create_set()};
    if (!source.rules)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    begin(&source);
    for (size_t i = 0; i < tl_builtin_file_count; i++)
        add_rule(&source, tl_builtin_files[i].path, tl_builtin_files[i].text,
                 tl_builtin_files[i].len);
    finish_set(&source);
    end(&source);
    return conclude(&source, TL_OK, ret_rules, reterr);
}

void tl_rules_destroy(struct tl_rules *rules)
{
    if (!rules)
        return;
    tl_rules_destroy(rules->own);
    tl_arena_finish(&rules->arena);
    free(rules);
}

void tl_rules_version(const struct tl_rules *rules, char ret_text[TL_RULES_VERSION_SIZE])
{
    uint64_t sum = 0; /* of the files' digests: no order */
    for (size_t i = 0; i < rules->count; i++)
        sum += rules->rules[i]->digest;
    snprintf(ret_text, TL_RULES_VERSION_SIZE, "%zu rules, %016" PRIx64, rules->count, sum);
}

size_t tl_rules_count(const struct tl_rules *rules)
{
    return rules->count;
}

const char *tl_rules_id_at(const struct tl_rules *rules, size_t index)
{
    return rules->rules[index]->id;
}

const char *tl_rules_cause_at(const struct tl_rules *rules, size_t index)
{
    return rules->rules[index]->cause;
}

const char *tl_rules_title_at(const struct tl_rules *rules, size_t index)
{
    return rules->rules[index]->title;
}
