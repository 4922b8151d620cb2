/* TLS 1.3 with a pre-shared key over a connected TCP socket: the control connection in
 * key mode. Private to the engine; the only file that knows OpenSSL is secure.c.
 *
 * No certificates: both ends prove that they hold the key (RFC 8446 section 2.2), with an
 * ephemeral Diffie-Hellman exchange beside it (psk_dhe_ke), so that a key which is lost later
 * opens no recorded connection. TLS_AES_128_GCM_SHA256 and TLS_CHACHA20_POLY1305_SHA256;
 * no tickets, no early data, no renegotiation.
 *
 * A server's handshake happens inside its first receives; nothing here waits. A channel belongs
 * to one thread. The descriptor stays the caller's. */
#ifndef TL_ENGINE_SECURE_H
#define TL_ENGINE_SECURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tightlink/base/key.h"
#include "tightlink/base/status.h"
#include "tightlink/engine/wire_frame.h"
#include "udp_seal.h"

/* First byte of a TLS connection (a handshake record). A frame of ours that began with it
 * would be longer than frames are. */
#define SECURE_FIRST_BYTE 0x16

/* What all channels of one end share; keys are borrowed and outlive it. */
struct secure_context;

enum tl_status secure_context_create_client(const struct tl_key *key,
                                            struct secure_context **ret_context,
                                            struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status secure_context_create_server(const struct tl_keys *keys,
                                            struct secure_context **ret_context,
                                            struct tl_error *reterr) TL_WARN_UNUSED;
/* The context frees these keys, which are its own, when it goes. */
void secure_context_own(struct secure_context *context, struct tl_keys *keys);
/* Takes NULL. Its channels may outlive it: what they need goes with the last of them. */
void secure_context_destroy(struct secure_context *context);

struct secure;

/* NULL when there is no memory. */
struct secure *secure_create(struct secure_context *context, int fd);
/* Clears what is secret. Takes NULL; before the descriptor is closed. */
void secure_destroy(struct secure *secure);

/* The client's way to prove the key before it says anything: 1 when done, -1 with errno as
 * below, EAGAIN while the far end's part is awaited (poll for input). */
int secure_handshake(struct secure *secure);

/* As recv() and send() with MSG_DONTWAIT and MSG_NOSIGNAL: > 0 bytes; 0 the peer ended;
 * -1 with errno: EAGAIN; EKEYREJECTED: the handshake failed, the key is wrong or not known;
 * EPROTO: bytes that are no TLS of ours; or what the socket said. A receive may leave bytes
 * behind that no poll() tells of: secure_pending. */
ssize_t secure_recv(struct secure *secure, void *ret_bytes, size_t len);
ssize_t secure_send(struct secure *secure, const void *bytes, size_t len);
bool secure_pending(const struct secure *secure);

/* The handshake is over and both ends have proved the key. */
bool secure_established(const struct secure *secure);
/* The key by which the peer came, as long as the channel; NULL before the handshake has got so far.
 */
const struct tl_key *secure_key(const struct secure *secure);
/* A key that the peer named and that does not open from its address (tl_key_opens_from()); NULL. */
const struct tl_key *secure_kept_out(const struct secure *secure);
/* The key's name by which the peer came; "" before the handshake has got so far. */
const char *secure_key_name(const struct secure *secure);

/* What a token is said for outside of the channel, where the path reads it. */
enum secure_purpose { SECURE_DATA = 1, SECURE_PEER, SECURE_SYN, SECURE_UDP, SECURE_SEAL };

/* The token for one purpose, test and connection (0 where there is none), as both ends make it of
 * the channel's own secret (RFC 5705; RFC 8446, 7.5): who reads one knows no other, nor the
 * session's. Over a plain channel (NULL), and with a peer that does not know such tokens, it is the
 * session's. False: OpenSSL failed. */
bool secure_token(const struct secure *secure, const struct tl_wire_token *session,
                  enum secure_purpose purpose, uint32_t test_id, uint16_t connection,
                  struct tl_wire_token *ret_token);

/* By what the datagrams of a session are sealed; off over a plain channel (NULL) and with a peer
 * that does not seal. False: OpenSSL failed. */
bool secure_seal(const struct secure *secure, struct udp_seal *ret_seal);

/* A connection that may be secured or plain. */
static inline ssize_t channel_recv(struct secure *secure, int fd, void *ret_bytes, size_t len);
static inline ssize_t channel_send(struct secure *secure, int fd, const void *bytes, size_t len);

#include <sys/socket.h>

static inline ssize_t channel_recv(struct secure *secure, int fd, void *ret_bytes, size_t len)
{
    return secure ? secure_recv(secure, ret_bytes, len) : recv(fd, ret_bytes, len, MSG_DONTWAIT);
}

static inline ssize_t channel_send(struct secure *secure, int fd, const void *bytes, size_t len)
{
    return secure ? secure_send(secure, bytes, len)
                  : send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

#endif
