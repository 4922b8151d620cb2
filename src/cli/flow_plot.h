/* Text plots of a connection (tightlink pcap). Private to src/cli. */
#ifndef TL_CLI_FLOW_PLOT_H
#define TL_CLI_FLOW_PLOT_H

#include "tightlink/app/pcap.h"

/* Throughput, round trip and data on the way, a row each, to stdout; in ASCII where the locale has
 * no more. Nothing where it was too short. */
void cli_print_over_time(const struct tl_app_pcap_series *series);

#endif
