/* Roles: the same rule reads both directions, because sender, receiver and flow
 * are bound to near, far, download and upload here and nowhere else. */
#include <stdio.h>
#include <string.h>

#include "store.h"

static const struct role {
    const char *name;
    enum tl_subject subject;
    enum tl_scope scope[2]; /* by direction: download, upload */
} roles[] = {
    {"sender", TL_SUBJECT_HOST, {TL_SCOPE_FAR, TL_SCOPE_NEAR}},
    {"receiver", TL_SUBJECT_HOST, {TL_SCOPE_NEAR, TL_SCOPE_FAR}},
    {"path", TL_SUBJECT_PATH, {TL_SCOPE_PATH, TL_SCOPE_PATH}},
    {"flow", TL_SUBJECT_FLOW, {TL_SCOPE_DOWNLOAD, TL_SCOPE_UPLOAD}},
};

static const struct tl_fact_def *find_role(const char *role_id, const struct role **ret_role)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        size_t len = strlen(roles[i].name);
        if (strncmp(role_id, roles[i].name, len) == 0 && role_id[len] == '.') {
            *ret_role = &roles[i];
            return tl_fact_def_find(roles[i].subject, role_id + len + 1);
        }
    }
    return NULL;
}

const struct tl_fact_def *tl_fact_role_def(const char *role_id)
{
    const struct role *role;
    return find_role(role_id, &role);
}

enum tl_status tl_fact_view_resolve(enum tl_direction direction, const char *role_id, char *ret_id,
                                    size_t size)
{
    const struct role *role;
    const struct tl_fact_def *def = find_role(role_id, &role);
    if (!def)
        return TL_UNKNOWN;
    const char *scope = tl_scope_name(role->scope[direction]);
    if (strlen(scope) + 1 + strlen(def->name) + 1 > size)
        return TL_RANGE;
    snprintf(ret_id, size, "%s.%s", scope, def->name);
    return TL_OK;
}

bool tl_fact_view_get(const struct tl_fact_view *view, const char *role_id,
                      struct tl_fact *ret_fact)
{
    char id[TL_FACT_ID_SIZE];
    if (tl_fact_view_resolve(view->direction, role_id, id, sizeof id) != TL_OK)
        return tl_facts_get(view->facts, "", ret_fact); /* "no such fact" */
    return tl_facts_get(view->facts, id, ret_fact);
}
