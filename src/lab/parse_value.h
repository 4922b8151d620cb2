/* Readers of single values of a lab's specification: one function a kind of value.
 * Each stores through ret_value only what was well formed; a sentence otherwise. */
#ifndef TL_LAB_PARSE_VALUE_H
#define TL_LAB_PARSE_VALUE_H

#include "tightlink/base/status.h"

typedef enum tl_status tl_lab_value_reader(const char *text, void *ret_value,
                                           struct tl_error *reterr);

tl_lab_value_reader tl_lab_read_rate;    /* double, bit/s: "50M"; 0 is allowed */
tl_lab_value_reader tl_lab_read_span;    /* int64_t, ns: "20ms" */
tl_lab_value_reader tl_lab_read_size;    /* int64_t, bytes: "64KiB" */
tl_lab_value_reader tl_lab_read_length;  /* int32_t, bytes of one packet */
tl_lab_value_reader tl_lab_read_ratio;   /* double, 0 to 1: "0.1%" */
tl_lab_value_reader tl_lab_read_switch;  /* bool: on, off */
tl_lab_value_reader tl_lab_read_count;   /* int32_t, not negative */
tl_lab_value_reader tl_lab_read_seed;    /* uint64_t */
tl_lab_value_reader tl_lab_read_cc;      /* char[TL_LAB_CC_SIZE] */
tl_lab_value_reader tl_lab_read_family;  /* enum tl_lab_family */
tl_lab_value_reader tl_lab_read_carrier; /* enum tl_lab_carrier */

#endif
