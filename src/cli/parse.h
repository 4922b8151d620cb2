/* Values of options, from text to numbers. Pure: prints nothing, so that unit tests can
 * hold every refusal. Private to src/cli.
 *
 * Each returns TL_OK, or TL_SYNTAX, TL_RANGE or TL_USAGE with a sentence that quotes what
 * was written (as it was written: whoever prints it cleans it) and says what to write.
 * Outputs are untouched on failure. */
#ifndef TL_CLI_PARSE_H
#define TL_CLI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlink/base/status.h"
#include "tightlink/facts/run.h"

/* The least that a budget must allow: a loading stage shorter than 3 s tells nothing that
 * counts (promises.md, "too short"), and one with less data ends before slow start does. */
#define CLI_TIME_BUDGET_MIN_NS    INT64_C(3000000000)
#define CLI_DATA_BUDGET_MIN_BYTES INT64_C(100000)

/* What --goal asks for; 0 where it asks for nothing. */
/* "900M", "900M@80ms", "1TB in 3h", or a service table: "loss<1e-7,rtt<100ms,mtu>=9000", which may
 * have "rate>=900M" too. What is not asked for is 0. */
enum tl_status cli_parse_goals(const char *text, struct tl_run_goal *ret_goal,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* "900M" or "900M@80ms"; *ret_rtt_ns is left alone where no round trip is given. */
enum tl_status cli_parse_goal(const char *text, double *ret_bps, double *ret_rtt_ns,
                              struct tl_error *reterr) TL_WARN_UNUSED;

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* "auto", "always", "never"; TL_USAGE for anything else. */
enum tl_status cli_parse_color(const char *text, enum cli_color *ret_color,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* "download", "upload" or "both". */
enum tl_status cli_parse_direction(const char *text, bool *ret_download, bool *ret_upload,
                                   struct tl_error *reterr) TL_WARN_UNUSED;

/* 1 to 65535, decimal digits only. */
enum tl_status cli_parse_port(const char *text, uint16_t *ret_port,
                              struct tl_error *reterr) TL_WARN_UNUSED;

enum tl_status cli_parse_time_budget(const char *text, int64_t *ret_ns,
                                     struct tl_error *reterr) TL_WARN_UNUSED;
enum tl_status cli_parse_data_budget(const char *text, int64_t *ret_bytes,
                                     struct tl_error *reterr) TL_WARN_UNUSED;

/* A moment: "30d" or "12h" before now, or a day or time, "2026-11-01", "2026-11-01T12:00:00Z" (a
 * day begins at midnight here). ns since 1970. */
enum tl_status cli_parse_when(const char *text, int64_t now_ns, int64_t *ret_ns,
                              struct tl_error *reterr) TL_WARN_UNUSED;
/* 0 to a billion, decimal digits only. */
enum tl_status cli_parse_count(const char *text, size_t *ret_count,
                               struct tl_error *reterr) TL_WARN_UNUSED;

/* "udp,streams" as a set: bit i for the i-th of tl_session_stage_at(). */
enum tl_status cli_parse_stages(const char *text, uint32_t *ret_set,
                                struct tl_error *reterr) TL_WARN_UNUSED;

#endif
