/* What is under a directory, from recorded answers of the kernel. */
#include <criterion/criterion.h>
#include <linux/magic.h>
#include <string.h>

#include "tightlink/host/disk.h"

static struct tl_host_disk disk;

static void read_place(const char *root, struct tl_host_disk_place place)
{
    tl_host_disk_read_place(root, &place, &disk);
}

static double number(enum tl_host_disk_number id)
{
    cr_assert_eq(disk.numbers[id].why, TL_HOST_WHY_KNOWN, "%s: %s", tl_host_disk_number_name(id),
                 tl_host_why_text(disk.numbers[id].why));
    return disk.numbers[id].number;
}

Test(host_disk, a_partition_is_part_of_its_disk)
{
    read_place(HOST_TEST_DATA "/disk-nvme",
               (struct tl_host_disk_place){259, 2, 29, EXT4_SUPER_MAGIC});
    cr_expect_str_eq(disk.texts[TL_HOST_DISK_DEVICE].text, "nvme0n1");
    cr_expect_str_eq(disk.texts[TL_HOST_DISK_FILESYSTEM].text, "ext4");
    cr_expect_str_eq(disk.texts[TL_HOST_DISK_SCHEDULER].text, "none");
    cr_expect_eq(number(TL_HOST_DISK_READ_AHEAD), 131072);
    cr_expect_eq(number(TL_HOST_DISK_QUEUE), 1023);
    cr_expect_eq(number(TL_HOST_DISK_ROTATIONAL), 0);
    cr_expect_eq(number(TL_HOST_DISK_VIRTUAL), 0);
    cr_expect_eq(number(TL_HOST_DISK_WRITE_THROUGH), 0);
    cr_expect_eq(number(TL_HOST_DISK_MOUNTED_SYNC), 1, "this mount, not the other of the device");
    cr_expect_eq(number(TL_HOST_DISK_IN_MEMORY), 0);
}

Test(host_disk, the_tightest_group_of_all_levels_holds)
{
    read_place(HOST_TEST_DATA "/disk-nvme",
               (struct tl_host_disk_place){259, 2, 22, EXT4_SUPER_MAGIC});
    cr_expect_eq(number(TL_HOST_DISK_THROTTLE_READ), 400e6);
    cr_expect_eq(number(TL_HOST_DISK_THROTTLE_WRITE), 160e6);
    cr_expect_eq(number(TL_HOST_DISK_MOUNTED_SYNC), 0);
}

Test(host_disk, a_spinning_disk_and_version_1_groups)
{
    read_place(HOST_TEST_DATA "/disk-sata",
               (struct tl_host_disk_place){8, 16, 40, XFS_SUPER_MAGIC});
    cr_expect_str_eq(disk.texts[TL_HOST_DISK_SCHEDULER].text, "mq-deadline");
    cr_expect_eq(number(TL_HOST_DISK_ROTATIONAL), 1);
    cr_expect_eq(number(TL_HOST_DISK_VIRTUAL), 0);
    cr_expect_eq(number(TL_HOST_DISK_WRITE_THROUGH), 1);
    cr_expect_eq(number(TL_HOST_DISK_THROTTLE_READ), 160e6);
    cr_expect_eq(number(TL_HOST_DISK_THROTTLE_WRITE), 240e6, "not that of device 8:160");
}

Test(host_disk, what_cannot_be_understood_is_unknown)
{
    read_place(HOST_TEST_DATA "/disk-hostile",
               (struct tl_host_disk_place){7, 0, 51, EXT4_SUPER_MAGIC});
    static const unsigned malformed[] = {TL_HOST_DISK_READ_AHEAD, TL_HOST_DISK_QUEUE,
                                         TL_HOST_DISK_ROTATIONAL, TL_HOST_DISK_WRITE_THROUGH};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        cr_expect_eq(disk.numbers[malformed[i]].why, TL_HOST_WHY_MALFORMED, "%s",
                     tl_host_disk_number_name(malformed[i]));
    cr_expect_eq(disk.texts[TL_HOST_DISK_SCHEDULER].why, TL_HOST_WHY_MALFORMED);
    cr_expect_neq(disk.texts[TL_HOST_DISK_FILESYSTEM].why, TL_HOST_WHY_KNOWN);
    cr_expect_eq(number(TL_HOST_DISK_VIRTUAL), 1, "a loop device");
    cr_expect_eq(disk.numbers[TL_HOST_DISK_THROTTLE_READ].why, TL_HOST_WHY_NOT_SET);
    read_place(HOST_TEST_DATA "/disk-hostile", (struct tl_host_disk_place){8, 1, -1, 0});
    cr_expect_eq(disk.texts[TL_HOST_DISK_DEVICE].why, TL_HOST_WHY_MALFORMED);
}

Test(host_disk, file_systems_without_a_device)
{
    read_place(HOST_TEST_DATA "/disk-sata", (struct tl_host_disk_place){0, 44, 1, TMPFS_MAGIC});
    cr_expect_eq(number(TL_HOST_DISK_IN_MEMORY), 1);
    cr_expect_eq(disk.texts[TL_HOST_DISK_DEVICE].why, TL_HOST_WHY_ABSENT);
    cr_expect_eq(disk.numbers[TL_HOST_DISK_ROTATIONAL].why, TL_HOST_WHY_ABSENT);
    read_place(HOST_TEST_DATA "/disk-sata", (struct tl_host_disk_place){0, 45, 1, NFS_SUPER_MAGIC});
    cr_expect_eq(number(TL_HOST_DISK_OVER_NETWORK), 1);
}

Test(host_disk, this_machine_answers_something)
{
    tl_host_disk_read("/proc", &disk);
    cr_expect_eq(number(TL_HOST_DISK_IN_MEMORY), 0);
    tl_host_disk_read("/no/such/directory", &disk);
    cr_expect_eq(disk.numbers[TL_HOST_DISK_IN_MEMORY].why, TL_HOST_WHY_NOT_READ);
}
