/* A test of streams once it is granted. */
#ifndef TL_ENGINE_TCP_RUN_H
#define TL_ENGINE_TCP_RUN_H

#include "session.h"

/* Options of a data connection: accepted, or to be set before it is dialled. */
enum tl_status tcp_run_prepare(const struct session_test *test, int fd, unsigned connection,
                               bool accepted, struct tl_error *reterr) TL_WARN_UNUSED;
/* A data connection; true takes the descriptor over. On false *ret_code and *reterr say why.
 * dialled: by a responder that tcp_dial_may_join() permits; any other comes from where the control
 * connection comes from, and goes where it goes. */
bool tcp_run_join(struct session *session, int fd, bool dialled,
                  const struct tl_wire_data_hello *hello, enum tl_wire_error_code *ret_code,
                  struct tl_error *reterr);
/* START of a session that is READY. */
void tcp_run_start(struct session *session, uint32_t test_id);

/* What test_ops asks for. */
void tcp_run_stop(struct session *session, enum tl_wire_end_reason reason);
void tcp_run_tick(struct session *session, int64_t now_ns);
bool tcp_run_abandon(struct session *session);
void tcp_run_forget(struct session *session);

#endif
