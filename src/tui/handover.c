/* A run on its way from the export screen to a ticket system. The thread that waits for the
 * answer is app's; what is drawn of it is in view_export.c. */
#include "handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlink/app/leave.h"

void screen_keep_masks(struct screen *screen, char *ret_text, size_t size)
{
    char path[600];
    ret_text[0] = '\0';
    if (tl_app_keep_masks(screen->redactor, screen->state.result->run.id, path, sizeof path,
                          NULL) == TL_OK &&
        path[0])
        snprintf(ret_text, size, "; what the masks stand for: %.200s", path);
}

#if TL_WITH_TICKETS

#include "tightlink/app/send.h"
#include "tightlink/store/outbox.h"

struct handover {
    struct tl_ticket_config *config; /* NULL: it could not be read */
    struct tl_app_parcel parcel;
    struct tl_app_sender *sender;
    char masks[240]; /* where those of the last sending are kept */
};

static struct handover *handover_of(struct screen *screen)
{
    if (!screen->handover)
        screen->handover = calloc(1, sizeof *screen->handover);
    return screen->handover;
}

void screen_list_targets(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct tl_error error = {0};
    if (screen->handover || !handover_of(screen))
        return;
    struct tl_ticket_config **config = &screen->handover->config;
    if (tl_ticket_config_load(NULL, config, &error) != TL_OK) {
        snprintf(leaving->no_targets, sizeof leaving->no_targets, "%.255s", error.text);
        return;
    }
    size_t count = tl_ticket_target_count(*config);
    for (size_t i = 0; i < count && i < TUI_TARGETS_MAX; i++) {
        struct tl_ticket_target_info info = tl_ticket_target_at(*config, i);
        struct tui_target *target = &leaving->targets[leaving->target_count++];
        snprintf(target->name, sizeof target->name, "%s", info.name);
        snprintf(target->system, sizeof target->system, "%s", info.system);
        snprintf(target->url, sizeof target->url, "%.255s", info.url);
    }
}

/* --- what it gets --- */

void screen_unpack_ticket(struct screen *screen)
{
    if (screen->handover)
        tl_app_unpack(&screen->handover->parcel);
}

static struct tl_ticket_message message_of(const struct screen *screen)
{
    return tl_app_message(&screen->handover->parcel, screen->state.result->run.id,
                          screen->state.leaving.comment_on);
}

struct earlier {
    const char *run, *target;
    char *ret_ticket;
    size_t size;
};

static bool note_earlier(const struct tl_outbox_row *row, void *context)
{
    const struct earlier *earlier = context;
    if (row->state == TL_OUTBOX_SENT && !row->comment_on[0] &&
        strcmp(row->run, earlier->run) == 0 && strcmp(row->target, earlier->target) == 0)
        snprintf(earlier->ret_ticket, earlier->size, "%s", row->ticket);
    return true;
}

/* The ticket that this run has there already. */
static void look_for_earlier(struct screen *screen, const struct tui_target *target)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct earlier earlier = {screen->state.result->run.id, target->name, leaving->earlier,
                              sizeof leaving->earlier};
    struct tl_outbox *outbox = NULL;
    leaving->earlier[0] = '\0';
    if (tl_outbox_open(NULL, &outbox, NULL) == TL_OK)
        (void)!tl_outbox_each(outbox, 0, note_earlier, &earlier, NULL);
    tl_outbox_close(outbox);
}

/* A webhook gets the document; a ticket its title, the text, and document and page as files. */
static void show_message(struct screen *screen, const struct tui_target *target)
{
    const struct handover *handover = screen->handover;
    struct tl_buf *out = &screen->preview;
    if (strcmp(target->system, "webhook") != 0) {
        tl_buf_addf(out, "Title: [tightlink %.26s] %s\n\n%s\n", screen->state.result->run.id,
                    tl_buf_text(&handover->parcel.title), tl_buf_text(&handover->parcel.text));
        tl_buf_adds(out, "--- report.html: the same as a page\n--- findings.json:\n\n");
    }
    tl_buf_adds(out, tl_buf_text(&handover->parcel.json));
}

enum tl_status screen_pack_ticket(struct screen *screen, const struct tl_export *export,
                                  struct tl_error *reterr)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct handover *handover = handover_of(screen);
    if (!handover)
        return tl_error_set(reterr, TL_NOMEM, "out of memory");
    screen_unpack_ticket(screen);
    enum tl_status status = tl_app_pack(export, &handover->parcel, reterr);
    if (status != TL_OK)
        return status;
    const struct tui_target *target = &leaving->targets[leaving->to - 1];
    leaving->json_len = handover->parcel.json.len;
    leaving->html_len = handover->parcel.html.len;
    look_for_earlier(screen, target);
    show_message(screen, target);
    return screen->preview.status;
}

void screen_show_curl(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct tl_error error = {0};
    struct tl_buf commands = TL_BUF_INIT;
    if (!screen->handover || !screen->handover->config || !leaving->to || !leaving->text)
        return;
    struct tl_ticket_message message = message_of(screen);
    tl_buf_finish(&screen->requests);
    if (tl_ticket_plan(screen->handover->config, leaving->targets[leaving->to - 1].name, &message,
                       true, &commands, &error) != TL_OK) {
        tui_say(&screen->state, error.text);
        tl_buf_finish(&commands);
        return;
    }
    screen->requests = commands;
    leaving->requests = tl_buf_text(&screen->requests);
    tui_page_open(&screen->state, TUI_PAGE_CURL, 0);
}

/* --- sending --- */

void screen_send_ticket(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct handover *handover = screen->handover;
    char text[160];
    if (!handover || !handover->config || handover->sender || !leaving->to || !leaving->text)
        return;
    const char *target = leaving->targets[leaving->to - 1].name;
    struct tl_ticket_message message = message_of(screen);
    if (tl_app_sender_create(handover->config, target, &message, &handover->sender) != TL_OK) {
        tui_say(&screen->state, "out of memory: nothing was sent");
        return;
    }
    leaving->sending = true;
    leaving->answer[0] = '\0';
    screen_keep_masks(screen, handover->masks, sizeof handover->masks);
    snprintf(text, sizeof text, "on its way to %.63s; the screen goes on meanwhile", target);
    tui_say(&screen->state, text);
}

int screen_sender_fd(const struct screen *screen)
{
    return screen->handover && screen->handover->sender ? tl_app_sender_fd(screen->handover->sender)
                                                        : -1;
}

static void tell(const struct handover *handover, const struct tl_app_sent *sent,
                 struct tui_export *leaving)
{
    char address[400] = "";
    bool known = tl_ticket_address(handover->config, sent->target, sent->result.ticket, address,
                                   sizeof address);
    if (sent->status == TL_OK)
        snprintf(leaving->answer, sizeof leaving->answer, "%s: %s %s%s%s%s%s", sent->target,
                 known ? "ticket" : "taken as", sent->result.ticket,
                 sent->result.existed ? ", which was there already" : "", known ? ", " : "",
                 address, handover->masks);
    else
        snprintf(leaving->answer, sizeof leaving->answer, "%s: not sent: %.300s%s", sent->target,
                 sent->error.text[0] ? sent->error.text : tl_status_text(sent->status),
                 sent->result.waits ? "; it waits in the outbox: tightlink ticket --retry sends it"
                                    : "");
    leaving->answered_well = sent->status == TL_OK;
}

void screen_take_answer(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    struct handover *handover = screen->handover;
    const struct tl_app_sent *sent = tl_app_sender_take(handover->sender);
    char text[160];
    tell(handover, sent, leaving);
    snprintf(text, sizeof text, "%.63s %s", sent->target,
             sent->status == TL_OK ? "has it: the address is beside Action on the export screen"
                                   : "did not take it: the export screen tells why");
    tl_app_sender_destroy(handover->sender);
    handover->sender = NULL;
    leaving->sending = false;
    tui_say(&screen->state, text);
}

void screen_finish_handover(struct screen *screen)
{
    tl_buf_finish(&screen->requests);
    if (!screen->handover)
        return;
    tl_app_sender_destroy(screen->handover->sender);
    screen_unpack_ticket(screen);
    tl_ticket_config_destroy(screen->handover->config);
    free(screen->handover);
    screen->handover = NULL;
}

#else

void screen_list_targets(struct screen *screen)
{
    struct tui_export *leaving = &screen->state.leaving;
    snprintf(leaving->no_targets, sizeof leaving->no_targets, "%s",
             "this tightlink was built without ticket systems");
}

enum tl_status screen_pack_ticket(struct screen *screen, const struct tl_export *export,
                                  struct tl_error *reterr)
{
    return tl_error_set(reterr, TL_UNSUPPORTED, "built without ticket systems");
}

void screen_show_curl(struct screen *screen)
{
}

void screen_send_ticket(struct screen *screen)
{
}

int screen_sender_fd(const struct screen *screen)
{
    return -1;
}

void screen_take_answer(struct screen *screen)
{
}

void screen_unpack_ticket(struct screen *screen)
{
}

void screen_finish_handover(struct screen *screen)
{
}

#endif
