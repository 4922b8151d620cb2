/* The start screen's plan, and far ends and keys of earlier runs. */
#include <stdio.h>
#include <string.h>

#include "script.h"

static const struct tl_session_stage plan[] = {
    {"hosts", "settings and interface of both ends", "always", TL_STAGE_PLANNED, "responder", false,
     false, 1000000000, 16000},
    {"path", "round trip, loss", "always", TL_STAGE_PLANNED, "responder", false, false, 1000000000,
     16000},
    {"mtu", "packet sizes", "always", TL_STAGE_PLANNED, "responder", false, false, 4000000000,
     1000000},
    {"stream", "one stream as hosts are set", "first", TL_STAGE_PLANNED, "responder", true, true,
     6000000000, 600000000},
    {"streams", "several streams", "when wanted", TL_STAGE_PLANNED, "responder", true, true,
     6000000000, 700000000},
    {"udp", "datagrams at rising rates", "when wanted", TL_STAGE_PLANNED, "responder", true, true,
     9000000000, 90000000},
    {"disk", "the disk here", "when asked for", TL_STAGE_IF_ASKED, "directory", false, true,
     20000000000, 0},
    {"verify", "try the remedy", "when asked for", TL_STAGE_TRIAL, "responder", true, true,
     6000000000, 600000000},
};

void start_with_plan(struct tui_state *state)
{
    struct tui_start *start = &state->start;
    snprintf(start->target, sizeof start->target, "srv-b.example.net");
    start->has_preview = true;
    start->preview.count = sizeof plan / sizeof *plan;
    memcpy(start->preview.stages, plan, sizeof plan);
    start->preview.time_ns = 45000000000;
    start->preview.bytes = 1500000000;
}

void start_with_recent(struct tui_state *state)
{
    struct tui_start *start = &state->start;
    snprintf(start->recent[0], sizeof start->recent[0], "srv-b.example.net");
    snprintf(start->recent[1], sizeof start->recent[1], "backup1");
    start->recent_count = 2;
    snprintf(start->key, sizeof start->key, "lab-1");
    snprintf(start->keys[0], sizeof start->keys[0], "lab-1");
    snprintf(start->keys[1], sizeof start->keys[1], "office");
    start->key_count = 2;
}
