/* Roles: sender and receiver change places with the direction. */
#include <criterion/criterion.h>

#include "tightlink/facts/facts.h"

static void expect_id(enum tl_direction direction, const char *role_id, const char *wanted)
{
    char id[64] = "";
    cr_expect(tl_fact_view_resolve(direction, role_id, id, sizeof id) == TL_OK, "%s", role_id);
    cr_expect_str_eq(id, wanted);
}

Test(view, roles_follow_the_direction)
{
    expect_id(TL_DOWNLOAD, "sender.tcp_wmem_max_bytes", "far.tcp_wmem_max_bytes");
    expect_id(TL_UPLOAD, "sender.tcp_wmem_max_bytes", "near.tcp_wmem_max_bytes");
    expect_id(TL_DOWNLOAD, "receiver.tcp_rmem_max_bytes", "near.tcp_rmem_max_bytes");
    expect_id(TL_UPLOAD, "receiver.tcp_rmem_max_bytes", "far.tcp_rmem_max_bytes");
    expect_id(TL_UPLOAD, "path.rtt_min_ns", "path.rtt_min_ns");
    expect_id(TL_DOWNLOAD, "flow.goodput_bps", "download.goodput_bps");
    expect_id(TL_UPLOAD, "flow.goodput_bps", "upload.goodput_bps");
}

Test(view, what_does_not_exist_is_unknown)
{
    char id[64] = "same";
    cr_expect(tl_fact_view_resolve(TL_UPLOAD, "near.os", id, sizeof id) == TL_UNKNOWN);
    cr_expect(tl_fact_view_resolve(TL_UPLOAD, "sender.goodput_bps", id, sizeof id) == TL_UNKNOWN);
    cr_expect(tl_fact_view_resolve(TL_UPLOAD, "", id, sizeof id) == TL_UNKNOWN);
    cr_expect(tl_fact_view_resolve(TL_UPLOAD, "flow.goodput_bps", id, 18) == TL_RANGE);
    cr_expect_str_eq(id, "same");
    cr_expect(tl_fact_view_resolve(TL_UPLOAD, "flow.goodput_bps", id, 19) == TL_OK);
    cr_expect(tl_fact_role_def("flow.cc") != NULL && tl_fact_role_def("flow.os") == NULL);
}

Test(view, a_view_reads_through_its_roles)
{
    struct tl_facts *facts = tl_facts_create();
    tl_facts_set_number(facts, "far.cpu_cores_count", 8, NULL);
    struct tl_fact_view view = {facts, TL_DOWNLOAD};
    struct tl_fact fact;
    cr_expect(tl_fact_view_get(&view, "sender.cpu_cores_count", &fact) && fact.number == 8);
    view.direction = TL_UPLOAD;
    cr_expect(tl_fact_view_get(&view, "receiver.cpu_cores_count", &fact) && fact.number == 8);
    cr_expect(tl_fact_view_get(&view, "sender.cpu_cores_count", &fact));
    cr_expect(fact.state == TL_FACT_UNKNOWN);
    cr_expect(!tl_fact_view_get(&view, "far.cpu_cores_count", &fact));
    cr_expect_str_eq(fact.reason, "no such fact");
    tl_facts_destroy(facts);
}
