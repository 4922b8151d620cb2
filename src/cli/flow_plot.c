/* A connection of a capture over time in three rows of text: for mails, tickets and eyes. */
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "flow_plot.h"
#include "tightlink/base/units.h"

#define COLUMNS 56
#define LEVELS  8

static const char *const bars[LEVELS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const letters[LEVELS] = {"_", ".", ",", "-", "=", "+", "*", "#"};

/* Of what falls into a column; NAN where nothing is known there. */
static double column_of(const double *values, size_t count, size_t column, size_t columns)
{
    size_t from = column * count / columns, to = (column + 1) * count / columns;
    double sum = 0, known = 0;
    for (size_t i = from; i < to; i++) {
        sum += isfinite(values[i]) ? values[i] : 0;
        known += isfinite(values[i]);
    }
    return known > 0 ? sum / known : (double)NAN;
}

static void print_row(const char *name, const double *values, size_t count,
                      const char *(*format)(double, char *))
{
    const char *const *levels = cli_locale_is_utf8() ? bars : letters;
    size_t columns = count < COLUMNS ? count : COLUMNS;
    char text[TL_UNIT_TEXT_SIZE];
    double most = 0;
    for (size_t i = 0; i < columns; i++)
        most = fmax(most, column_of(values, count, i, columns)); /* ignores NAN */
    if (!(most > 0))
        return;
    printf("  %-11s ", name);
    for (size_t i = 0; i < columns; i++) {
        double value = column_of(values, count, i, columns);
        int level = (int)(value / most * (LEVELS - 1) + 0.5);
        fputs(isnan(value) ? " " : levels[level], stdout);
    }
    printf(" %s\n", format(most, text));
}

void cli_print_over_time(const struct tl_app_pcap_series *series)
{
    char span[TL_UNIT_TEXT_SIZE];
    if (series->count < 2)
        return;
    printf("\nOver its %s, each row from 0 to the number behind it:\n",
           tl_format_ns((double)series->count * series->step_ns, span));
    print_row("throughput", series->rate_bps, series->count, tl_format_bps);
    print_row("round trip", series->rtt_ns, series->count, tl_format_ns);
    print_row("on the way", series->flight_bytes, series->count, tl_format_bytes);
}
