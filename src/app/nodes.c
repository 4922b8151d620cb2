/* A run between two perfSONAR nodes: who they are, what they measured, what the rules say. */
#include "tightlink/app/nodes.h"

#include <stdio.h>
#include <string.h>

#include "node_keys.h"
#include "overheard.h"
#include "tightlink/base/far.h"
#include "tightlink/base/name.h"
#include "tightlink/base/time.h"
#include "tightlink/probes/mark.h"
#include "tightlink/session/record.h"

enum tl_status tl_app_node_parse(const char *text, struct tl_app_node *ret_node,
                                 struct tl_error *reterr)
{
    static const char scheme[] = "pscheduler://";
    const char *rest = text;
    char url[600];
    struct tl_target target;
    if (strncmp(text, scheme, strlen(scheme)) == 0)
        rest = text + strlen(scheme);
    else if (strstr(text, "://"))
        return tl_error_set(reterr, TL_USAGE,
                            "a node is written pscheduler://HOST or HOST, not \"%.80s\"", text);
    /* Host and port as in any web address. */
    snprintf(url, sizeof url, "https://%s", rest);
    enum tl_status status = tl_target_parse(url, &target, reterr);
    if (status != TL_OK)
        return status;
    if (!tl_is_command_name(target.host, "", TL_COMMAND_HOST_MAX) ||
        (target.resource[0] && strcmp(target.resource, "/") != 0))
        return tl_error_set(
            reterr, TL_USAGE,
            "\"%.80s\" is no node: write pscheduler://HOST or pscheduler://HOST:PORT", text);
    *ret_node = (struct tl_app_node){.port = target.port};
    snprintf(ret_node->host, sizeof ret_node->host, "%s", target.host);
    return TL_OK;
}

/* The key that the node had before goes in; one that is new is kept. */
static enum tl_status measure(const struct tl_nodes_spec *spec, int cancel_fd, tl_nodes_tell *tell,
                              void *context, struct tl_session_result *result,
                              struct tl_error *reterr)
{
    char known[TL_NODES_PIN_SIZE] = "", key[TL_NODES_PIN_SIZE] = "", path[4096], text[400];
    struct tl_nodes_spec pinned = *spec;
    enum tl_status status =
        spec->insecure ? TL_OK : node_key_find(spec->node, spec->port, known, reterr);
    if (status != TL_OK)
        return status;
    pinned.pin = known;
    status =
        tl_probe_nodes(&pinned, cancel_fd, tell, context, &result->run, result->facts, key, reterr);
    if (status == TL_AUTH && known[0] && reterr) {
        struct tl_error told = *reterr;
        return tl_error_set(reterr, TL_AUTH, "%.300s. If it is new, take its line out of %s",
                            told.text, node_keys_path(path));
    }
    if (key[0] && !known[0] && !spec->insecure) {
        struct tl_error why = {0};
        bool kept = node_key_add(spec->node, spec->port, key, &why) == TL_OK;
        snprintf(text, sizeof text, "nobody vouches for %.100s; its key %s%.200s", spec->node,
                 kept ? "is remembered: " : "was taken as it is, and ", kept ? key : why.text);
        tell(context, text);
    }
    return status;
}

enum tl_status tl_app_nodes_measure(const struct tl_nodes_spec *spec, const struct tl_rules *rules,
                                    int cancel_fd, tl_nodes_tell *tell, void *context,
                                    struct tl_session_result *result, struct tl_error *reterr)
{
    struct tl_run *run = &result->run;
    int64_t begin_ns = tl_now_ns();
    overheard_begin(&(struct overheard){.kind = "pscheduler",
                                        .begin_ns = tl_realtime_ns(),
                                        .direction = TL_UPLOAD},
                    run);
    tl_host_mark_set(run);
    run->download = spec->both;
    snprintf(run->target_name, sizeof run->target_name, "%s", spec->dest);
    result->facts = tl_facts_create();
    if (!result->facts)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    enum tl_status status = measure(spec, cancel_fd, tell, context, result, reterr);
    run->duration_ns = tl_now_ns() - begin_ns;
    if (status != TL_OK)
        return status;
    result->answered = true;
    return tl_record_judge(rules, result, reterr);
}
