/* The whole record in one call. */

#include "tightlink/host/host.h"

int tl_host_settings_read(struct tl_host_settings *ret_settings, const struct sockaddr *peer)
{
    tl_host_settings_init(ret_settings);
    tl_host_settings_read_system(ret_settings, "");
    return peer ? tl_host_settings_read_link(ret_settings, peer) : 0;
}
