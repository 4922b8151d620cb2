/* Reading one TCP socket into one sample (sample.h). The thread that does so at an interval
 * belongs to a set of streams (stream.h). */
#ifndef TL_ENGINE_SAMPLER_H
#define TL_ENGINE_SAMPLER_H

#include <stddef.h>

#include "tightlink/engine/sample.h"

/* Takes over a TCP_INFO as the kernel returned it: len is the length that
 * getsockopt() gave back, in host byte order. Only fields that lie wholly
 * inside len become present. Other fields of *sample stay as they are. */
void tl_sample_from_kernel(const void *tcp_info, size_t len, struct tl_tcp_sample *sample);

/* Reads TCP_INFO, the queues and SO_MEMINFO of a socket into *sample, leaving
 * time, stream and the worker's fields alone. Never fails: what the kernel does
 * not give stays absent. Any thread. */
void tl_sample_read_socket(int fd, struct tl_tcp_sample *sample);

#endif
