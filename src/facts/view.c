/* Roles: the same rule reads both directions, because sender, receiver and flow
 * are bound to near, far, download and upload here and nowhere else. */
#include <string.h>

#include "tightlink/facts/facts.h"

bool tl_role_fact_parse(const char *role_id, struct tl_role_fact *ret_fact)
{
    static const struct {
        const char *name;
        enum tl_subject subject;
    } roles[] = {[TL_FACT_OF_SENDER] = {"sender.", TL_SUBJECT_HOST},
                 [TL_FACT_OF_RECEIVER] = {"receiver.", TL_SUBJECT_HOST},
                 [TL_FACT_OF_PATH] = {"path.", TL_SUBJECT_PATH},
                 [TL_FACT_OF_FLOW] = {"flow.", TL_SUBJECT_FLOW}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        size_t len = strlen(roles[i].name);
        if (strncmp(role_id, roles[i].name, len) != 0)
            continue;
        ret_fact->role = (enum tl_fact_role)i;
        return tl_fact_find(roles[i].subject, role_id + len, &ret_fact->fact);
    }
    return false;
}

struct tl_fact_key tl_role_fact_key(struct tl_role_fact fact, enum tl_direction direction)
{
    switch (fact.role) {
    case TL_FACT_OF_SENDER:
        return TL_KEY(tl_scope_of_end(direction, TL_SENDER), fact.fact);
    case TL_FACT_OF_RECEIVER:
        return TL_KEY(tl_scope_of_end(direction, TL_RECEIVER), fact.fact);
    case TL_FACT_OF_PATH:
        return TL_KEY(TL_SCOPE_PATH, fact.fact);
    default:
        return TL_KEY(tl_scope_of(direction), fact.fact);
    }
}
