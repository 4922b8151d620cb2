/* Reading the kernel's text files: /proc, /sys and control groups.
 *
 * Every function takes a root that is put before the path ("" for this machine), so
 * that recorded files can be read in its place. Content is treated as foreign: nothing
 * longer than a fixed buffer is taken, no number without digits is a number. */
#ifndef TL_HOST_PROC_H
#define TL_HOST_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/host/value.h"

#define TL_PROC_PATH_SIZE 1024
/* Longer lines are passed over. The longest one needed, the names of
 * /proc/net/netstat, has some 2,500 bytes in Linux 6.18. */
#define TL_PROC_LINE_SIZE 8192

/* The reason that fits an errno of opening or reading a file. */
enum tl_host_why tl_proc_why(int errnum);

/* Reads a file that is shorter than size into ret_text, NUL-terminated, without the
 * newlines at its end. KNOWN, or why not (TOO_LONG when it does not fit);
 * ret_text is "" then. */
enum tl_host_why tl_proc_read(const char *root, const char *path, char *ret_text,
                              size_t size) TL_WARN_UNUSED;

/* Gives each line without its newline to fn until that returns false. A last line
 * without a newline counts. KNOWN, or why the file could not be read; lines that were
 * given before a read failed stay given. */
typedef bool (*tl_proc_line_fn)(char *line, void *context);
enum tl_host_why tl_proc_each_line(const char *root, const char *path, tl_proc_line_fn fn,
                                   void *context) TL_WARN_UNUSED;

/* Takes one number from the start of *at, after blanks, and moves *at behind it; it has
 * to end at a blank, a line's end or the text's end. False, *at untouched, where there
 * is none or it does not fit. */
bool tl_proc_take_u64(const char **at, uint64_t *ret_number) TL_WARN_UNUSED;
bool tl_proc_take_hex(const char **at, uint64_t *ret_number) TL_WARN_UNUSED;
/* The same with a sign and decimals ("-1", "0.15"), whatever the locale. */
bool tl_proc_take_decimal(const char **at, double *ret_number) TL_WARN_UNUSED;

#endif
