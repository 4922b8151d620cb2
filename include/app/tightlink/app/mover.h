/* The user's own command, run on his terminal, watched while it moves data, and judged by the rules
 * of a diagnosis: `tightlink mover -- scp big host:`.
 *
 * The command has this process' descriptors, terminal and process group, so that its prompts,
 * Ctrl-C and Ctrl-Z work as without us. It is followed as any user may follow his own processes;
 * nothing of it is changed and nothing is sent. Processes that it leaves behind are followed as
 * long as they move data.
 *
 *   start, then until tl_app_mover_is_over(): wait tl_app_mover_step_ns() or for SIGCHLD, step
 *   result
 *
 * One thread, the main one: its children are waited for here. */
#ifndef TL_APP_MOVER_H
#define TL_APP_MOVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tightlink/rules/rules.h"
#include "tightlink/session/session.h"

struct tl_app_mover;

struct tl_app_mover_what {
    char *const *argv;     /* NULL at the end; borrowed */
    const sigset_t *mask;  /* that the command shall have */
    bool output_to_stderr; /* what it prints goes to standard error, as a document goes to stdout */
};

/* Runs it. TL_USAGE: there is no such command, or it may not be run (*ret_missing tells which);
 * TL_IO where the kernel does not tell its connections; TL_NOMEM. rules are borrowed. */
enum tl_status tl_app_mover_start(const struct tl_app_mover_what *what,
                                  const struct tl_rules *rules, struct tl_app_mover **ret_mover,
                                  bool *ret_missing, struct tl_error *reterr) TL_WARN_UNUSED;
/* Does not end the command. Takes NULL. */
void tl_app_mover_destroy(struct tl_app_mover *mover);

/* Until the next step: 5 ms, more where a reading takes long. */
int64_t tl_app_mover_step_ns(const struct tl_app_mover *mover);
enum tl_status tl_app_mover_step(struct tl_app_mover *mover,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* The command has ended, and nothing that it left behind moves data any more. */
bool tl_app_mover_is_over(const struct tl_app_mover *mover);
/* The command itself has ended; what it left behind may go on. */
bool tl_app_mover_has_ended(const struct tl_app_mover *mover);
/* Passes a signal on to the command. */
void tl_app_mover_signal(struct tl_app_mover *mover, int number);

/* What can be said without rules. */
struct tl_app_mover_sum {
    char program[64];                  /* its name, printable */
    int exit_code;                     /* as a shell tells it: 128 + the signal that ended it */
    int signal;                        /* that ended it, 0 for none */
    double run_ns;                     /* from its start to its end */
    double sent_bytes, received_bytes; /* payload over TCP */
    double moving_ns;                  /* from the first byte to the last one */
    size_t connections_count;          /* at the same time, at most */
    size_t ended_count;                /* connections that have ended */
    bool left_behind;                  /* the command has ended, what it started has not */
    bool hidden;                       /* processes of another user are among it */
};
void tl_app_mover_sum(const struct tl_app_mover *mover, struct tl_app_mover_sum *ret_sum);

/* The connection that moved most, judged. TL_UNKNOWN with a sentence where none moved enough. The
 * caller finishes the result (tl_app_result_finish). */
enum tl_status tl_app_mover_result(struct tl_app_mover *mover, struct tl_session_result *ret_result,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* What to measure beside it: host (its far end's address) and direction; and the result judged
 * anew with what that gave. */
void tl_app_mover_config(const struct tl_session_result *result, struct tl_session_config *config);
enum tl_status tl_app_mover_add_measured(const struct tl_rules *rules,
                                         struct tl_session_result *result,
                                         const struct tl_session_result *measured,
                                         struct tl_error *reterr) TL_WARN_UNUSED;

#endif
