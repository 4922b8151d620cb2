/* The lines of nuttcp. */
#include <criterion/criterion.h>
#include <string.h>

#include "nuttcp_text.h"

Test(nuttcp_text, the_data_port_follows_the_servers_age)
{
    static const struct {
        const char *line;
        uint16_t port;
    } rows[] = {
        {"HELO nuttcp v6.1.2", 5001}, {"HELO nuttcp v6.2.7", 5001}, {"HELO nuttcp v6.2.8", 5101},
        {"HELO nuttcp v7.0.0", 5101}, {"HELO nuttcp v8.2.2", 5101},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nuttcp_version version;
        cr_assert(nuttcp_read_hello(rows[i].line, &version), "%s", rows[i].line);
        cr_assert_eq(nuttcp_data_port(&version), rows[i].port, "%s", rows[i].line);
    }
}

Test(nuttcp_text, newer_servers_wait_for_their_send_queue)
{
    static const struct {
        struct nuttcp_version version;
        bool waits;
    } rows[] = {{{6, 1, 2}, false}, {{7, 1, 6}, false}, {{7, 2, 1}, false},
                {{7, 2, 2}, true},  {{8, 1, 4}, true},  {{8, 2, 2}, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(nuttcp_waits_for_its_queue(&rows[i].version), rows[i].waits, "row %zu", i);
}

Test(nuttcp_text, what_is_no_greeting_is_none)
{
    static const char *const lines[] = {"",
                                        "HELO",
                                        "HELO nuttcp v",
                                        "HELO nuttcp v6",
                                        "SSH-2.0-x",
                                        "HELO nuttcp v6.1",
                                        "HELO nuttcp v99999.1.2"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct nuttcp_version version = {.major = 77};
        cr_assert(!nuttcp_read_hello(lines[i], &version), "%s", lines[i]);
        cr_assert_eq(version.major, 77, "%s: an output was touched", lines[i]);
    }
}

Test(nuttcp_text, totals_are_read_and_lies_are_not)
{
    uint64_t bytes = 5;
    cr_assert(nuttcp_read_total(
        "nuttcp-r: 546.5000 MB in 1.09 real seconds = 511340.36 KB/sec = 4188.9002 Mbps", &bytes));
    cr_assert_eq(bytes, 573046784);
    static const char *const none[] = {
        "nuttcp-r: 546.5000 MB in 0.08 CPU seconds = 7265192.72 KB/cpu sec",
        "nuttcp-r: -3.0 MB in 1.09 real seconds",
        "nuttcp-r: nan MB in 1.09 real seconds",
        "nuttcp-r: 1e300 MB in 1.09 real seconds",
        "nuttcp-r: inf MB in 1.09 real seconds",
        "nuttcp-x: 1.0 MB in 1.09 real seconds",
        "",
    };
    bytes = 5;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert(!nuttcp_read_total(none[i], &bytes), "%s", none[i]);
    cr_assert_eq(bytes, 5);
}

Test(nuttcp_text, a_test_is_one_line_as_the_server_scans_it)
{
    struct tl_tcp_spec spec = {.direction = TL_WIRE_DOWNLOAD, .streams = 2, .pacing_bps = 16000000};
    struct tl_buf line = TL_BUF_INIT;
    nuttcp_write_test(&spec, 5101, 12.5, &line);
    cr_assert_str_eq(
        tl_buf_text(&line),
        "buflen = 65536, nbuf = 2147483647, win = 0, nstream = 2, rate = 8001, port = 5101, trans "
        "= "
        "0, braindead = 0, timeout = 12.500000, udp = 0, vers = 6.1.2, interval = 0.000000, "
        "reverse "
        "= 1, format = 0, traceroute = 0, irate = 0, thirdparty = _NULL_ , multicast = 0 , datamss "
        "= 0 , tos = 0 , nbuf_bytes = 0 , rate_pps = 0 , nodelay = 0\n");
    tl_buf_finish(&line);
}
