/* The doctor's list is complete and says something about each entry. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlink/probes/permits.h"

Test(permits, each_has_a_name_and_a_detail)
{
    struct tl_permit permits[TL_PERMITS_MAX];
    int count = tl_permits_read(permits);
    cr_assert(count > 0 && count <= TL_PERMITS_MAX);
    for (int i = 0; i < count; i++) {
        cr_expect(strlen(permits[i].what) > 0);
        cr_expect(strlen(permits[i].detail) > 0, "%s", permits[i].what);
    }
}

Test(permits, tcp_info_is_there_on_every_linux_that_builds_this)
{
    struct tl_permit permits[TL_PERMITS_MAX];
    int count = tl_permits_read(permits);
    bool found = false;
    for (int i = 0; i < count; i++)
        found |= strcmp(permits[i].what, "TCP_INFO") == 0 && permits[i].works;
    cr_expect(found);
}
