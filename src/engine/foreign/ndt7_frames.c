/* The WebSocket of one ndt7 test: ndt7_frames.h. */
#include "ndt7_frames.h"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <wslay/wslay.h>

#include "tightlink/base/random.h"
#include "tightlink/base/time.h"

#define STEP_BYTES (1u << 20)
#define FRAME_FIRST                                                                                \
    (1u << 13) /* and doubled while it is a 16th of what was sent, as ndt7 has it                  \
                */
#define FRAME_MAX   (1u << 20)
#define CONTROL_MAX 125
#define WORDS_AHEAD 50 /* that may come at once: those of a queue */

struct ndt7_frames {
    struct http_connection *connection;
    wslay_frame_context_ptr context;
    struct ndt7_listener listener;
    bool sends;
    int64_t start_ns;
    bool hung_up, said_close;
    const char *fault; /* NULL: none */
    /* What comes: the frame, and the message that it is a part of. */
    uint64_t frame_left, message_bytes;
    uint8_t frame_opcode, message_opcode; /* of a message: 0 when none is open */
    bool frame_fin;
    char text[NDT7_TEXT_MAX];
    size_t text_len;
    uint8_t control[CONTROL_MAX];
    size_t control_len;
    uint64_t word_count;
    /* What goes: one frame after the other. */
    struct wslay_frame_iocb out;
    size_t out_left; /* payload bytes of it */
    bool out_open, out_stuck;
    uint8_t pong[CONTROL_MAX];
    size_t pong_len;
    bool pong_due;
    uint64_t sent_bytes;
    struct tl_random rng;
    uint8_t *noise;   /* room for FRAME_MAX, where this end sends */
    size_t noise_len; /* of it, made */
};

/* --- TLS under it ----------------------------------------------------------------------------- */

/* Not now, or never any more (hung_up). */
static ssize_t ended(struct ndt7_frames *frames, int code)
{
    int error = SSL_get_error(frames->connection->ssl, code);
    ERR_clear_error();
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        frames->hung_up = true;
    return -1;
}

static ssize_t receive_bytes(uint8_t *into, size_t len, int flags, void *context)
{
    struct ndt7_frames *frames = context;
    int code = SSL_read(frames->connection->ssl, into, (int)len);
    return code > 0 ? code : ended(frames, code);
}

static ssize_t send_bytes(const uint8_t *from, size_t len, int flags, void *context)
{
    struct ndt7_frames *frames = context;
    int code = SSL_write(frames->connection->ssl, from, (int)len);
    return code > 0 ? code : ended(frames, code);
}

static int make_mask(uint8_t *into, size_t len, void *context)
{
    struct ndt7_frames *frames = context;
    tl_random_fill(&frames->rng, into, len);
    return 0;
}

enum tl_status ndt7_frames_create(struct http_connection *connection, bool sends,
                                  const struct ndt7_listener *listener,
                                  struct ndt7_frames **ret_frames, struct tl_error *reterr)
{
    static const struct wslay_frame_callbacks callbacks = {send_bytes, receive_bytes, make_mask};
    uint64_t seed;
    struct ndt7_frames *frames = calloc(1, sizeof *frames);
    if (!frames)
        return tl_error_set(reterr, TL_NOMEM, "no memory for a WebSocket");
    frames->connection = connection;
    frames->listener = *listener;
    frames->sends = sends;
    frames->start_ns = tl_now_ns();
    if (tl_random_secure(&seed, sizeof seed) != TL_OK)
        seed = (uint64_t)frames->start_ns;
    tl_random_seed(&frames->rng, seed);
    if (sends)
        frames->noise = malloc(FRAME_MAX);
    if ((sends && !frames->noise) ||
        wslay_frame_context_init(&frames->context, &callbacks, frames) != 0) {
        ndt7_frames_destroy(frames);
        return tl_error_set(reterr, TL_NOMEM, "no memory for a WebSocket");
    }
    SSL_set_mode(connection->ssl,
                 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    *ret_frames = frames;
    return TL_OK;
}

void ndt7_frames_destroy(struct ndt7_frames *frames)
{
    if (!frames)
        return;
    if (frames->context)
        wslay_frame_context_free(frames->context);
    free(frames->noise);
    free(frames);
}

/* --- Coming ----------------------------------------------------------------------------------- */

static void blame(struct ndt7_frames *frames, const char *what)
{
    if (!frames->fault)
        frames->fault = what;
}

static void check_data_frame(struct ndt7_frames *frames, const struct wslay_frame_iocb *frame)
{
    bool goes_on = frame->opcode == WSLAY_CONTINUATION_FRAME;
    if (goes_on != (frames->message_opcode != 0)) {
        blame(frames, "mixes the pieces of its messages");
        return;
    }
    if (!goes_on) {
        frames->message_opcode = frame->opcode;
        frames->message_bytes = 0;
        frames->text_len = 0;
    }
    uint64_t max = frames->message_opcode == WSLAY_TEXT_FRAME ? NDT7_TEXT_MAX : NDT7_MESSAGE_MAX;
    if (frame->payload_length > max - frames->message_bytes)
        blame(frames, "announces a message without end");
    else if (frames->message_opcode == WSLAY_BINARY_FRAME && frames->sends)
        blame(frames, "sends where it is to receive");
    frames->message_bytes += frame->payload_length;
}

static void begin_frame(struct ndt7_frames *frames, const struct wslay_frame_iocb *frame)
{
    frames->frame_left = frame->payload_length;
    frames->frame_opcode = frame->opcode;
    frames->frame_fin = frame->fin;
    frames->control_len = 0;
    if (frame->mask || frame->rsv)
        blame(frames, "sends frames that no server may send");
    else if (frame->opcode <= WSLAY_BINARY_FRAME)
        check_data_frame(frames, frame);
    else if (frame->opcode < WSLAY_CONNECTION_CLOSE || frame->opcode > WSLAY_PONG ||
             frame->payload_length > CONTROL_MAX)
        blame(frames, "sends frames that nobody knows");
}

static void take_chunk(struct ndt7_frames *frames, const struct wslay_frame_iocb *frame)
{
    size_t len = frame->data_length;
    if (len == 0)
        return;
    frames->frame_left -= len;
    if (frames->frame_opcode > WSLAY_BINARY_FRAME) {
        memcpy(frames->control + frames->control_len, frame->data, len);
        frames->control_len += len;
    } else if (frames->message_opcode == WSLAY_TEXT_FRAME) {
        memcpy(frames->text + frames->text_len, frame->data, len);
        frames->text_len += len;
    } else {
        frames->listener.payload(frames->listener.context, len);
    }
}

static void count_word(struct ndt7_frames *frames)
{
    int64_t allowed =
        WORDS_AHEAD + NDT7_WORDS_PER_S * (tl_now_ns() - frames->start_ns) / TL_NS_PER_S;
    if ((int64_t)++frames->word_count > allowed)
        blame(frames, "says more than anybody can read");
}

static void end_frame(struct ndt7_frames *frames)
{
    if (frames->frame_opcode == WSLAY_CONNECTION_CLOSE)
        frames->said_close = true;
    if (frames->frame_opcode == WSLAY_PING)
        count_word(frames);
    bool answering =
        frames->out_open && frames->out.opcode == WSLAY_PONG; /* a ping may be dropped */
    if (frames->frame_opcode == WSLAY_PING && !answering) {
        memcpy(frames->pong, frames->control, frames->control_len);
        frames->pong_len = frames->control_len;
        frames->pong_due = true;
    }
    if (frames->frame_opcode > WSLAY_BINARY_FRAME || !frames->frame_fin)
        return;
    if (frames->message_opcode == WSLAY_TEXT_FRAME) {
        count_word(frames);
        frames->listener.text(frames->listener.context, frames->text, frames->text_len);
    }
    frames->message_opcode = 0;
}

/* One piece of a frame: false when there is none now. */
static bool receive_piece(struct ndt7_frames *frames, size_t *bytes)
{
    struct wslay_frame_iocb frame = {0};
    ssize_t got = wslay_frame_recv(frames->context, &frame);
    if (got == WSLAY_ERR_PROTO)
        blame(frames, "sends what is no frame");
    if (got < 0)
        return false;
    if (frames->frame_left == 0)
        begin_frame(frames, &frame);
    if (frames->fault)
        return false;
    take_chunk(frames, &frame);
    if (frames->frame_left == 0)
        end_frame(frames);
    *bytes += frame.data_length + 2;
    return !frames->fault && !frames->said_close;
}

/* --- Going ------------------------------------------------------------------------------------ */

static size_t next_size(const struct ndt7_frames *frames)
{
    size_t size = FRAME_FIRST;
    while (size < FRAME_MAX && 2 * size <= frames->sent_bytes / 16)
        size *= 2;
    return size;
}

/* Payload that no device on the way makes smaller. */
static const uint8_t *noise_of(struct ndt7_frames *frames, size_t len)
{
    if (len > frames->noise_len) {
        tl_random_fill(&frames->rng, frames->noise + frames->noise_len, len - frames->noise_len);
        frames->noise_len = len;
    }
    return frames->noise;
}

/* False: there is nothing to say. */
static bool open_frame(struct ndt7_frames *frames)
{
    if (frames->out_open)
        return true;
    frames->out = (struct wslay_frame_iocb){.fin = 1, .mask = 1};
    if (frames->pong_due) {
        frames->pong_due = false;
        frames->out.opcode = WSLAY_PONG;
        frames->out.data = frames->pong;
        frames->out_left = frames->pong_len;
    } else if (frames->sends) {
        frames->out.opcode = WSLAY_BINARY_FRAME;
        frames->out_left = next_size(frames);
        frames->out.data = noise_of(frames, frames->out_left);
    } else {
        return false;
    }
    frames->out.payload_length = frames->out.data_length = frames->out_left;
    frames->out_open = true;
    return true;
}

/* A piece of the frame that is open: false when there is none, or no room for it. */
static bool send_piece(struct ndt7_frames *frames, size_t *bytes)
{
    frames->out_stuck = false;
    if (!open_frame(frames))
        return false;
    ssize_t sent = wslay_frame_send(frames->context, &frames->out);
    if (sent < 0) {
        frames->out_stuck = true;
        return false;
    }
    frames->out.data += sent;
    frames->out.data_length -= (size_t)sent;
    frames->out_left -= (size_t)sent;
    frames->out_open = frames->out_left > 0;
    if (frames->out.opcode == WSLAY_BINARY_FRAME) {
        frames->sent_bytes += (uint64_t)sent;
        frames->listener.payload(frames->listener.context, (size_t)sent);
    }
    *bytes += (size_t)sent + 2;
    return true;
}

/* --- Together --------------------------------------------------------------------------------- */

enum ndt7_turn ndt7_frames_step(struct ndt7_frames *frames)
{
    size_t received = 0, sent = 0;
    bool more_in = true, more_out = true;
    while (more_in && received < STEP_BYTES)
        more_in = receive_piece(frames, &received);
    while (more_out && sent < STEP_BYTES && !frames->fault && !frames->hung_up)
        more_out = send_piece(frames, &sent);
    if (frames->fault)
        return NDT7_BAD;
    if (frames->said_close || frames->hung_up)
        return NDT7_CLOSED;
    return more_in || more_out ? NDT7_MORE : NDT7_WAIT;
}

short ndt7_frames_events(const struct ndt7_frames *frames)
{
    return frames->out_stuck ? POLLIN | POLLOUT : POLLIN;
}

bool ndt7_frames_closed_in_order(const struct ndt7_frames *frames)
{
    return frames->said_close;
}

const char *ndt7_frames_fault(const struct ndt7_frames *frames)
{
    return frames->fault;
}

void ndt7_accept_of(const char *key, char ret_accept[NDT7_KEY_SIZE])
{
    static const char identifier[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    unsigned char text[NDT7_KEY_SIZE + sizeof identifier], sum[SHA_DIGEST_LENGTH];
    size_t len = strnlen(key, NDT7_KEY_SIZE);
    memcpy(text, key, len);
    memcpy(text + len, identifier, sizeof identifier - 1);
    SHA1(text, len + sizeof identifier - 1, sum);
    EVP_EncodeBlock((unsigned char *)ret_accept, sum, sizeof sum);
}
