/* Reading the host takes milliseconds (netlink, ethtool, /proc): a thread does it, and the loop
 * hears of it. Who asks brings what is to be told; nothing here knows sessions. */
#ifndef TL_ENGINE_HOST_READER_H
#define TL_ENGINE_HOST_READER_H

#include <netinet/in.h>
#include <stdbool.h>

#include "loop.h"
#include "tightlink/host/host.h"

struct host_reader;
struct host_job;

/* On the loop's thread. The job is gone afterwards. */
typedef void host_read_fn(void *owner, const struct tl_host_settings *settings);

enum tl_status host_reader_create(struct loop *loop, host_read_fn *done,
                                  struct host_reader **ret_reader) TL_WARN_UNUSED;
/* Joins the thread; before the loop goes. NULL is fine. */
void host_reader_destroy(struct host_reader *reader);

/* Reads the host as this peer may see it: with a key the whole audit, else what a diagnosis needs
 * (doc/wire.md). owner has one job at a time, so that there are no more of them than owners. NULL:
 * no memory. */
struct host_job *host_reader_submit(struct host_reader *reader, const struct sockaddr_in6 *peer,
                                    bool keyed, void *owner);
/* The owner is gone: nobody is told. NULL is fine. */
void host_job_forget(struct host_job *job);

#endif
