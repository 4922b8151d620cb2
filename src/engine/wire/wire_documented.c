/* Where doc/wire.md has each layout's table: behind the first line that begins so. */
#include "wire_layout.h"

#define FRAME(name)                                                                                \
    {                                                                                              \
        &wire_layout_##name, NULL                                                                  \
    }

const struct wire_documented wire_documented[] = {
    FRAME(hello),
    FRAME(welcome),
    FRAME(error),
    FRAME(test_tcp),
    FRAME(ready),
    FRAME(busy),
    FRAME(data_hello),
    FRAME(data_ok),
    FRAME(started),
    FRAME(samples),
    FRAME(readings),
    FRAME(test_disk),
    FRAME(disk_result),
    {&wire_layout_disk_times, "Each of the two:"},
    FRAME(test_file),
    FRAME(sums),
    {&wire_layout_sum, "A block:"},
    FRAME(file_end),
    FRAME(dial),
    FRAME(syn_query),
    FRAME(syn_report),
    FRAME(test_end),
    {&wire_layout_total, "A total:"},
    {&wire_layout_udp_prove, "Types 1 to 4, 64 bytes each:"},
    {&wire_layout_udp_probe, "Type 5, PROBE"},
    {&wire_layout_udp_reply, "Type 6, REPLY"},
    {&wire_layout_udp_path_probe, "Type 30, PATH_PROBE"},
    {&wire_layout_udp_path_answer, "Type 31, PATH_ANSWER"},
    {&wire_layout_udp_path_report, "Type 32, PATH_REPORT"},
    FRAME(test_udp),
    FRAME(udp_start),
    FRAME(udp_report),
    FRAME(udp_series),
    {&wire_layout_udp_data, "Type 7, DATA"},
    {&wire_layout_udp_feedback, "Type 8, FEEDBACK"},
};
const size_t wire_documented_count = sizeof wire_documented / sizeof *wire_documented;
