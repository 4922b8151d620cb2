/* What the files of app/pcap share. */
#ifndef TL_APP_CAPTURE_RUN_H
#define TL_APP_CAPTURE_RUN_H

#include "tightlink/app/pcap.h"
#include "tightlink/flow/packets.h"

struct tl_app_pcap {
    const struct tl_rules *rules;
    struct tl_packets *packets;
    struct tl_app_pcap_file file;
    int64_t first_ns, last_ns; /* of the file */
    char name[256];
};

/* Facts and findings of one connection; the caller finishes the result. */
enum tl_status pcap_judge(struct tl_app_pcap *pcap, const struct tl_packet_brief *brief,
                          struct tl_session_result *ret_result, struct tl_error *reterr);

/* The connection with that number, from 1. TL_RANGE where there is none. */
enum tl_status pcap_find(const struct tl_app_pcap *pcap, size_t number,
                         struct tl_packet_brief *ret_brief, struct tl_error *reterr);
/* For one that is no more followed in detail: TL_LIMIT, with what to do. */
enum tl_status pcap_no_detail(struct tl_error *reterr);

#endif
