/* What routers' names tell of the way. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "places.h"
#include "tightlink/probes/hop_names.h"

static const char *town(const char *name)
{
    const struct tl_place *place = tl_place_of_name(name);
    return place ? place->town : "";
}

Test(places, operators_write_codes_towns_and_clli)
{
    cr_expect_str_eq(town("be2846.ccr42.ams03.atlas.example.com"), "Amsterdam");
    cr_expect_str_eq(town("ae1.cr2-fra3.ip4.example.net"), "Frankfurt");
    cr_expect_str_eq(town("ae-1.r20.frnkge08.de.bb.gin.example.net"), "Frankfurt");
    cr_expect_str_eq(town("xe-0-0-1.edge3.London1.example.net"), "London");
    cr_expect_str_eq(town("100ge0-1.core1.NYC4.he.example.net"), "New York");
}

Test(places, what_tells_no_place_or_two_is_none)
{
    cr_expect_str_eq(town("gw.lan"), "");
    cr_expect_str_eq(town("core1.example.net"), "");
    cr_expect_str_eq(town("r1.paris.net"), "", "who runs it is no place");
    cr_expect_str_eq(town("parse1.x.example.net"), "", "a part of a word is no code");
    cr_expect_str_eq(town("lon-nyc.x.example.net"), "", "a line between two");
    cr_expect_str_eq(town("london-lhr2.x.example.net"), "London", "the same one twice");
    cr_expect_str_eq(town(""), "");
    cr_expect_str_eq(town("...."), "");
    cr_expect_str_eq(town("\\u{202e}fra\\u{7}.x.example.net"), "Frankfurt");
}

Test(places, light_in_glass_needs_54_ms_to_new_york_and_back)
{
    const struct tl_place *london = tl_place_of_name("lon1.a.b"),
                          *york = tl_place_of_name("nyc.a.b");
    cr_assert(london && york);
    cr_expect_float_eq(tl_place_rtt_ns(london, york), 54.6e6, 0.5e6);
    cr_expect_float_eq(tl_place_rtt_ns(london, york), tl_place_rtt_ns(york, london), 1);
    cr_expect_eq(tl_place_rtt_ns(london, london), 0);
}

static struct tl_run run;

static void add_hop(const char *name, double rtt_ns)
{
    struct tl_hop_record *hop = &run.hops[run.hop_count++];
    hop->hop = run.hop_count;
    snprintf(hop->name, sizeof hop->name, "%s", name);
    hop->rtt_min_ns = rtt_ns;
}

static double number(const struct tl_facts *facts, struct tl_fact_key key)
{
    return tl_facts_number(facts, key, (double)NAN);
}

Test(places, the_way_is_told_from_the_first_place_to_the_last)
{
    struct tl_facts *facts = tl_facts_create();
    struct tl_fact names;
    add_hop("gw.lan", 1e6);
    add_hop("ae1.fra3.x.example.net", 12e6);
    add_hop("ae2.fra4.x.example.net", 13e6);
    add_hop("nyc1.x.example.net", (double)NAN); /* it never answered */
    add_hop("nyc2.x.example.net", 95e6);
    add_hop("ams1.x.example.net", 163e6);
    tl_places_set(facts, &run);
    tl_facts_get(facts, TL_PATH(places_names), &names);
    cr_expect_str_eq(names.text, "Frankfurt, New York, Amsterdam");
    cr_expect_float_eq(number(facts, TL_PATH(places_straight_ns)), 3.6e6, 0.2e6);
    cr_expect_float_eq(number(facts, TL_PATH(places_way_ns)), 118e6, 2e6);
    cr_expect_float_eq(number(facts, TL_PATH(places_rtt_ns)), 151e6, 1);
    tl_facts_destroy(facts);
}

Test(places, one_place_tells_nothing)
{
    struct tl_facts *facts = tl_facts_create();
    add_hop("ae1.fra3.x.example.net", 12e6);
    add_hop("ae1.fra4.x.example.net", 19e6);
    tl_places_set(facts, &run);
    cr_expect(isnan(number(facts, TL_PATH(places_straight_ns))));
    cr_expect(isnan(number(facts, TL_PATH(places_rtt_ns))));
    tl_facts_destroy(facts);
}

/* Every Linux host has a name for 127.0.0.1 (hosts(5)), which no resolver is asked for. */
Test(hop_names, routers_are_named_and_the_far_end_is_not)
{
    struct tl_facts *facts = tl_facts_create();
    for (int i = 0; i < 3; i++) {
        add_hop("", 1e6);
        snprintf(run.hops[i].address, sizeof run.hops[i].address, "127.0.0.1");
    }
    run.hops[1].address[0] = '\0'; /* it did not answer */
    tl_hop_names_take(tl_hop_names_ask(&run), 20000000000, &run, facts);
    cr_expect_neq(run.hops[0].name[0], '\0');
    cr_expect_eq(run.hops[1].name[0], '\0');
    cr_expect_eq(run.hops[2].name[0], '\0');
    tl_facts_destroy(facts);
}

Test(hop_names, a_run_without_routers_asks_nobody)
{
    struct tl_facts *facts = tl_facts_create();
    cr_expect_null(tl_hop_names_ask(&run));
    tl_hop_names_take(NULL, 0, &run, facts);
    add_hop("", 1e6); /* the far end alone */
    snprintf(run.hops[0].address, sizeof run.hops[0].address, "127.0.0.1");
    cr_expect_null(tl_hop_names_ask(&run));
    tl_facts_destroy(facts);
}
