/* Recorded answers of the kernel's interfaces, all the way: answer -> host record -> facts ->
 * rule -> verdict. make.py tells what lies in the folders. Reports in TAP. */
#include <dirent.h>
#include <ftw.h>
#include <linux/ethtool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../rules/case_file.h"
#include "counter_facts.h"
#include "counters.h"
#include "flow_facts.h"
#include "link.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/host_facts.h"

#define PATH_SIZE   4096
#define TEST_NS     (5 * TL_NS_PER_S)
#define STATS_MAX   64
#define CASES_LEAST 12 /* fewer: recordings were lost */

static const char *folder;

/* Makes the folders above a path. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

/* "== PATH", lines, an empty line: one file after the other. Paths are the recording's own and
 * stay below the folder: ".." is none of them. */
static bool unpack(const char *recording)
{
    FILE *from = fopen(recording, "re"), *to = NULL;
    char line[8192], path[PATH_SIZE];
    bool ok = from != NULL;

    while (ok && fgets(line, sizeof(line), from)) {
        if (!to && strncmp(line, "== ", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(path, sizeof(path), "%s/%.200s", folder, line + 3);
            make_folders(path);
            to = strstr(path, "..") ? NULL : fopen(path, "we");
            ok = to != NULL;
        } else if (to && strcmp(line, "\n") == 0) {
            ok = fclose(to) == 0;
            to = NULL;
        } else {
            ok = to && fputs(line, to) >= 0;
        }
    }
    if (to)
        fclose(to);
    if (from)
        fclose(from);
    return ok;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    return remove(path);
}

static const char *file_of(const char *name)
{
    static char path[PATH_SIZE];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static char *read_text(const char *name, size_t *ret_len)
{
    FILE *file = fopen(file_of(name), "rbe");
    char *text = file ? calloc(1, 1 << 18) : NULL;

    *ret_len = text ? fread(text, 1, (1 << 18) - 1, file) : 0;
    if (file)
        fclose(file);
    return text;
}

/* Gives a recorded message to a parser; a recording that is not there is passed over, since
 * the interface would not have answered either. */
static bool parse(const char *name, tl_netlink_parse_fn fn, void *context)
{
    static _Alignas(struct nlmsghdr) unsigned char message[16384];
    size_t len = 0, text_len;
    char *text = read_text(name, &text_len);
    bool ok;

    for (char *at = text; at && *at && len < sizeof(message);) {
        unsigned byte;

        if (*at == '\n') {
            at++;
        } else if (sscanf(at, "%2x", &byte) == 1) {
            message[len++] = (unsigned char)byte;
            at += 2;
        } else {
            break;
        }
    }
    ok = !text || (((struct nlmsghdr *)message)->nlmsg_len == len &&
                   fn((const struct nlmsghdr *)message, context));
    free(text);
    return ok;
}

/* "     rx_missed_errors: 15" becomes what ETHTOOL_GSTRINGS and ETHTOOL_GSTATS give. */
static void take_stats(const char *name, struct tl_host_counters *counters)
{
    static char names[STATS_MAX][ETH_GSTRING_LEN];
    uint64_t values[STATS_MAX];
    size_t count = 0, len;
    char *text = read_text(name, &len), *save = NULL;

    memset(names, 0, sizeof(names));
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && count < STATS_MAX;
         line = strtok_r(NULL, "\n", &save))
        if (sscanf(line, " %31[^:]: %lu", names[count], &values[count]) == 2)
            count++;
    tl_counters_take_nic(counters, names[0], values, count);
    free(text);
}

static bool read_settings(struct tl_host_settings *settings)
{
    char root[PATH_SIZE];
    struct tl_link_context link = {.settings = settings};
    bool ok = true;

    snprintf(root, sizeof(root), "%s", file_of("host"));
    tl_host_settings_init(settings);
    tl_host_settings_read_system(settings, root);
    ok &= parse("link-before.hex", tl_link_parse, &link);
    ok &= parse("linkmodes.hex", tl_ethtool_parse_linkmodes, settings);
    ok &= parse("features.hex", tl_ethtool_parse_features, settings);
    ok &= parse("rings.hex", tl_ethtool_parse_rings, settings);
    ok &= parse("pause.hex", tl_ethtool_parse_pause, settings);
    link.wireless = access(file_of("interface.hex"), R_OK) == 0;
    ok &= parse("interface.hex", tl_wireless_parse_interface, settings);
    ok &= parse("station-before.hex", tl_wireless_parse_station, settings);
    tl_link_settle(settings, &link);
    tl_link_read_queues(&link, root);
    return ok;
}

static bool read_counters(const char *when, struct tl_host_counters *counters)
{
    char root[PATH_SIZE], name[64];
    bool ok;

    snprintf(root, sizeof(root), "%s", file_of(when));
    tl_counters_begin(counters, 2);
    snprintf(name, sizeof(name), "link-%s.hex", when);
    ok = parse(name, tl_counters_parse_link, counters);
    snprintf(name, sizeof(name), "station-%s.hex", when);
    ok &= parse(name, tl_counters_parse_station, counters);
    snprintf(name, sizeof(name), "%s.stats", when);
    take_stats(name, counters);
    tl_counters_read_files(counters, root);
    return ok;
}

/* The facts of a thread are the case's own: they stay. */
static void read_processors(struct tl_facts *facts, enum tl_direction direction, enum tl_end end)
{
    static struct tl_cpu_reading before, after;
    char before_root[PATH_SIZE], after_root[PATH_SIZE];
    struct tl_cpu_reader reader;
    struct tl_cpu_usage usage;

    snprintf(before_root, sizeof(before_root), "%s", file_of("before"));
    snprintf(after_root, sizeof(after_root), "%s", file_of("after"));
    tl_cpu_reader_init(&reader, before_root);
    tl_cpu_reading_take(&reader, &before);
    tl_cpu_reader_init(&reader, after_root);
    tl_cpu_reading_take(&reader, &after);
    after.taken_ns = before.taken_ns + TEST_NS;
    tl_cpu_usage_between(&reader, &before, &after, &usage);
    tl_cpu_usage_clock(&reader, &usage);
    tl_flow_set_cpu(facts, direction, end, &usage,
                    tl_facts_number(facts, TL_END(direction, end, thread_cpu_ratio), 0),
                    tl_facts_number(facts, TL_END(direction, end, cpu_wait_ratio), 0));
}

/* The recorded host is this PC: the receiver of a download, the sender of an upload. */
static bool apply(struct tl_case *test)
{
    static struct tl_host_counters before, after;
    enum tl_end end = test->direction == TL_DOWNLOAD ? TL_RECEIVER : TL_SENDER;
    struct tl_host_settings settings;
    struct tl_host_counters_growth growth;
    bool ok = read_settings(&settings) && read_counters("before", &before) &&
              read_counters("after", &after);

    tl_host_facts_set(test->facts, TL_SCOPE_NEAR, &settings);
    tl_host_counters_between(&before, &after, &growth);
    tl_counter_facts_set(test->facts, test->direction, end, &growth);
    read_processors(test->facts, test->direction, end);
    tl_facts_derive(test->facts);
    return ok;
}

static bool run_case(const struct tl_rules *rules, struct tl_error *why)
{
    static const struct tl_json_limits limits = {1 << 20, 100000, 16};
    struct tl_findings *findings = NULL;
    struct tl_json *doc = NULL;
    struct tl_case test;
    size_t len;
    char *text = read_text("case.json", &len);
    bool ok = text && tl_json_parse(text, len, &limits, &doc, why) == TL_OK;

    if (ok) {
        struct tl_json_at root = tl_json_root(doc);

        ok = tl_case_read(&root, NULL, 0, &test, why) == TL_OK;
        if (ok) {
            if (!apply(&test)) {
                ok = false;
                (void)tl_error_set(why, TL_PROTOCOL, "a recorded answer was not understood");
            }
            ok = ok && tl_rules_judge(rules, test.facts, &test.question, &findings, why) == TL_OK &&
                 tl_case_holds(&test, findings, why);
            if (!ok && findings)
                printf("# %s\n", findings->verdict.sentence);
            tl_findings_destroy(findings);
            tl_case_finish(&test);
        }
    }
    tl_json_destroy(doc);
    free(text);
    return ok;
}

static int is_case(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".rec") == 0;
}

int main(int argc, char **argv)
{
    struct tl_rules *rules = NULL;
    struct tl_error why = {.text = ""};
    struct dirent **entries = NULL;
    char path[PATH_SIZE];
    int count, failed = 0;

    if (argc != 2 || (count = scandir(argv[1], &entries, is_case, alphasort)) < 0) {
        fprintf(stderr, "usage: recorded FOLDER\n");
        return 2;
    }
    if (tl_rules_load_builtin(&rules, &why) != TL_OK) {
        printf("Bail out! %s\n", why.text);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char temporary[] = "/tmp/tl-recorded-XXXXXX";
        bool ok;

        why.text[0] = '\0';
        snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
        folder = mkdtemp(temporary);
        ok = folder && unpack(path) && run_case(rules, &why);
        if (folder)
            nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        printf("%sok %d - %s\n%s%s%s", ok ? "" : "not ", i + 1, entries[i]->d_name, ok ? "" : "# ",
               ok ? "" : why.text, ok ? "" : "\n");
        failed += !ok;
        free(entries[i]);
    }
    free(entries);
    printf("%sok %d - all recordings are there\n1..%d\n", count >= CASES_LEAST ? "" : "not ",
           count + 1, count + 1);
    tl_rules_destroy(rules);
    return failed > 0 || count < CASES_LEAST;
}
