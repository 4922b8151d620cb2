/* The only place where kilo, mega and milliseconds exist.
 *
 * Inside the program rates are payload bits a second (double, _bps), sizes are
 * bytes, times nanoseconds, shares ratios 0 to 1. Here they become text for
 * people, and people's text becomes them. */
#ifndef TL_BASE_UNITS_H
#define TL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"

/* bytes moved in ns -> bit/s. ns <= 0 gives NAN. */
double tl_bps_from_bytes_ns(double bytes, double ns);

/* bit/s over ns -> bytes, for instance the BDP from rate and RTT. */
double tl_bytes_from_bps_ns(double bps, double ns);

/* Longest text of the formatters below with its NUL. */
#define TL_UNIT_TEXT_SIZE 32

/* "99.9 Mb/s", "526 kb/s", "1.32 Gb/s": three significant digits, decimal. */
const char *tl_format_bps(double bps, char ret_text[TL_UNIT_TEXT_SIZE]);
/* A number no more exact than it is known: to the decimal place that its uncertainty (a half width,
 * in its unit) leaves, and to two significant digits at least. 96.13 known to 0.2 is 96.1, known to
 * 2 it is 96; 193 known to 10 is 190. Unchanged where the uncertainty is 0 or NAN. */
double tl_round_known(double value, double uncertainty);
/* The rate so rounded, without digits that say nothing: "4.1 Mb/s". */
const char *tl_format_bps_known(double bps, double uncertainty_bps,
                                char ret_text[TL_UNIT_TEXT_SIZE]);
/* The same of a rate that lies between two bounds; as tl_format_bps() where they are NAN. */
const char *tl_format_bps_bounded(double bps, double low_bps, double high_bps,
                                  char ret_text[TL_UNIT_TEXT_SIZE]);
/* "512 KiB", "1.5 MiB", "87 B": binary, as socket buffers are configured. */
const char *tl_format_bytes(double bytes, char ret_text[TL_UNIT_TEXT_SIZE]);
/* "1.4 GB", "280 MB": decimal, as amounts of traffic are counted. */
const char *tl_format_traffic(double bytes, char ret_text[TL_UNIT_TEXT_SIZE]);
/* "42 ms", "0.61 ms", "3.2 s", "13 min", "180 us". */
const char *tl_format_ns(double ns, char ret_text[TL_UNIT_TEXT_SIZE]);
/* The time no more exact than it is known, as tl_format_bps_known(). */
const char *tl_format_ns_known(double ns, double uncertainty_ns, char ret_text[TL_UNIT_TEXT_SIZE]);
/* "91 %", "0.10 %", "0.0005 %". */
const char *tl_format_ratio(double ratio, char ret_text[TL_UNIT_TEXT_SIZE]);

/* "900M", "900 Mb/s", "1.5Gbit", "64k", "2e9" -> bit/s. "MB/s" means bytes.
 * TL_SYNTAX or TL_RANGE (zero, negative, above 1 Pb/s) with a sentence. */
enum tl_status tl_parse_bps(const char *text, double *ret_bps,
                            struct tl_error *reterr) TL_WARN_UNUSED;
/* "80ms", "1.5 s", "250us", "16h"; a bare number is seconds. */
enum tl_status tl_parse_ns(const char *text, int64_t *ret_ns,
                           struct tl_error *reterr) TL_WARN_UNUSED;
/* "1.5GB", "200M", "64KiB"; a bare number is bytes. */
enum tl_status tl_parse_bytes(const char *text, int64_t *ret_bytes,
                              struct tl_error *reterr) TL_WARN_UNUSED;

/* Bytes of the word at text, up to the next blank. A number and its unit ("41.8 Mb/s,") are one, so
 * that no line ends between them. */
size_t tl_word_length(const char *text);

#endif
