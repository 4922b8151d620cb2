/* Disks of the two hosts: a directory on a file system of its own, whose device the control
 * groups hold to a rate (cgroup.h).
 *
 * The file system lies on a loop device, which lies on memory without a name (memfd_create). It is
 * mounted nowhere: the descriptor that fsmount(2) gives is the only way in, so that all of it is
 * gone with the last process that has it. Needs CAP_SYS_ADMIN in the first user namespace, loop
 * devices and mkfs.ext4. */
#ifndef TL_LAB_DISK_H
#define TL_LAB_DISK_H

#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"

/* The number under which a spawned process finds its host's directory. */
#define TL_LAB_DISK_FD 100

struct tl_lab_disk {
    int fd; /* of the directory, close-on-exec; -1: none */
    unsigned major, minor;
};

struct tl_lab_disks {
    struct tl_lab_disk disk[TL_LAB_HOST_COUNT];
};

#define TL_LAB_DISKS_NONE                                                                          \
    {                                                                                              \
        {                                                                                          \
            {-1, 0, 0}, {-1, 0, 0},                                                                \
        }                                                                                          \
    }

/* Makes the disks that the configuration asks for. The caller has one thread. On failure nothing
 * is left. TL_DENIED, TL_UNSUPPORTED with what is missing. */
enum tl_status tl_lab_disks_make(struct tl_lab_disks *disks, const struct tl_lab_config *config,
                                 struct tl_error *reterr) TL_WARN_UNUSED;
void tl_lab_disks_finish(struct tl_lab_disks *disks);

/* In a child before exec: the host's directory gets TL_LAB_DISK_FD. An errno, 0. */
int tl_lab_disk_hand_over(const struct tl_lab_disk *disk);

#endif
