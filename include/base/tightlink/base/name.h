/* Names from outside: where they stand in a command that a person may copy, and whose they are. */
#ifndef TL_BASE_NAME_H
#define TL_BASE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* The longest one that is passed; a host's label, an interface, a disk are shorter. A whole host
 * name may have 253 (RFC 1035, section 2.3.4). */
#define TL_COMMAND_NAME_MAX 63
#define TL_COMMAND_HOST_MAX 253

/* Whether a shell, a path and an option parser take this text for nothing but a name:
 * [A-Za-z0-9._:@-] and the characters of `more`, not begun by . or - (a folder above, an option),
 * of 1 to `max` bytes. */
bool tl_is_command_name(const char *text, const char *more, size_t max);

/* A name or an address of this machine alone (RFC 6761, RFC 1122), in lower case; IPv6 with or
 * without brackets. */
bool tl_is_loopback_name(const char *host);

#endif
