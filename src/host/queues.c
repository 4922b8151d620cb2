/* Queues of the interface and the cores on which its interrupts land. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "proc.h"

/* A card with a queue for each of 256 cores has some 260 interrupts; more are not looked at. */
#define IRQS_MAX  512
#define CORES_MAX 256
/* A core with less of the interrupts than that takes no part in the work. */
#define CORE_SHARE_MIN 0.05

/* Calls visit for each entry of a directory below root. KNOWN or why not. */
typedef void (*entry_fn)(const char *name, void *context);
static enum tl_host_why each_entry(const char *root, const char *path, entry_fn visit,
                                   void *context)
{
    char full[TL_PROC_PATH_SIZE];
    struct dirent *entry;
    DIR *dir;

    if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
        return TL_HOST_WHY_TOO_LONG;
    dir = opendir(full);
    if (!dir)
        return tl_proc_why(errno);
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            visit(entry->d_name, context);
    closedir(dir);
    return TL_HOST_WHY_KNOWN;
}

struct queues {
    const char *root, *name;
    double rx, tx;
    bool rps, rps_read;
};

/* "00000000,000000ff": any bit set */
static bool has_bit(const char *mask)
{
    return mask[strspn(mask, "0,")] != '\0';
}

static void take_queue(const char *name, void *context)
{
    struct queues *queues = context;
    char path[TL_PROC_PATH_SIZE], mask[256];

    queues->tx += strncmp(name, "tx-", 3) == 0;
    if (strncmp(name, "rx-", 3) != 0)
        return;
    queues->rx++;
    if (snprintf(path, sizeof(path), "/sys/class/net/%s/queues/%.32s/rps_cpus", queues->name,
                 name) >= (int)sizeof(path) ||
        tl_proc_read(queues->root, path, mask, sizeof(mask)) != TL_HOST_WHY_KNOWN)
        return;
    queues->rps_read = true;
    queues->rps |= has_bit(mask);
}

static void read_queues(struct tl_host_value *numbers, const char *root, const char *name)
{
    struct queues queues = {.root = root, .name = name};
    char path[TL_PROC_PATH_SIZE];
    enum tl_host_why why;

    snprintf(path, sizeof(path), "/sys/class/net/%s/queues", name);
    why = each_entry(root, path, take_queue, &queues);
    numbers[TL_HOST_LINK_RX_QUEUES] = numbers[TL_HOST_LINK_TX_QUEUES] = tl_host_unknown(why);
    numbers[TL_HOST_LINK_RPS] =
        tl_host_unknown(why == TL_HOST_WHY_KNOWN ? TL_HOST_WHY_ABSENT : why);
    if (why != TL_HOST_WHY_KNOWN)
        return;
    numbers[TL_HOST_LINK_RX_QUEUES] = tl_host_known(queues.rx);
    numbers[TL_HOST_LINK_TX_QUEUES] = tl_host_known(queues.tx);
    if (queues.rps_read)
        numbers[TL_HOST_LINK_RPS] = tl_host_known(queues.rps);
}

struct interrupts {
    unsigned irqs[IRQS_MAX];
    size_t count;
    unsigned cores;
    double per_core[CORES_MAX], all;
    bool headed;
};

static void take_irq(const char *name, void *context)
{
    struct interrupts *interrupts = context;
    char *end;
    unsigned long irq = strtoul(name, &end, 10);

    if (*end == '\0' && end != name && irq < UINT16_MAX && interrupts->count < IRQS_MAX)
        interrupts->irqs[interrupts->count++] = (unsigned)irq;
}

static bool is_ours(const struct interrupts *interrupts, uint64_t irq)
{
    for (size_t i = 0; i < interrupts->count; i++)
        if (interrupts->irqs[i] == irq)
            return true;
    return false;
}

/* "           CPU0       CPU1", then " 41:       1919          0 PCI-MSIX-… virtio3-rx".
 * The place of a number among its line's is the place of its core in the first line. */
static bool take_interrupts(char *line, void *context)
{
    struct interrupts *interrupts = context;
    char *colon = strchr(line, ':');
    const char *at = line;
    uint64_t number;

    if (!interrupts->headed) {
        for (const char *cpu = line; (cpu = strstr(cpu, "CPU")); cpu += 3)
            interrupts->cores++;
        interrupts->headed = true;
        return interrupts->cores > 0;
    }
    if (!colon)
        return true;
    *colon = '\0';
    if (!tl_proc_take_u64(&at, &number) || !is_ours(interrupts, number))
        return true;
    at = colon + 1;
    for (unsigned i = 0; i < interrupts->cores && i < CORES_MAX && tl_proc_take_u64(&at, &number);
         i++) {
        interrupts->per_core[i] += (double)number;
        interrupts->all += (double)number;
    }
    return true;
}

static void read_interrupts(struct tl_host_value *numbers, const char *root, const char *name)
{
    struct interrupts interrupts = {.count = 0};
    char path[TL_PROC_PATH_SIZE];
    enum tl_host_why why;
    double cores = 0;

    snprintf(path, sizeof(path), "/sys/class/net/%s/device/msi_irqs", name);
    why = each_entry(root, path, take_irq, &interrupts);
    if (why != TL_HOST_WHY_KNOWN) { /* virtio: the parent is the PCI device */
        snprintf(path, sizeof(path), "/sys/class/net/%s/device/../msi_irqs", name);
        why = each_entry(root, path, take_irq, &interrupts);
    }
    numbers[TL_HOST_LINK_IRQS] =
        why == TL_HOST_WHY_KNOWN ? tl_host_known((double)interrupts.count) : tl_host_unknown(why);
    if (why == TL_HOST_WHY_KNOWN)
        why = tl_proc_each_line(root, "/proc/interrupts", take_interrupts, &interrupts);
    if (why == TL_HOST_WHY_KNOWN && !(interrupts.all > 0))
        why = TL_HOST_WHY_NOT_SET;
    for (unsigned i = 0; i < CORES_MAX; i++)
        cores += interrupts.per_core[i] >= CORE_SHARE_MIN * interrupts.all;
    numbers[TL_HOST_LINK_IRQ_CORES] =
        why == TL_HOST_WHY_KNOWN ? tl_host_known(cores) : tl_host_unknown(why);
}

/* /sys shows the network namespace of whoever mounted it, where another interface may have
 * this name: index and address must both be ours. */
static bool is_same(const char *root, const struct tl_link_context *link, const char *name)
{
    char path[TL_PROC_PATH_SIZE], text[128], address[3 * sizeof(link->address) + 1] = "";
    const char *at = text;
    uint64_t ifindex;

    snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", name);
    if (tl_proc_read(root, path, text, sizeof(text)) != TL_HOST_WHY_KNOWN ||
        !tl_proc_take_u64(&at, &ifindex) || ifindex != (uint64_t)link->ifindex)
        return false;
    for (size_t i = 0; i < link->address_len; i++)
        snprintf(address + strlen(address), sizeof(address) - strlen(address), "%s%02x",
                 i > 0 ? ":" : "", link->address[i]);
    snprintf(path, sizeof(path), "/sys/class/net/%s/address", name);
    return tl_proc_read(root, path, text, sizeof(text)) == TL_HOST_WHY_KNOWN &&
           strcmp(text, address) == 0;
}

/* A name comes from the kernel and has no slash; it is checked all the same, since it becomes
 * part of a path. */
void tl_link_read_queues(const struct tl_link_context *link, const char *root)
{
    struct tl_host_value *numbers = link->settings->numbers;
    const char *name = link->settings->texts[TL_HOST_TEXT_LINK_NAME].text;

    if (name[0] != '\0' && name[0] != '.' && !strchr(name, '/') && strlen(name) <= 32 &&
        is_same(root, link, name)) {
        read_queues(numbers, root, name);
        read_interrupts(numbers, root, name);
        return;
    }
    for (unsigned id = TL_HOST_LINK_RX_QUEUES; id <= TL_HOST_LINK_IRQ_CORES; id++)
        numbers[id] = tl_host_unknown(TL_HOST_WHY_ABSENT);
}
