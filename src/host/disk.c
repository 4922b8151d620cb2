/* What is under a directory: mountinfo(5) for the file system, /sys/dev/block for the device
 * (Documentation/ABI/stable/sysfs-block), control groups for a throttle. */
#include "tightlink/host/disk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup.h"
#include "proc.h"

#define KIB 1024.0

const char *tl_host_disk_number_name(unsigned id)
{
    static const char *const names[] = {
#define NAME(id, name, unit, from) #name,
        TL_HOST_DISK_NUMBER_MAP(NAME)
#undef NAME
    };
    return id < TL_HOST_DISK_NUMBER_COUNT ? names[id] : NULL;
}

const char *tl_host_disk_number_unit(unsigned id)
{
    static const char *const units[] = {
#define UNIT(id, name, unit, from) unit,
        TL_HOST_DISK_NUMBER_MAP(UNIT)
#undef UNIT
    };
    return id < TL_HOST_DISK_NUMBER_COUNT ? units[id] : NULL;
}

const char *tl_host_disk_text_name(unsigned id)
{
    static const char *const names[] = {
#define NAME(id, name) #name,
        TL_HOST_DISK_TEXT_MAP(NAME)
#undef NAME
    };
    return id < TL_HOST_DISK_TEXT_COUNT ? names[id] : NULL;
}

void tl_host_disk_init(struct tl_host_disk *ret_disk)
{
    for (unsigned i = 0; i < TL_HOST_DISK_NUMBER_COUNT; i++)
        ret_disk->numbers[i] = tl_host_unknown(TL_HOST_WHY_NOT_READ);
    for (unsigned i = 0; i < TL_HOST_DISK_TEXT_COUNT; i++)
        tl_host_text_unknown(&ret_disk->texts[i], TL_HOST_WHY_NOT_READ);
}

/* --- The mount --------------------------------------------------------------------------- */

struct mount_search {
    int id;
    bool found, sync;
    char type[32];
    char source[128];
};

/* "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw,errors=continue" */
static bool take_mount(char *line, void *context)
{
    struct mount_search *search = context;
    char options[512], super[512];
    int id;
    const char *tail = strstr(line, " - ");
    if (!tail || sscanf(line, "%d %*s %*s %*s %*s %511s", &id, options) != 2 || id != search->id)
        return true;
    super[0] = '\0';
    if (sscanf(tail, " - %31s %127s %511s", search->type, search->source, super) < 2)
        return true;
    search->found = true;
    char both[sizeof options + sizeof super + 4];
    snprintf(both, sizeof both, ",%s,%s,", options, super);
    search->sync = strstr(both, ",sync,") != NULL;
    return false;
}

static bool is_network_type(uint64_t type)
{
    switch (type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case CEPH_SUPER_MAGIC:
    case CODA_SUPER_MAGIC:
    case V9FS_MAGIC:
        return true;
    default:
        return false;
    }
}

static void read_mount(const char *root, const struct tl_host_disk_place *place,
                       struct mount_search *search, struct tl_host_disk *disk)
{
    *search = (struct mount_search){.id = place->mount_id};
    enum tl_host_why why = tl_proc_each_line(root, "/proc/self/mountinfo", take_mount, search);
    disk->numbers[TL_HOST_DISK_IN_MEMORY] =
        tl_host_known(place->type == TMPFS_MAGIC || place->type == RAMFS_MAGIC);
    disk->numbers[TL_HOST_DISK_OVER_NETWORK] = tl_host_known(is_network_type(place->type));
    if (search->found) {
        disk->numbers[TL_HOST_DISK_MOUNTED_SYNC] = tl_host_known(search->sync);
        tl_host_text_set(&disk->texts[TL_HOST_DISK_FILESYSTEM], search->type);
        return;
    }
    /* A mount of another namespace, or one without a place in the tree. */
    why = why == TL_HOST_WHY_KNOWN ? TL_HOST_WHY_ABSENT : why;
    disk->numbers[TL_HOST_DISK_MOUNTED_SYNC] = tl_host_unknown(why);
    tl_host_text_unknown(&disk->texts[TL_HOST_DISK_FILESYSTEM], why);
}

/* --- The device ----------------------------------------------------------------------------- */

/* The device's folder in /sys, of the whole disk where it is a partition. */
struct device {
    char folder[TL_PROC_PATH_SIZE];
    char name[64];
    char numbers[32]; /* "254:0", of the whole disk */
};

/* A line KEY=value of uevent. */
static bool take_value(const char *text, const char *key, char *ret_value, size_t size)
{
    size_t len = strlen(key);
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, key, len) == 0 && at[len] == '=') {
            snprintf(ret_value, size, "%.*s", (int)strcspn(at + len + 1, "\n"), at + len + 1);
            return true;
        }
    }
    return false;
}

static enum tl_host_why read_file(const char *root, const struct device *device, const char *file,
                                  char *ret_text, size_t size)
{
    char path[TL_PROC_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", device->folder, file);
    return tl_proc_read(root, path, ret_text, size);
}

/* Where a file system has no device of its own (btrfs), the source of its mount may be one. */
static bool choose_folder(const struct tl_host_disk_place *place, const struct mount_search *mount,
                          struct device *device)
{
    if (place->major != 0) {
        snprintf(device->folder, sizeof device->folder, "/sys/dev/block/%u:%u", place->major,
                 place->minor);
        return true;
    }
    if (!mount->found || strncmp(mount->source, "/dev/", 5) != 0 || strchr(mount->source + 5, '/'))
        return false;
    snprintf(device->folder, sizeof device->folder, "/sys/class/block/%s", mount->source + 5);
    return true;
}

static enum tl_host_why find_device(const char *root, const struct tl_host_disk_place *place,
                                    const struct mount_search *mount, struct device *device)
{
    char uevent[1024], type[32] = "", major[16] = "", minor[16] = "";
    if (!choose_folder(place, mount, device))
        return TL_HOST_WHY_ABSENT;
    enum tl_host_why why = read_file(root, device, "uevent", uevent, sizeof uevent);
    if (why == TL_HOST_WHY_KNOWN && take_value(uevent, "DEVTYPE", type, sizeof type) &&
        strcmp(type, "partition") == 0) {
        /* /sys/dev/block/8:1 is a link into the folder of its disk. */
        size_t len = strlen(device->folder);
        snprintf(device->folder + len, sizeof device->folder - len, "/..");
        why = read_file(root, device, "uevent", uevent, sizeof uevent);
    }
    if (why != TL_HOST_WHY_KNOWN)
        return why;
    if (!take_value(uevent, "DEVNAME", device->name, sizeof device->name) ||
        !take_value(uevent, "MAJOR", major, sizeof major) ||
        !take_value(uevent, "MINOR", minor, sizeof minor))
        return TL_HOST_WHY_MALFORMED;
    snprintf(device->numbers, sizeof device->numbers, "%s:%s", major, minor);
    return TL_HOST_WHY_KNOWN;
}

static struct tl_host_value read_number(const char *root, const struct device *device,
                                        const char *file, double factor)
{
    char text[64];
    const char *at = text;
    uint64_t number;
    enum tl_host_why why = read_file(root, device, file, text, sizeof text);
    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (!tl_proc_take_u64(&at, &number))
        return tl_host_unknown(TL_HOST_WHY_MALFORMED);
    return tl_host_known((double)number * factor);
}

/* "[none] mq-deadline kyber": the one in brackets; a lone word is in force too. */
static void read_scheduler(const char *root, const struct device *device,
                           struct tl_host_text *ret_text)
{
    char text[256];
    enum tl_host_why why = read_file(root, device, "queue/scheduler", text, sizeof text);
    if (why != TL_HOST_WHY_KNOWN) {
        tl_host_text_unknown(ret_text, why);
        return;
    }
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (close) {
        *close = '\0';
        tl_host_text_set(ret_text, open + 1);
    } else if (text[0] && !strchr(text, ' ') && !open) {
        tl_host_text_set(ret_text, text);
    } else {
        tl_host_text_unknown(ret_text, TL_HOST_WHY_MALFORMED);
    }
}

static bool begins_with_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return true;
    return false;
}

/* Drivers of guests have names of their own; emulated SCSI and NVMe disks give their maker away. */
static struct tl_host_value read_virtual(const char *root, const struct device *device)
{
    static const char *const names[] = {"vd", "xvd", "loop", "nbd", "rbd", "zram", "ram", NULL};
    static const char *const makers[] = {"QEMU",   "VMware",         "Msft",    "VBOX", "Google",
                                         "Amazon", "PersistentDisk", "Virtual", NULL};
    char text[128];
    if (begins_with_any(device->name, names))
        return tl_host_known(1);
    const char *const files[] = {"device/vendor", "device/model"};
    bool read = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (read_file(root, device, files[i], text, sizeof text) != TL_HOST_WHY_KNOWN)
            continue;
        read = true;
        if (begins_with_any(text, makers))
            return tl_host_known(1);
    }
    return read ? tl_host_known(0) : tl_host_unknown(TL_HOST_WHY_ABSENT);
}

static struct tl_host_value read_write_through(const char *root, const struct device *device)
{
    char text[64];
    enum tl_host_why why = read_file(root, device, "queue/write_cache", text, sizeof text);
    if (why != TL_HOST_WHY_KNOWN)
        return tl_host_unknown(why);
    if (strcmp(text, "write through") == 0 || strcmp(text, "write back") == 0)
        return tl_host_known(strcmp(text, "write through") == 0);
    return tl_host_unknown(TL_HOST_WHY_MALFORMED);
}

static void read_device(const char *root, const struct device *device, struct tl_host_disk *disk)
{
    tl_host_text_set(&disk->texts[TL_HOST_DISK_DEVICE], device->name);
    read_scheduler(root, device, &disk->texts[TL_HOST_DISK_SCHEDULER]);
    disk->numbers[TL_HOST_DISK_READ_AHEAD] = read_number(root, device, "queue/read_ahead_kb", KIB);
    disk->numbers[TL_HOST_DISK_QUEUE] = read_number(root, device, "queue/nr_requests", 1);
    disk->numbers[TL_HOST_DISK_ROTATIONAL] = read_number(root, device, "queue/rotational", 1);
    disk->numbers[TL_HOST_DISK_VIRTUAL] = read_virtual(root, device);
    disk->numbers[TL_HOST_DISK_WRITE_THROUGH] = read_write_through(root, device);
}

/* --- The throttle --- */

struct throttle_search {
    const char *root, *numbers; /* "254:0" */
    struct tl_host_value *read, *write;
};

static void take_least(struct tl_host_value *value, double bytes_a_second)
{
    double bps = bytes_a_second * 8;
    if (bytes_a_second > 0 && (!tl_host_is_known(*value) || bps < value->number))
        *value = tl_host_known(bps);
}

/* A line of a limit file while it is looked through. */
struct throttle_line {
    const struct throttle_search *search;
    struct tl_host_value *value; /* version 1: the file's own; NULL in version 2 */
};

/* Version 1, "254:0 20971520"; version 2, "254:0 rbps=2097152 wbps=max riops=max wiops=max". */
static bool take_throttle(char *line, void *context)
{
    const struct throttle_line *wanted = context;
    size_t len = strlen(wanted->search->numbers);
    const char *at = line + len;
    uint64_t number;
    if (strncmp(line, wanted->search->numbers, len) != 0 || *at != ' ')
        return true;
    if (wanted->value) {
        if (tl_proc_take_u64(&at, &number))
            take_least(wanted->value, (double)number);
        return true;
    }
    const char *read = strstr(line, " rbps="), *write = strstr(line, " wbps=");
    at = read ? read + 6 : "";
    if (tl_proc_take_u64(&at, &number))
        take_least(wanted->search->read, (double)number);
    at = write ? write + 6 : "";
    if (tl_proc_take_u64(&at, &number))
        take_least(wanted->search->write, (double)number);
    return true;
}

static void look_in(const struct throttle_search *search, const char *dir, const char *file,
                    struct tl_host_value *value)
{
    char path[TL_PROC_PATH_SIZE];
    struct throttle_line wanted = {search, value};
    int len = snprintf(path, sizeof path, "%s/%s", dir, file);
    /* A group without the file sets no limit. */
    if (len > 0 && (size_t)len < sizeof path &&
        tl_proc_each_line(search->root, path, take_throttle, &wanted) == TL_HOST_WHY_DENIED &&
        value && !tl_host_is_known(*value))
        *value = tl_host_unknown(TL_HOST_WHY_DENIED);
}

static void visit_level(void *context, int version, const char *dir)
{
    struct throttle_search *search = context;
    if (version == 2) {
        look_in(search, dir, "io.max", NULL);
        return;
    }
    look_in(search, dir, "blkio.throttle.read_bps_device", search->read);
    look_in(search, dir, "blkio.throttle.write_bps_device", search->write);
}

static void read_throttle(const char *root, const struct device *device, struct tl_host_disk *disk)
{
    struct throttle_search search = {root, device->numbers,
                                     &disk->numbers[TL_HOST_DISK_THROTTLE_READ],
                                     &disk->numbers[TL_HOST_DISK_THROTTLE_WRITE]};
    *search.read = *search.write = tl_host_unknown(TL_HOST_WHY_NOT_SET);
    enum tl_host_why why = tl_cgroup_each_level(root, "blkio", visit_level, &search);
    if (why != TL_HOST_WHY_KNOWN)
        *search.read = *search.write = tl_host_unknown(why);
}

/* --- All of it --- */

void tl_host_disk_read_place(const char *root, const struct tl_host_disk_place *place,
                             struct tl_host_disk *ret_disk)
{
    static const unsigned numbers[] = {TL_HOST_DISK_READ_AHEAD,    TL_HOST_DISK_QUEUE,
                                       TL_HOST_DISK_ROTATIONAL,    TL_HOST_DISK_VIRTUAL,
                                       TL_HOST_DISK_WRITE_THROUGH, TL_HOST_DISK_THROTTLE_READ,
                                       TL_HOST_DISK_THROTTLE_WRITE};
    struct mount_search mount;
    struct device device = {0};
    tl_host_disk_init(ret_disk);
    read_mount(root, place, &mount, ret_disk);
    enum tl_host_why why = find_device(root, place, &mount, &device);
    if (why == TL_HOST_WHY_KNOWN) {
        read_device(root, &device, ret_disk);
        read_throttle(root, &device, ret_disk);
        return;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ret_disk->numbers[numbers[i]] = tl_host_unknown(why);
    tl_host_text_unknown(&ret_disk->texts[TL_HOST_DISK_DEVICE], why);
    tl_host_text_unknown(&ret_disk->texts[TL_HOST_DISK_SCHEDULER], why);
}

static bool take_mount_id(char *line, void *context)
{
    return sscanf(line, "mnt_id: %d", (int *)context) != 1;
}

void tl_host_disk_read(const char *directory, struct tl_host_disk *ret_disk)
{
    struct tl_host_disk_place place = {.mount_id = -1};
    struct stat status;
    struct statfs kind;
    char path[64];
    tl_host_disk_init(ret_disk);
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && fstatfs(fd, &kind) == 0) {
        snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
        if (tl_proc_each_line("", path, take_mount_id, &place.mount_id) != TL_HOST_WHY_KNOWN)
            place.mount_id = -1;
        place.major = major(status.st_dev);
        place.minor = minor(status.st_dev);
        place.type = (uint64_t)kind.f_type;
        tl_host_disk_read_place("", &place, ret_disk);
    }
    close(fd);
}
