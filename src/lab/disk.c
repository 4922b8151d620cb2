/* A file system that exists only as a descriptor; see disk.h. loop(4), mount API of
 * include/uapi/linux/mount.h (fsopen, fsconfig, fsmount: Linux 5.2), LOOP_CONFIGURE: 5.8. */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sparse: only what is written takes memory, and a test writes a twentieth at most. */
#define DISK_BYTES (INT64_C(4) << 30)

#define LOOP_ATTEMPTS 8 /* another program may take the free device first */

static enum tl_status refused(const char *doing, int errnum, struct tl_error *reterr)
{
    bool denied = errnum == EPERM || errnum == EACCES;
    return tl_error_set(reterr, denied ? TL_DENIED : TL_UNSUPPORTED,
                        "cannot %s: %s; a host with a disk needs root, loop devices, mkfs.ext4 and "
                        "Linux 5.8",
                        doing, strerror(errnum));
}

/* A loop device over memory, which lets go of it with its last user. */
static enum tl_status open_loop(int *ret_fd, char ret_path[32], struct tl_error *reterr)
{
    int errnum = 0, fd = -1;
    int memory = memfd_create("tightlink-lab-disk", MFD_CLOEXEC);
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    if (memory < 0 || control < 0 || ftruncate(memory, DISK_BYTES) < 0)
        errnum = errno;
    for (int i = 0; i < LOOP_ATTEMPTS && errnum == 0 && fd < 0; i++) {
        struct loop_config config = {
            .fd = (__u32)memory, .block_size = 4096, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        snprintf(ret_path, 32, "/dev/loop%d", number);
        fd = number < 0 ? -1 : open(ret_path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == 0)
            break;
        errnum = errno == EBUSY ? 0 : errno;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    if (memory >= 0)
        close(memory);
    if (control >= 0)
        close(control);
    *ret_fd = fd;
    return fd >= 0 ? TL_OK : refused("make a loop device", errnum ? errnum : EBUSY, reterr);
}

/* Runs mkfs.ext4 in a child. */
static enum tl_status make_file_system(const char *device, struct tl_error *reterr)
{
    static const char *const folders[] = {"/usr/sbin", "/sbin"};
    int wstatus = -1;
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
            char program[64];
            snprintf(program, sizeof program, "%s/mkfs.ext4", folders[i]);
            execl(program, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", "-E",
                  "nodiscard,lazy_itable_init=1", device, (char *)NULL);
        }
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &wstatus, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 0)
        return TL_OK;
    bool absent = pid > 0 && WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == 127;
    return refused(absent ? "run mkfs.ext4" : "make a file system", absent ? ENOENT : EIO, reterr);
}

/* Mounts it nowhere. */
static enum tl_status mount_it(const char *device, int *ret_fd, struct tl_error *reterr)
{
    int mount = -1, errnum = 0;
    int context = (int)syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);
    if (context < 0)
        return refused("open a file system", errno, reterr);
    if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "source", device, 0) != 0 ||
        syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0 ||
        (mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                              MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)) < 0)
        errnum = errno;
    close(context);
    *ret_fd = mount;
    return errnum == 0 ? TL_OK : refused("mount a file system", errnum, reterr);
}

/* Anybody on the host may test there. What fsmount gave is a place only (O_PATH). */
static enum tl_status open_to_all(int mount, struct tl_error *reterr)
{
    int fd = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int errnum = fd < 0 || fchmod(fd, 01777) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return errnum == 0 ? TL_OK : refused("open the directory", errnum, reterr);
}

static enum tl_status make_one(struct tl_lab_disk *disk, struct tl_error *reterr)
{
    char device[32];
    int loop = -1;
    struct stat status_of;
    enum tl_status status = open_loop(&loop, device, reterr);
    if (status == TL_OK)
        status = make_file_system(device, reterr);
    if (status == TL_OK && fstat(loop, &status_of) == 0) {
        disk->major = major(status_of.st_rdev);
        disk->minor = minor(status_of.st_rdev);
        status = mount_it(device, &disk->fd, reterr);
    }
    if (loop >= 0)
        close(loop);
    if (status == TL_OK)
        status = open_to_all(disk->fd, reterr);
    return status;
}

enum tl_status tl_lab_disks_make(struct tl_lab_disks *disks, const struct tl_lab_config *config,
                                 struct tl_error *reterr)
{
    *disks = (struct tl_lab_disks)TL_LAB_DISKS_NONE;
    enum tl_status status = TL_OK;
    for (int h = 0; h < TL_LAB_HOST_COUNT && status == TL_OK; h++)
        if (config->host[h].disk)
            status = make_one(&disks->disk[h], reterr);
    if (status != TL_OK)
        tl_lab_disks_finish(disks);
    return status;
}

void tl_lab_disks_finish(struct tl_lab_disks *disks)
{
    for (int h = 0; h < TL_LAB_HOST_COUNT; h++) {
        if (disks->disk[h].fd >= 0)
            close(disks->disk[h].fd);
        disks->disk[h].fd = -1;
    }
}

int tl_lab_disk_hand_over(const struct tl_lab_disk *disk)
{
    if (disk->fd < 0)
        return 0;
    return dup2(disk->fd, TL_LAB_DISK_FD) < 0 ? errno : 0;
}
