/* UTF-8 from outside: strict decoding, and the one way in which foreign text
 * reaches a terminal (promise P12).
 *
 * Shown as they are: printable characters. Shown as \u{1b}: C0 and C1 controls,
 * DEL, bidirectional controls, zero-width and other invisible characters, line
 * separators, private use and non-characters. Shown as \x{ff}: bytes that are not
 * UTF-8. The answer depends on the text alone, not on the locale. */
#ifndef TL_BASE_UTF8_H
#define TL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/buf.h"

/* Bytes of the character at text (RFC 3629: shortest form, no surrogates, at most
 * U+10FFFF), at most len; 0 when there is none. *ret_char may be NULL. */
size_t tl_utf8_decode(const char *text, size_t len, uint32_t *ret_char);

/* Adds a character in UTF-8; returns its bytes (1 to 4). Surrogates and values
 * above U+10FFFF are our bug (assert). */
size_t tl_utf8_encode(uint32_t character, char ret_bytes[4]);

/* False for everything that the head of this file lists as not shown as it is. */
bool tl_utf8_is_printable(uint32_t character);

/* Cleans len bytes of text into ret_text (size >= 1), always NUL-terminated, cut at
 * a whole character or escape. Returns strlen(ret_text). */
size_t tl_utf8_clean(const char *text, size_t len, char *ret_text, size_t size);

/* Host names, banners, interface names: cleaned and cut at 253 bytes, the longest
 * host name (RFC 1035, section 2.3.4, without the root label). */
#define TL_UTF8_NAME_SIZE 254
size_t tl_utf8_clean_name(const char *name, char ret_text[TL_UTF8_NAME_SIZE]);

/* Adds the cleaned text to a buffer. With ascii, typographic characters become
 * their plain spelling (an arrow "->") and other non-ASCII ones \u{..}. */
void tl_utf8_add_clean(struct tl_buf *buf, const char *text, bool ascii);

/* Columns on a terminal: wcwidth() of each character in a UTF-8 locale, 1 where
 * the locale does not know it; a byte that is not UTF-8 counts 1. */
size_t tl_utf8_width(const char *text);

/* Bytes of the longest start of text that takes at most columns columns. */
size_t tl_utf8_fit(const char *text, size_t columns);

/* Adds the text, cleaned; what takes more columns loses its middle: "srv-b.ex…ple.net" ("..." with
 * ascii). For names, whose ends tell them apart. */
void tl_utf8_add_short(struct tl_buf *buf, const char *text, size_t columns, bool ascii);

#endif
