#include "pause.h"

#include <poll.h>

#include "tightlink/base/time.h"

void tl_probe_pause(const struct tl_probe *probe, int64_t ns)
{
    struct pollfd cancelled = {.fd = probe->cancel_fd, .events = POLLIN};
    if (ns > 0)
        (void)poll(&cancelled, 1, (int)((ns + TL_NS_PER_MS - 1) / TL_NS_PER_MS));
}
