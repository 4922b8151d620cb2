/* Prints every remedy that the cases of the rules bring, one JSON object a line, for the test
 * that runs them (run_remedies.py). Each case is judged several times, with what a host may
 * tell of its interface and route beside the case's own facts, so that each variant of a
 * remedy comes up.
 *
 *     print-remedies CASES-FOLDER RULES-FOLDER */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_file.h"

static struct tl_json *bases;

/* What hosts tell; numbers are NAN for a text. */
static const struct {
    enum tl_fact_name fact;
    const char *text;
    double number;
} always[] = {
    {TL_FACT_HOST_link_name, "eno1", NAN},         {TL_FACT_HOST_link_card_name, "eno1", NAN},
    {TL_FACT_HOST_route_peer, "10.77.2.2", NAN},   {TL_FACT_HOST_route_via, "10.77.1.1", NAN},
    {TL_FACT_HOST_cc_current, "cubic", NAN},       {TL_FACT_HOST_link_tx_queues_count, NULL, 4},
    {TL_FACT_HOST_link_channels_count, NULL, 1},   {TL_FACT_HOST_link_channels_max_count, NULL, 4},
    {TL_FACT_HOST_netdev_budget_count, NULL, 300}, {TL_FACT_HOST_netdev_budget_usecs, NULL, 8000},
    {TL_FACT_HOST_cpu_cores_count, NULL, 4},
};
static const struct variant {
    const char *qdisc;
    bool over_router, tuned;
} variants[] = {{"pfifo_fast", true, true}, {"mq", false, true}, {"htb", true, false}};

static void set_host(struct tl_facts *facts, enum tl_scope scope, const struct variant *variant)
{
    struct tl_fact fact;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        struct tl_fact_key key = TL_KEY(scope, always[i].fact);
        tl_facts_get(facts, key, &fact);
        if (fact.state == TL_FACT_KNOWN && always[i].fact != TL_FACT_HOST_link_name)
            continue;
        if (always[i].text)
            tl_facts_set_text(facts, key, always[i].text, "");
        else
            tl_facts_set_number(facts, key, always[i].number, "");
    }
    tl_facts_set_text(facts, TL_HOST(scope, link_qdisc), variant->qdisc, "");
    tl_facts_set_bool(facts, TL_HOST(scope, route_gateway), variant->over_router, "");
    tl_facts_set_bool(facts, TL_HOST(scope, tcp_moderate_rcvbuf), variant->tuned, "");
}

static void print_text(const char *key, const char *text)
{
    printf(", \"%s\": \"", key);
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            putchar('\\');
        putchar(*p);
    }
    putchar('"');
}

static void print_finding(const struct tl_finding *finding)
{
    for (size_t i = 0; i < finding->remedy_count; i++) {
        const struct tl_remedy *remedy = &finding->remedies[i];
        printf("{\"rule\": \"%s\", \"os\": \"%s\", \"needs\": \"%s\"", finding->rule, remedy->os,
               remedy->needs);
        print_text("do", remedy->does);
        print_text("undo", remedy->undo);
        print_text("persist", remedy->persist);
        puts("}");
    }
}

static void judge(const struct tl_rules *rules, const struct tl_json_at *file, size_t index,
                  const struct variant *variant)
{
    struct tl_case test;
    struct tl_error why = {.text = ""};
    struct tl_findings *findings = NULL;
    if (tl_case_read(file, bases, index, &test, &why) != TL_OK)
        return; /* rule-cases says what is wrong with it */
    set_host(test.facts, TL_SCOPE_NEAR, variant);
    set_host(test.facts, TL_SCOPE_FAR, variant);
    if (tl_rules_judge(rules, test.facts, &test.question, &findings, &why) == TL_OK)
        for (size_t i = 0; i < findings->finding_count; i++)
            if (findings->findings[i].result == TL_FOUND)
                print_finding(&findings->findings[i]);
    tl_findings_destroy(findings);
    tl_case_finish(&test);
}

static void print_file(const struct tl_rules *rules, const char *folder, const char *name)
{
    struct tl_json *doc = NULL;
    struct tl_error why;
    if (tl_case_open(folder, name, &doc, &why) != TL_OK)
        return;
    struct tl_json_at root = tl_json_root(doc), cases;
    if (tl_json_get_array(&root, "cases", &cases, &why) == TL_OK)
        for (size_t i = 0; i < tl_json_count(&cases); i++)
            for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
                judge(rules, &root, i, &variants[v]);
    tl_json_destroy(doc);
}

int main(int argc, char **argv)
{
    struct tl_rules *rules = NULL;
    struct tl_error why = {.text = ""};
    DIR *folder = argc == 3 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: print-remedies CASES-FOLDER RULES-FOLDER\n");
        return 2;
    }
    if (tl_rules_load_directory(argv[2], &rules, &why) != TL_OK ||
        tl_case_open(argv[1], TL_CASE_BASES, &bases, &why) != TL_OK) {
        fprintf(stderr, "print-remedies: %s\n", why.text);
        return 1;
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        size_t len = strlen(entry->d_name);
        if (len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0 &&
            strcmp(entry->d_name, TL_CASE_BASES) != 0)
            print_file(rules, argv[1], entry->d_name);
    }
    closedir(folder);
    tl_json_destroy(bases);
    tl_rules_destroy(rules);
    return 0;
}
