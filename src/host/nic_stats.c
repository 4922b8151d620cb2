/* The driver's own statistics (ethtool -S). Every driver has its own names; a table says
 * which of them mean what we need. Two ioctls, open to any user (net/ethtool/ioctl.c). */
#include <linux/ethtool.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "counters.h"
#include "link.h"

/* A card with 128 queues and 20 counters each stays below; what lies behind is not read. */
#define STATS_MAX 8192

/* Names as drivers/net/ethernet spells them. One driver has several names of a meaning where
 * several kinds of the same event add up (frames of bad length beside those of a bad check
 * sum); total and share of one count never stand here together. # stands for the number of a queue:
 * what its queues lost adds up. */
static const struct {
    const char *name;
    enum tl_host_counter_id id;
} name_rows[] = {
    /* The ring, or the card's buffer before it, was full. */
    {"rx_no_dma_resources", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},   /* ixgbe */
    {"rx_missed_errors", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},      /* e1000e, igb, igc, ixgbe */
    {"rx_missed", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},             /* r8169 */
    {"rx_out_of_buffer", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},      /* mlx5 */
    {"rx_discards_phy", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},       /* mlx5, the port's buffer */
    {"port.rx_discards", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},      /* i40e */
    {"port.rx_dropped", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},       /* i40e */
    {"rx_dropped.nic", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},        /* ice */
    {"rx_discards", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},           /* tg3, bnx2x */
    {"rx_brb_discard", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},        /* bnx2x */
    {"rx_fw_discards", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},        /* bnx2 */
    {"rx_total_discard_pkts", TL_HOST_COUNTER_NIC_RX_NO_BUFFER}, /* bnxt */
    {"rx_no_buffer_discards", TL_HOST_COUNTER_NIC_RX_NO_BUFFER}, /* qede */
    {"rx_overruns", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},           /* ena */
    {"pkts rx OOB", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},           /* vmxnet3 */
    {"rx_resource_errors", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},    /* macb */
    {"rx_drops_no_frags", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},     /* be2net */
    {"rx_queue_#_drops", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},      /* igb, virtio_net */
    {"rx#_drops", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},             /* virtio_net from Linux 6.6 on */
    {"rx_queue_drop_cnt[#]", TL_HOST_COUNTER_NIC_RX_NO_BUFFER},  /* gve */
    /* What a bad cable, connector, optic or port makes of a frame. */
    {"rx_crc_errors", TL_HOST_COUNTER_NIC_RX_CRC},                  /* Intel, ixgbe, qede, be2net */
    {"rx_crc_errors_phy", TL_HOST_COUNTER_NIC_RX_CRC},              /* mlx5 */
    {"rx_symbol_err_phy", TL_HOST_COUNTER_NIC_RX_CRC},              /* mlx5 */
    {"port.rx_crc_errors", TL_HOST_COUNTER_NIC_RX_CRC},             /* i40e */
    {"rx_crc_errors.nic", TL_HOST_COUNTER_NIC_RX_CRC},              /* ice */
    {"rx_fcs_errors", TL_HOST_COUNTER_NIC_RX_CRC},                  /* tg3, bnx2 */
    {"rx_fcs_err_frames", TL_HOST_COUNTER_NIC_RX_CRC},              /* bnxt */
    {"rx_align_errors", TL_HOST_COUNTER_NIC_RX_CRC},                /* e1000e, igb, tg3, bnx2x */
    {"align_errors", TL_HOST_COUNTER_NIC_RX_CRC},                   /* r8169 */
    {"rx_frame_check_sequence_errors", TL_HOST_COUNTER_NIC_RX_CRC}, /* macb */
    {"mmc_rx_crc_error", TL_HOST_COUNTER_NIC_RX_CRC},               /* stmmac */
    /* IEEE 802.3, annex 31B. Cards that count "off" and "on" apart: "off" alone, since each
     * pause has one. */
    {"rx_flow_control_xoff", TL_HOST_COUNTER_NIC_RX_PAUSE},  /* e1000e, igb, ixgbe */
    {"rx_pause_ctrl_phy", TL_HOST_COUNTER_NIC_RX_PAUSE},     /* mlx5 */
    {"port.link_xoff_rx", TL_HOST_COUNTER_NIC_RX_PAUSE},     /* i40e */
    {"link_xoff_rx.nic", TL_HOST_COUNTER_NIC_RX_PAUSE},      /* ice */
    {"rx_xoff_pause_rcvd", TL_HOST_COUNTER_NIC_RX_PAUSE},    /* tg3 */
    {"rx_xoff_frames", TL_HOST_COUNTER_NIC_RX_PAUSE},        /* bnx2 */
    {"rx_pause_frames", TL_HOST_COUNTER_NIC_RX_PAUSE},       /* bnx2x, bnxt, macb, qede, be2net */
    {"mmc_rx_pause_framectr", TL_HOST_COUNTER_NIC_RX_PAUSE}, /* stmmac */
    {"mmc_rx_pause_frames", TL_HOST_COUNTER_NIC_RX_PAUSE},   /* stmmac */
    {"tx_flow_control_xoff", TL_HOST_COUNTER_NIC_TX_PAUSE},  /* e1000e, igb, ixgbe */
    {"tx_pause_ctrl_phy", TL_HOST_COUNTER_NIC_TX_PAUSE},     /* mlx5 */
    {"port.link_xoff_tx", TL_HOST_COUNTER_NIC_TX_PAUSE},     /* i40e */
    {"link_xoff_tx.nic", TL_HOST_COUNTER_NIC_TX_PAUSE},      /* ice */
    {"tx_xoff_sent", TL_HOST_COUNTER_NIC_TX_PAUSE},          /* tg3 */
    {"tx_xoff_frames", TL_HOST_COUNTER_NIC_TX_PAUSE},        /* bnx2 */
    {"tx_pause_frames", TL_HOST_COUNTER_NIC_TX_PAUSE},       /* bnx2x, bnxt, macb, qede */
    /* After 64 bytes a collision means that the other end does not listen (clause 4.2.3.2). */
    {"tx_abort_late_coll", TL_HOST_COUNTER_NIC_LATE_COLLISIONS}, /* e1000e, igb */
    {"tx_late_collisions", TL_HOST_COUNTER_NIC_LATE_COLLISIONS}, /* tg3, bnx2, macb */
    {"tx_late_collision", TL_HOST_COUNTER_NIC_LATE_COLLISIONS},  /* bnx2x */
    /* What a provider's hypervisor held back or dropped, beyond what this machine may have. */
    {"bw_in_allowance_exceeded", TL_HOST_COUNTER_NIC_ALLOWANCE_RATE},            /* ena */
    {"bw_out_allowance_exceeded", TL_HOST_COUNTER_NIC_ALLOWANCE_RATE},           /* ena */
    {"pps_allowance_exceeded", TL_HOST_COUNTER_NIC_ALLOWANCE_PACKETS},           /* ena */
    {"linklocal_allowance_exceeded", TL_HOST_COUNTER_NIC_ALLOWANCE_PACKETS},     /* ena */
    {"conntrack_allowance_exceeded", TL_HOST_COUNTER_NIC_ALLOWANCE_CONNECTIONS}, /* ena */
};

/* Whether a driver's name is that of a row. A name of full length has no end of its own. */
static bool is_name(const char *name, const char *row)
{
    size_t at = 0;

    for (; *row; row++) {
        if (*row != '#') {
            if (at == ETH_GSTRING_LEN || name[at++] != *row)
                return false;
            continue;
        }
        size_t first = at;
        while (at < ETH_GSTRING_LEN && name[at] >= '0' && name[at] <= '9')
            at++;
        if (at == first)
            return false;
    }
    return at == ETH_GSTRING_LEN || name[at] == '\0';
}

void tl_counters_take_nic(struct tl_host_counters *counters, const char *names,
                          const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = names + i * ETH_GSTRING_LEN;

        for (size_t row = 0; row < sizeof(name_rows) / sizeof(name_rows[0]); row++) {
            enum tl_host_counter_id id = name_rows[row].id;

            if (!is_name(name, name_rows[row].name))
                continue;
            counters->counts[id] += values[i];
            counters->why[id] = TL_HOST_WHY_KNOWN;
        }
    }
}

/* How many statistics the driver has. */
static enum tl_host_why ask_count(int fd, const char *name, uint32_t *ret_count)
{
    union { /* the answer follows the structure: one count, as one set was asked for */
        struct ethtool_sset_info info;
        uint32_t words[sizeof(struct ethtool_sset_info) / sizeof(uint32_t) + 1];
    } ask = {.info = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_STATS}};
    const size_t at = sizeof(struct ethtool_sset_info) / sizeof(uint32_t);
    enum tl_host_why why = tl_ethtool_ioctl(fd, name, &ask);

    if (why == TL_HOST_WHY_KNOWN && (ask.info.sset_mask == 0 || ask.words[at] == 0))
        why = TL_HOST_WHY_NO_ANSWER;
    if (why == TL_HOST_WHY_KNOWN && ask.words[at] > STATS_MAX)
        why = TL_HOST_WHY_TOO_LONG;
    *ret_count = ask.words[at];
    return why;
}

/* The kernel writes as many as the driver has now: a card that grew queues since it was
 * asked for the count would write past the end, so there is room for twice as many. */
static enum tl_host_why ask_stats(int fd, const char *name, uint32_t count,
                                  struct tl_host_counters *counters)
{
    size_t room = (size_t)count * 2;
    struct ethtool_gstrings *names = calloc(1, sizeof(*names) + room * ETH_GSTRING_LEN);
    struct ethtool_stats *values = calloc(1, sizeof(*values) + room * sizeof(uint64_t));
    enum tl_host_why why = TL_HOST_WHY_IO;

    if (names && values) {
        *names = (struct ethtool_gstrings){
            .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = count};
        *values = (struct ethtool_stats){.cmd = ETHTOOL_GSTATS, .n_stats = count};
        why = tl_ethtool_ioctl(fd, name, names);
        if (why == TL_HOST_WHY_KNOWN)
            why = tl_ethtool_ioctl(fd, name, values);
        /* Names and values of different counts cannot be matched. */
        if (why == TL_HOST_WHY_KNOWN && (names->len != count || values->n_stats != count))
            why = TL_HOST_WHY_MALFORMED;
        if (why == TL_HOST_WHY_KNOWN)
            tl_counters_take_nic(counters, (const char *)names->data, (uint64_t *)values->data,
                                 count);
    }
    free(names);
    free(values);
    return why;
}

enum tl_host_why tl_counters_read_nic(struct tl_host_counters *counters, int ifindex)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char name[IF_NAMESIZE] = "";
    enum tl_host_why why = TL_HOST_WHY_IO;
    uint32_t count;

    if (fd >= 0 && if_indextoname((unsigned)ifindex, name)) {
        why = ask_count(fd, name, &count);
        if (why == TL_HOST_WHY_KNOWN)
            why = ask_stats(fd, name, count, counters);
    }
    if (fd >= 0)
        close(fd);
    return why;
}
