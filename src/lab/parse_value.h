/* Readers of single values of a lab's specification: one function a kind of value.
 * Each stores through ret_value only what was well formed; a sentence otherwise. */
#ifndef TL_LAB_PARSE_VALUE_H
#define TL_LAB_PARSE_VALUE_H

#include <stdbool.h>

#include "tightlink/base/status.h"

/* Longest pair of a specification: a trace with its folders. */
#define TL_LAB_PAIR_SIZE 300

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
tl_lab_value_reader tl_lab_read_trace;   /* into a struct tl_lab_link_config: a file */

/* Of several parts, or of several fields: into a struct tl_lab_link_config ... */
tl_lab_value_reader tl_lab_read_outage;     /* "6s-9s"; adds one */
tl_lab_value_reader tl_lab_read_delay_step; /* "5s:+30ms"; adds one */
tl_lab_value_reader tl_lab_read_grants;     /* "8ms" or "2ms-10ms" */
tl_lab_value_reader tl_lab_read_radio;      /* "4M-40M" */
tl_lab_value_reader tl_lab_read_leo;        /* "40M-150M" */
tl_lab_value_reader tl_lab_read_wifi;       /* "200M/3/30%" */
tl_lab_value_reader tl_lab_read_aqm;        /* "codel" or "pie,ecn" */
tl_lab_value_reader tl_lab_read_port_loss;  /* "odd:5%" or "1/4:5%" */
tl_lab_value_reader tl_lab_read_strip;      /* "wscale,sack" */
tl_lab_value_reader tl_lab_read_dscp;       /* "8" */
/* ... or a struct tl_lab_host_config, or a struct tl_lab_config. */
tl_lab_value_reader tl_lab_read_disk;    /* host: "on" or "read:40MB/s,write:20MB/s" */
tl_lab_value_reader tl_lab_read_stock;   /* host: a switch */
tl_lab_value_reader tl_lab_read_icmp;    /* lab: "off", "silent" */
tl_lab_value_reader tl_lab_read_pppoe;   /* lab: a switch */
tl_lab_value_reader tl_lab_read_link_at; /* lab: "lan", "3" */

/* Reads "first/second" with a reader for each; shape says what it should be. */
enum tl_status tl_lab_read_two(const char *text, const char *shape,
                               tl_lab_value_reader *first_reader, void *ret_first,
                               tl_lab_value_reader *second_reader, void *ret_second,
                               struct tl_error *reterr);

/* Cuts "first/second" (or another separator) in two; false when it has only one part. */
bool tl_lab_cut(const char *text, char separator, char ret_first[TL_LAB_PAIR_SIZE],
                const char **ret_second);

#endif
