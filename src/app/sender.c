/* A thread for one call of tl_ticket_send(). It owns message and outbox until the descriptor is
 * readable; then the asking thread does. */
#include "tightlink/app/send.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tightlink/base/thread.h"
#include "tightlink/base/wake.h"
#include "tightlink/store/outbox.h"

#define TEXT_COUNT 6

struct tl_app_sender {
    const struct tl_ticket_config *config;
    char *texts[TEXT_COUNT]; /* of the message, owned */
    struct tl_ticket_message message;
    pthread_t thread;
    int fd;
    struct tl_app_sent sent;
};

static void *deliver(void *context)
{
    struct tl_app_sender *sender = context;
    struct tl_app_sent *sent = &sender->sent;
    struct tl_outbox *outbox = NULL;
    sent->status = tl_outbox_open(NULL, &outbox, &sent->error);
    if (sent->status == TL_OK)
        sent->status = tl_ticket_send(sender->config, outbox, sent->target, &sender->message,
                                      &sent->result, &sent->error);
    tl_outbox_close(outbox);
    tl_wake(sender->fd);
    return NULL;
}

static void free_texts(struct tl_app_sender *sender)
{
    for (size_t i = 0; i < TEXT_COUNT; i++)
        free(sender->texts[i]);
}

static bool copy_message(struct tl_app_sender *sender, const struct tl_ticket_message *message)
{
    const char *from[TEXT_COUNT] = {message->run_id, message->title, message->text,
                                    message->json,   message->html,  message->comment_on};
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        sender->texts[i] = strdup(from[i] ? from[i] : "");
        if (!sender->texts[i])
            return false;
    }
    sender->message = (struct tl_ticket_message){.run_id = sender->texts[0],
                                                 .title = sender->texts[1],
                                                 .text = sender->texts[2],
                                                 .json = sender->texts[3],
                                                 .html = sender->texts[4],
                                                 .comment_on = sender->texts[5]};
    return true;
}

enum tl_status tl_app_sender_create(const struct tl_ticket_config *config, const char *target,
                                    const struct tl_ticket_message *message,
                                    struct tl_app_sender **ret_sender)
{
    struct tl_app_sender *sender = calloc(1, sizeof *sender);
    if (!sender)
        return TL_NOMEM;
    enum tl_status status = copy_message(sender, message) ? TL_OK : TL_NOMEM;
    sender->config = config;
    snprintf(sender->sent.target, sizeof sender->sent.target, "%s", target);
    sender->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (status == TL_OK &&
        (sender->fd < 0 || tl_thread_start(&sender->thread, deliver, sender) != 0))
        status = TL_IO;
    if (status == TL_OK) {
        *ret_sender = sender;
        return TL_OK;
    }
    if (sender->fd >= 0)
        close(sender->fd);
    free_texts(sender);
    free(sender);
    return status;
}

int tl_app_sender_fd(const struct tl_app_sender *sender)
{
    return sender->fd;
}

const struct tl_app_sent *tl_app_sender_take(struct tl_app_sender *sender)
{
    uint64_t count;
    (void)!read(sender->fd, &count, sizeof count);
    return &sender->sent;
}

void tl_app_sender_destroy(struct tl_app_sender *sender)
{
    if (!sender)
        return;
    pthread_join(sender->thread, NULL);
    close(sender->fd);
    free_texts(sender);
    free(sender);
}
