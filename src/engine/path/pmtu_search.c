/* The path MTU search as a state machine; see pmtu.h.
 *
 *   first   base and the interface's own MTU (and Ethernet's): most paths end here
 *   report  what a router reported is tried next, alone
 *   between the next byte, usual MTUs and an even split between what passed and what failed,
 *           until they meet
 *   confirm the border once more: three lost probes may be chance, or a line that was down
 *           meanwhile; in two rounds something has to pass beside what does not
 */
#include <string.h>

#include "tightlink/engine/pmtu.h"

/* MTUs that links and tunnels are given: IPv6's least, PPPoE and its kin, GRE, IPsec, WireGuard,
 * VXLAN, FDDI, frame relay, jumbo frames. */
static const int usual[] = {296,  576,  700,  900,  1000, 1100, 1200, 1240, 1280, 1300, 1360, 1380,
                            1400, 1412, 1420, 1430, 1436, 1438, 1440, 1450, 1454, 1458, 1460, 1462,
                            1468, 1472, 1476, 1480, 1484, 1488, 1492, 1496, 1500, 1600, 2002, 2048,
                            2272, 3000, 4000, 4352, 4464, 4470, 6000, 7000, 8000, 8166, 8192, 8500,
                            8900, 8950, 9000, 9100, 9180, 9192, 9216, 9244};
#define USUAL_COUNT (sizeof usual / sizeof *usual)

#define CONFIRM_ROUNDS 2

void tl_pmtu_search_init(struct tl_pmtu_search *search, int max_bytes)
{
    memset(search, 0, sizeof *search);
    search->max_bytes = max_bytes;
    search->failed_bytes = max_bytes + 1;
}

static void add_size(struct tl_pmtu_search *search, int bytes)
{
    if (bytes <= 0 || bytes > search->max_bytes || search->size_count == TL_PMTU_ROUND_MAX)
        return;
    for (size_t i = 0; i < search->size_count; i++)
        if (search->sizes[i] == bytes)
            return;
    search->sizes[search->size_count++] = bytes;
}

static void plan_first(struct tl_pmtu_search *search)
{
    search->base_asked = true;
    add_size(search,
             search->max_bytes < TL_PMTU_BASE_BYTES ? search->max_bytes : TL_PMTU_BASE_BYTES);
    if (search->max_bytes > 1500)
        add_size(search, 1500);
    add_size(search, search->max_bytes);
}

/* All sizes between the bounds, and the lower one as well, where they fit into a round. Else the
 * next byte, as a usual size is often the very border; then the usual ones, evenly chosen; then an
 * even split in what room is left. */
static void plan_between(struct tl_pmtu_search *search, int low, int high)
{
    if (high - low <= TL_PMTU_ROUND_MAX) {
        for (int bytes = low; bytes < high; bytes++)
            add_size(search, bytes);
        return;
    }
    size_t first = 0, count = 0;
    for (size_t i = 0; i < USUAL_COUNT; i++) {
        if (usual[i] <= low)
            first = i + 1;
        else if (usual[i] < high)
            count++;
    }
    if (low != 1500)
        add_size(search, low + 1);
    size_t wanted = count < TL_PMTU_ROUND_MAX - 1 ? count : TL_PMTU_ROUND_MAX - 1;
    for (size_t i = 0; i < wanted; i++)
        add_size(search, usual[first + i * count / wanted]);
    int gap = high - low, parts = (int)(TL_PMTU_ROUND_MAX - search->size_count) + 1;
    for (int i = 1; i < parts; i++)
        if (low + gap * i / parts > (low == 1500 ? 1600 : low))
            add_size(search, low + gap * i / parts);
}

/* Ethernet gear of MTU 1500 lets tags and some bytes more through. A search between would find
 * that slack only, and draw reports that traffic of full size never does. */
static bool is_slack(int low, int high)
{
    return low == 1500 && high <= 1600;
}

/* What a router said explains the border; nothing is lost in silence then. */
static bool is_explained(const struct tl_pmtu_search *search)
{
    return search->reported_bytes > 0 && search->failed_bytes == search->reported_bytes + 1;
}

bool tl_pmtu_search_is_over(const struct tl_pmtu_search *search)
{
    int low = search->passed_bytes, high = search->failed_bytes;
    if (low >= search->max_bytes || (low == 0 && high <= usual[0])) /* all pass, or none */
        return true;
    bool border = high - low == 1 || is_slack(low, high);
    return border && (is_explained(search) || search->confirmed >= CONFIRM_ROUNDS);
}

size_t tl_pmtu_search_round(struct tl_pmtu_search *search, int ret_sizes[TL_PMTU_ROUND_MAX])
{
    int low = search->passed_bytes, high = search->failed_bytes;
    search->size_count = 0;
    search->passes_now = false;
    if (search->rounds++ >= TL_PMTU_ROUNDS_MAX || tl_pmtu_search_is_over(search))
        return 0;
    if (!search->base_asked) {
        plan_first(search);
    } else if (is_explained(search) && low < search->reported_bytes) {
        add_size(search, search->reported_bytes);
    } else if (high - low == 1 || is_slack(low, high)) {
        add_size(search, low);
        add_size(search, high);
    } else {
        plan_between(search, low, high);
    }
    memcpy(ret_sizes, search->sizes, search->size_count * sizeof *ret_sizes);
    return search->size_count;
}

void tl_pmtu_search_passed(struct tl_pmtu_search *search, int bytes)
{
    if (bytes > search->passed_bytes)
        search->passed_bytes = bytes;
    search->passes_now = true;
    if (bytes >= search->failed_bytes) { /* chance had lost three */
        search->failed_bytes = search->max_bytes + 1;
        search->confirmed = 0;
    }
}

static void fail(struct tl_pmtu_search *search, int bytes)
{
    if (bytes > search->passed_bytes && bytes < search->failed_bytes) {
        search->failed_bytes = bytes;
        search->confirmed = 0;
    }
}

void tl_pmtu_search_reported(struct tl_pmtu_search *search, int sent_bytes, int mtu_bytes)
{
    if (mtu_bytes < 68 || mtu_bytes >= sent_bytes || mtu_bytes < search->passed_bytes)
        return; /* RFC 8899, 4.6.1: reports are hints, checked against what is known */
    if (search->reported_bytes == 0 || mtu_bytes < search->reported_bytes)
        search->reported_bytes = mtu_bytes;
    fail(search, mtu_bytes + 1);
}

void tl_pmtu_search_too_long(struct tl_pmtu_search *search, int bytes)
{
    if (bytes > search->max_bytes || bytes <= search->passed_bytes)
        return;
    search->max_bytes = bytes - 1;
    if (search->failed_bytes > bytes)
        search->failed_bytes = bytes;
}

void tl_pmtu_search_round_over(struct tl_pmtu_search *search)
{
    bool has_border = false;
    for (size_t i = 0; i < search->size_count; i++)
        fail(search, search->sizes[i]);
    for (size_t i = 0; i < search->size_count; i++)
        has_border |= search->sizes[i] == search->failed_bytes;
    search->confirmed += has_border && search->passes_now;
}

bool tl_pmtu_search_wants(const struct tl_pmtu_search *search, int bytes)
{
    if (bytes > search->max_bytes)
        return false;
    if (bytes > search->passed_bytes && bytes < search->failed_bytes)
        return true;
    return bytes == search->failed_bytes && !is_explained(search); /* the border, once more */
}

bool tl_pmtu_search_is_settled(const struct tl_pmtu_search *search)
{
    for (size_t i = 0; i < search->size_count; i++)
        if (tl_pmtu_search_wants(search, search->sizes[i]))
            return false;
    return true;
}
