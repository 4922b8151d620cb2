/* The worker of a session. Private to the session. */
#ifndef TL_SESSION_WORKER_H
#define TL_SESSION_WORKER_H

/* The thread's function; context is the struct tl_session. */
void *session_worker(void *context);

#endif
