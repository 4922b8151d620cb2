/* The closed list of settings that may be changed, and their values. Private to the fix layer. */
#ifndef TL_FIX_SETTING_H
#define TL_FIX_SETTING_H

#include "tightlink/fix/fix.h"

struct tl_setting_def {
    const char *key;
    unsigned numbers;    /* how many whole numbers the value has; 0: a word */
    long long low, high; /* bounds of each when it is changed */
    bool raise_only;     /* a limit: never below what is set now */
    /* What one of it takes of the memory, and the part of this machine's memory that the last
     * number may take, 1/part; part 0: it takes none. */
    unsigned unit_bytes, part;
    /* How many times what is set now it may become; up to `free` in any case. times 0: the memory
     * is the only limit (buffers, whose size comes from the path). */
    unsigned times;
    long long free;
};

/* NULL for a key that is not on the list. */
const struct tl_setting_def *tl_setting_find(const char *key, size_t len);

/* Brings a value into its one form, "4096 131072 6291456", and checks it. With `bounds` also
 * against low and high; without (what the kernel or an undo file says) only its form. */
enum tl_status tl_setting_normalise(const struct tl_setting_def *def, const char *text, size_t len,
                                    bool bounds, char ret_value[TL_FIX_VALUE_SIZE],
                                    struct tl_error *reterr) TL_WARN_UNUSED;

/* tcp_rmem and tcp_wmem: minimum and default are this kernel's, whatever a remedy or its file says;
 * only the maximum is taken from there. Other settings stay. */
void tl_setting_keep_start(const struct tl_setting_def *def, const char *before,
                           char after[TL_FIX_VALUE_SIZE]);

/* Whether the last number takes more than its part of this machine's memory; memory_bytes 0: not
 * known. */
bool tl_setting_exceeds_memory(const struct tl_setting_def *def, const char *after,
                               long long memory_bytes);

/* Whether any number is many times what this kernel has now, which no remedy of a run of this
 * host asks for: "twice as much" was reckoned from a file. Both are normalised. */
bool tl_setting_leaps(const struct tl_setting_def *def, const char *before, const char *after);

/* Whether any number of `after` lies below that of `before`; both are normalised. */
bool tl_setting_lowers(const struct tl_setting_def *def, const char *before, const char *after);

/* The key of a route's congestion control (route.h), which is no file below /proc/sys. */
#define TL_SETTING_ROUTE "ip route"

/* The kernel's value in its one form. like: the value that is to be set, or was: it names the
 * route. */
enum tl_status tl_setting_get(const char *root, const char *key, const char *like,
                              char ret_value[TL_FIX_VALUE_SIZE],
                              struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status tl_setting_set(const char *root, const char *key, const char *value,
                              struct tl_error *reterr) TL_WARN_UNUSED;

#endif
