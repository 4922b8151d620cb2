/* The store: what is set comes back, what is not known says why. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#include "../key_of.h"
#include "tightlink/facts/facts.h"

static struct tl_facts *facts;

static void set_up(void)
{
    facts = tl_facts_create();
    cr_assert(facts);
}

static void tear_down(void)
{
    tl_facts_destroy(facts);
}

TestSuite(store, .init = set_up, .fini = tear_down);

static struct tl_fact get(const char *id)
{
    struct tl_fact fact;
    tl_facts_get(facts, key_of(id), &fact);
    return fact;
}

Test(store, everything_begins_unknown)
{
    struct tl_fact fact = get("download.goodput_bps");
    cr_expect(fact.state == TL_FACT_UNKNOWN && fact.unit == TL_UNIT_BPS);
    cr_expect_str_eq(fact.reason, "not measured");
    cr_expect_str_eq(fact.stage, "stream");
    cr_expect(tl_facts_number(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), -1) == -1);
}

Test(store, values_of_every_kind_come_back)
{
    char text[] = "cubic";
    tl_facts_set_number(facts, TL_NEAR(tcp_rmem_max_bytes), 6291456, NULL);
    tl_facts_set_range(facts, TL_FLOW(TL_UPLOAD, retrans_ratio), 0.001, 0.0005, 0.002, "TCP_INFO");
    tl_facts_set_bool(facts, TL_FAR(tcp_sack), true, "");
    tl_facts_set_text(facts, TL_FLOW(TL_DOWNLOAD, cc), text, "");
    memset(text, 'x', 5); /* the store has its own copy */
    struct tl_fact fact = get("upload.retrans_ratio");
    cr_expect(fact.state == TL_FACT_KNOWN && fact.number == 0.001);
    cr_expect(fact.low == 0.0005 && fact.high == 0.002);
    cr_expect_str_eq(fact.method, "TCP_INFO");
    fact = get("near.tcp_rmem_max_bytes");
    cr_expect(fact.number == 6291456 && fact.low == fact.number && fact.high == fact.number);
    cr_expect(get("far.tcp_sack").number == 1);
    cr_expect_str_eq(get("download.cc").text, "cubic");
    cr_expect(get("far.tcp_rmem_max_bytes").state == TL_FACT_UNKNOWN,
              "the other host's is its own");
    cr_expect(get("download.retrans_ratio").state == TL_FACT_UNKNOWN);
    cr_expect(tl_facts_status(facts, NULL) == TL_OK);
}

Test(store, a_later_value_replaces_an_earlier_one_whole)
{
    tl_facts_set_range(facts, TL_PATH(rtt_idle_ns), 42e6, 41e6, 43e6, "udp echo");
    tl_facts_set_unknown(facts, TL_PATH(rtt_idle_ns), "no answer in %d probes", 10);
    struct tl_fact fact = get("path.rtt_idle_ns");
    cr_expect(fact.state == TL_FACT_UNKNOWN);
    cr_expect_str_eq(fact.reason, "no answer in 10 probes");
    cr_expect_str_eq(fact.method, "");
    tl_facts_set_number(facts, TL_PATH(rtt_idle_ns), 40e6, NULL);
    fact = get("path.rtt_idle_ns");
    cr_expect(fact.state == TL_FACT_KNOWN && fact.high == 40e6);
    cr_expect_str_eq(fact.reason, "");
}

Test(store, what_is_not_finite_is_unknown)
{
    tl_facts_set_number(facts, TL_PATH(rtt_idle_ns), (double)NAN, NULL);
    cr_expect_str_eq(get("path.rtt_idle_ns").reason, "not a number");
    tl_facts_set_number(facts, TL_PATH(rtt_idle_ns), (double)INFINITY, NULL);
    cr_expect(get("path.rtt_idle_ns").state == TL_FACT_UNKNOWN);
    tl_facts_set_range(facts, TL_PATH(rtt_idle_ns), 5, (double)NAN, 4, NULL);
    struct tl_fact fact = get("path.rtt_idle_ns");
    cr_expect(fact.number == 5 && fact.low == 5 && fact.high == 5);
}

Test(store, ids_from_files_may_be_wrong)
{
    static const char *const wrong[] = {"",        "near",        "near.",     "near.goodput_bps",
                                        "path.cc", "download.os", "sender.os", "nearx.os",
                                        ".os",     "far.oss"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tl_fact_key key;
        cr_expect(!tl_fact_id_parse(wrong[i], &key), "%s", wrong[i]);
    }
}

Test(store, setting_a_fact_at_a_place_that_has_none_is_our_bug, .signal = SIGABRT)
{
    tl_facts_set_number(facts, TL_KEY(TL_SCOPE_NEAR, TL_FACT_FLOW_goodput_bps), 1, NULL);
}

Test(store, setting_a_value_of_the_wrong_kind_is_our_bug, .signal = SIGABRT)
{
    tl_facts_set_number(facts, TL_NEAR(os), 1, NULL);
}

Test(store, a_clone_is_equal_and_independent)
{
    tl_facts_set_text(facts, TL_NEAR(os), "linux", "uname");
    tl_facts_set_unknown(facts, TL_FAR(os), "far end too old");
    struct tl_facts *clone = tl_facts_clone(facts);
    tl_facts_set_text(facts, TL_NEAR(os), "plan9", NULL);
    struct tl_fact fact;
    tl_facts_get(clone, TL_NEAR(os), &fact);
    cr_expect_str_eq(fact.text, "linux");
    cr_expect_str_eq(fact.method, "uname");
    tl_facts_get(clone, TL_FAR(os), &fact);
    cr_expect_str_eq(fact.reason, "far end too old");
    tl_facts_destroy(clone);
}

/* What another stage measured meanwhile stays, what was never set takes nothing away. */
Test(store, facts_of_a_stage_beside_are_taken_over)
{
    struct tl_facts *beside = tl_facts_create();
    struct tl_fact fact;
    tl_facts_set_text(facts, TL_NEAR(os), "linux", "uname");
    tl_facts_set_number(facts, TL_PATH(hops_count), 3, "");
    tl_facts_set_range(beside, TL_PATH(hops_count), 5, 4, 6, "TTL as it arrived");
    tl_facts_set_unknown(beside, TL_PATH(hops_ways_count), "no router answers");
    tl_facts_take(facts, beside);
    tl_facts_destroy(beside);
    tl_facts_get(facts, TL_PATH(hops_count), &fact);
    cr_expect_eq(fact.number, 5);
    cr_expect_eq(fact.low, 4);
    cr_expect_str_eq(fact.method, "TTL as it arrived");
    tl_facts_get(facts, TL_PATH(hops_ways_count), &fact);
    cr_expect_eq(fact.state, TL_FACT_UNKNOWN);
    cr_expect_str_eq(fact.reason, "no router answers");
    tl_facts_get(facts, TL_NEAR(os), &fact);
    cr_expect_str_eq(fact.text, "linux");
}

static void collect(struct tl_fact_key key, const struct tl_fact *fact, void *context)
{
    char id[TL_FACT_ID_SIZE];
    strcat(strcat(context, tl_fact_id(key, id)), fact->state == TL_FACT_KNOWN ? "+ " : "- ");
}

Test(store, each_visits_what_was_set_in_the_order_of_the_table)
{
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, goodput_bps), 1, NULL);
    tl_facts_set_unknown(facts, TL_FLOW(TL_DOWNLOAD, goodput_bps), "stopped");
    tl_facts_set_text(facts, TL_FAR(os), "linux", NULL);
    char seen[128] = "";
    tl_facts_each(facts, collect, seen);
    cr_expect_str_eq(seen, "far.os+ download.goodput_bps- upload.goodput_bps+ ");
}

static int ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), n = strlen(end);
    return len > n && strcmp(text + len - n, end) == 0;
}

Test(store, names_in_the_table_are_unique_found_and_wear_their_units)
{
    static const enum tl_unit dressed[] = {TL_UNIT_BPS, TL_UNIT_BYTES, TL_UNIT_NS, TL_UNIT_RATIO,
                                           TL_UNIT_COUNT};
    enum tl_fact_name found;
    for (int i = 0; i < TL_FACT_COUNT; i++) {
        const struct tl_fact_def *def = tl_fact_def((enum tl_fact_name)i);
        cr_expect(tl_fact_find(def->subject, def->name, &found) && (int)found == i,
                  "%s is there twice", def->name);
        cr_expect(strlen(def->name) < 48, "%s", def->name); /* and its place fits TL_FACT_ID_SIZE */
        cr_expect(ends_with(def->meaning, "."), "%s: a meaning is a sentence", def->name);
        for (size_t u = 0; u < sizeof dressed / sizeof *dressed; u++) {
            char suffix[16] = "_";
            strcat(suffix, tl_unit_name(dressed[u]));
            cr_expect(ends_with(def->name, suffix) == (def->unit == dressed[u]), "%s", def->name);
        }
    }
    cr_expect_not(tl_fact_find(TL_SUBJECT_HOST, "goodput_bps", &found));
}

Test(store, a_stage_that_ended_explains_what_it_left_unknown_in_its_direction)
{
    const enum tl_direction upload = TL_UPLOAD;
    tl_facts_set_number(facts, TL_FLOW(TL_UPLOAD, window_rcvbuf_bytes), 4096, "");
    tl_facts_set_unknown(facts, TL_FLOW(TL_UPLOAD, window_sndbuf_bytes),
                         "the far end does not tell it");
    tl_facts_explain_stage(facts, "window", &upload, "no larger buffer is permitted");
    cr_expect_str_eq(get("upload.window_goodput_bps").reason, "no larger buffer is permitted");
    cr_expect(get("upload.window_goodput_bps").tried);
    cr_expect_str_eq(get("upload.window_sndbuf_bytes").reason, "the far end does not tell it");
    cr_expect(!get("upload.window_rcvbuf_bytes").tried, "known");
    cr_expect(!get("download.window_goodput_bps").tried, "the other direction");
    cr_expect(!get("upload.streams_goodput_bps").tried, "another stage");
    tl_facts_explain_stage(facts, "hosts", NULL, "denied");
    cr_expect(get("near.tcp_sack").tried && get("far.tcp_sack").tried);
    cr_expect(tl_facts_status(facts, NULL) == TL_OK);
}

Test(store, a_derived_fact_lacks_what_a_stage_measures)
{
    struct tl_fact fact;
    tl_facts_derive(facts);
    tl_facts_get_lacking(facts, TL_FLOW(TL_DOWNLOAD, streams_scale_ratio), &fact);
    cr_expect_str_neq(fact.stage, "derived");
    cr_expect(!fact.tried);
    tl_facts_get_lacking(facts, TL_FLOW(TL_DOWNLOAD, window_goodput_bps), &fact);
    cr_expect_str_eq(fact.stage, "window");
}
