/* What the views of a capture's connections share. */
#ifndef TL_TUI_PACKETS_H
#define TL_TUI_PACKETS_H

#include "grid.h"
#include "state.h"

/* "(!) " and its ink; "receive buffer", or why there is none: what is known of a connection. */
const char *tui_packets_mark(const struct tl_app_pcap_row *row, enum tui_ink *ret_ink);
const char *tui_packets_cause(const struct tui_state *state, const struct tl_app_pcap_row *row);

/* The sentence and the numbers of one connection; returns the rows used. */
int tui_packets_words(const struct tui_state *state, const struct tl_app_pcap_row *flow,
                      struct tui_grid *grid, int at, int rows);

/* Plots of packets->series into rows row to last (exclusive), with the cursor where it is a step
 * (-1: none). Fewer rows than these show nothing. */
#define TUI_PACKETS_PLOT_ROWS 5
void tui_packets_plots(const struct tui_packets *packets, enum tui_packets_plot plot, int cursor,
                       struct tui_grid *grid, int row, int last);

#endif
