/* What a session could do and cost, before anything is sent. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "budget.h"
#include "plan.h"
#include "session_private.h"
#include "tightlink/session/audit.h"

size_t tl_session_stage_count(void)
{
    return TL_PLAN_COUNT;
}

const char *tl_session_stage_at(size_t index)
{
    return tl_plan_stage_id((enum tl_plan_stage)index);
}

size_t tl_session_stage_find(const char *id)
{
    return tl_stage_find(id);
}

bool tl_session_stage_loads(const char *id)
{
    enum tl_plan_stage stage = tl_stage_find(id);
    return stage != TL_PLAN_COUNT && tl_stage_at(stage)->loads;
}

static const char *when_text(const struct tl_session_config *config, enum tl_plan_stage stage)
{
    static const char *const texts[] = {[TL_WHEN_ALWAYS] = "always",
                                        [TL_WHEN_FIRST] = "first",
                                        [TL_WHEN_WANTED] = "when wanted",
                                        [TL_WHEN_ASKED] = "when asked for"};
    const struct tl_stage *row = tl_stage_at(stage);
    bool forced = config->force >> stage & 1;
    if (config->skip >> stage & 1)
        return "skipped";
    if (forced || (stage == TL_PLAN_VERIFY && config->verify))
        return "asked for";
    if (config->only_force && row->when != TL_WHEN_ALWAYS)
        return "not named";
    return texts[row->when];
}

static enum tl_stage_choice choice_of(const struct tl_session_config *config,
                                      enum tl_plan_stage stage)
{
    const struct tl_stage *row = tl_stage_at(stage);
    if (stage == TL_PLAN_VERIFY)
        return TL_STAGE_TRIAL;
    bool forced = config->force >> stage & 1;
    bool only_named = config->only_force && row->when != TL_WHEN_ALWAYS;
    return !forced && (row->when == TL_WHEN_ASKED || only_named) ? TL_STAGE_IF_ASKED
                                                                 : TL_STAGE_PLANNED;
}

static void list_needs(unsigned needs, char ret_text[64])
{
    static const struct {
        unsigned bit;
        const char *text;
    } all[] = {{TL_NEEDS_RESPONDER, "responder"},
               {TL_NEEDS_DISK, "directory"},
               {TL_NEEDS_RAW, "CAP_NET_RAW"}};
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (needs & all[i].bit)
            snprintf(ret_text + strlen(ret_text), 64 - strlen(ret_text), "%s%s",
                     ret_text[0] ? ", " : "", all[i].text);
}

/* Numbers; a name would have to be resolved. */
static bool is_address(const char *host)
{
    char plain[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(host, "%"), host); /* without a scope */
    return inet_pton(AF_INET, plain, bytes) == 1 || inet_pton(AF_INET6, plain, bytes) == 1;
}

enum tl_status session_audit_unsent(const char *host, struct tl_facts **ret_facts,
                                    struct tl_error *reterr)
{
    return tl_session_audit(is_address(host) ? host : NULL, ret_facts, reterr);
}

enum tl_status tl_session_preview(const struct tl_session_config *config,
                                  struct tl_session_preview *ret_preview, struct tl_error *reterr)
{
    struct tl_facts *facts;
    struct tl_target target;
    enum tl_status status = tl_target_parse(config->host, &target, reterr);
    if (status != TL_OK)
        return status;
    status = session_audit_unsent(target.host, &facts, reterr);
    if (status != TL_OK)
        return status;
    struct tl_budget budget;
    tl_budget_make(config, facts, &budget);
    struct tl_plan_state state = {.download = config->download,
                                  .upload = config->upload,
                                  .time_left_ns = budget.time_ns,
                                  .bytes_left = budget.bytes,
                                  .facts = facts};
    *ret_preview = (struct tl_session_preview){
        .count = TL_PLAN_COUNT, .time_ns = budget.time_ns, .bytes = budget.bytes};
    for (int i = 0; i < TL_PLAN_COUNT; i++) {
        const struct tl_stage *row = tl_stage_at((enum tl_plan_stage)i);
        struct tl_session_stage *stage = &ret_preview->stages[i];
        struct tl_stage_cost cost;
        row->cost(&state, config->download ? TL_DOWNLOAD : TL_UPLOAD, &cost);
        *stage = (struct tl_session_stage){.id = row->id,
                                           .what = row->why,
                                           .when = when_text(config, (enum tl_plan_stage)i),
                                           .choice = choice_of(config, (enum tl_plan_stage)i),
                                           .loads = row->loads,
                                           .per_direction = row->per_direction,
                                           .time_ns = cost.time_ns,
                                           .bytes = cost.bytes};
        list_needs(row->needs, stage->needs);
    }
    tl_facts_destroy(facts);
    return TL_OK;
}
