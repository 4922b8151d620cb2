/* Changing settings of this machine: the only code of tightlink that does.
 *
 * A remedy is a text that a rule made, and a rule may be hostile. So nothing here runs a command
 * or a shell: the text must be exactly "sysctl -w KEY=VALUE ..." with keys of a closed list, whole
 * numbers in the list's bounds (or a known word), and what it would write goes to /proc/sys by
 * itself; or "ip route replace ADDRESS [via ADDRESS] dev NAME congctl WORD", a route to one address
 * that goes to the kernel by rtnetlink and only where none of its own leads there yet. Limits and
 * buffers are only ever raised. Everything else is refused as "by hand".
 *
 * The way of a change: tl_fix_parse, tl_fix_read (what is set now), tl_fix_undo_write (a file of
 * mode 0600, on the disk before anything changes), tl_fix_apply (each value read back), and later
 * tl_fix_restore with tl_fix_undo_remove. A process that dies at any moment leaves the undo file,
 * with which the next one restores.
 *
 * Threads: one at a time; across processes tl_fix_lock keeps a second one out. */
#ifndef TL_FIX_FIX_H
#define TL_FIX_FIX_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlink/base/status.h"

#define TL_FIX_SETTINGS_MAX 8
#define TL_FIX_VALUE_SIZE   160 /* a route of IPv6 has some 130 */
#define TL_FIX_PATH_SIZE    512

/* Where the kernel shows its settings; tests put a folder of their own in its place. */
#define TL_FIX_ROOT "/proc/sys"

struct tl_fix_setting {
    const char *key; /* "net.ipv4.tcp_rmem" or "ip route", static storage */
    char before[TL_FIX_VALUE_SIZE], after[TL_FIX_VALUE_SIZE]; /* one blank between numbers */
};

/* One change of several settings. Plain data. */
struct tl_fix {
    const char *root; /* TL_FIX_ROOT */
    size_t count;
    struct tl_fix_setting settings[TL_FIX_SETTINGS_MAX];
};

/* Adds the settings of one remedy to an initialised fix. TL_UNSUPPORTED with a half sentence
 * where the text is of no kind that is known here, TL_RANGE for a value out of bounds, TL_LIMIT
 * for too many; the fix is untouched then. */
enum tl_status tl_fix_parse(const char *command, struct tl_fix *fix,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Reads what is set now into `before` and drops what is set already. TL_RANGE where a limit
 * would be lowered, TL_IO or TL_DENIED where a setting cannot be read. */
enum tl_status tl_fix_read(struct tl_fix *fix, struct tl_error *reterr) TL_WARN_UNUSED;

/* Called after each step that changed something on this machine, with a word for it. */
typedef void tl_fix_step(const char *step, const char *key, void *context);

/* Writes each `after` and reads it back: the kernel may clamp or refuse. On failure everything
 * that was set is set back and the error says what the kernel did. */
enum tl_status tl_fix_apply(const struct tl_fix *fix, tl_fix_step *step, void *context,
                            struct tl_error *reterr) TL_WARN_UNUSED;

/* Sets each `before` again where `after` is still set. What somebody else changed meanwhile is
 * left alone: TL_BUSY names it, and the others are restored nevertheless. */
enum tl_status tl_fix_restore(const struct tl_fix *fix, tl_fix_step *step, void *context,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* $XDG_STATE_HOME/tightlink where that is set and absolute, else /var/lib/tightlink. Makes it
 * (0700) and refuses one that others may write into. */
enum tl_status tl_fix_directory(char ret_path[TL_FIX_PATH_SIZE],
                                struct tl_error *reterr) TL_WARN_UNUSED;

/* Keeps other processes out until the descriptor is closed; TL_BUSY while another is at work. */
enum tl_status tl_fix_lock(const char *directory, int *ret_fd,
                           struct tl_error *reterr) TL_WARN_UNUSED;

/* Writes a new undo file, file and folder synced; ret_path is its name. */
enum tl_status tl_fix_undo_write(const struct tl_fix *fix, const char *directory,
                                 char ret_path[TL_FIX_PATH_SIZE],
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* The newest undo file of a directory; TL_UNKNOWN where there is none. ret_left (may be NULL):
 * how many older ones there are. */
enum tl_status tl_fix_undo_find(const char *directory, char ret_path[TL_FIX_PATH_SIZE],
                                size_t *ret_left, struct tl_error *reterr) TL_WARN_UNUSED;

/* Reads one. It must be this user's own, of mode 0600, and name only settings that are known
 * here; it is as foreign as a rule. */
enum tl_status tl_fix_undo_read(const char *path, struct tl_fix *ret_fix,
                                struct tl_error *reterr) TL_WARN_UNUSED;
/* The same for a text; for the fuzzer. */
enum tl_status tl_fix_undo_parse(const char *text, size_t len, struct tl_fix *ret_fix,
                                 struct tl_error *reterr) TL_WARN_UNUSED;

/* Removes it once everything is as it was. */
enum tl_status tl_fix_undo_remove(const char *path, struct tl_error *reterr) TL_WARN_UNUSED;

#endif
