/* Roles: sender and receiver change places with the direction. */
#include <criterion/criterion.h>

#include "tightlink/facts/facts.h"

static void expect_id(enum tl_direction direction, const char *role_id, const char *wanted)
{
    char id[TL_FACT_ID_SIZE];
    struct tl_role_fact fact;
    cr_assert(tl_role_fact_parse(role_id, &fact), "%s", role_id);
    cr_expect_str_eq(tl_fact_id(tl_role_fact_key(fact, direction), id), wanted);
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

Test(view, code_names_the_same_places)
{
    char id[TL_FACT_ID_SIZE];
    cr_expect_str_eq(tl_fact_id(TL_HOST_OF(TL_DOWNLOAD, TL_SENDER, os), id), "far.os");
    cr_expect_str_eq(tl_fact_id(TL_HOST_OF(TL_UPLOAD, TL_SENDER, os), id), "near.os");
    cr_expect_str_eq(tl_fact_id(TL_END(TL_UPLOAD, TL_RECEIVER, cpu_ratio), id),
                     "upload.receiver_cpu_ratio");
}

Test(view, what_does_not_exist_is_unknown)
{
    static const char *const wrong[] = {"near.os", "sender.goodput_bps", "", "flow.os", "flow."};
    struct tl_role_fact fact;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_expect_not(tl_role_fact_parse(wrong[i], &fact), "%s", wrong[i]);
}
