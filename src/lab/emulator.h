/* The link emulator: for each emulated link, one thread a direction moves packets
 * from a port through the model to the other port. */
#ifndef TL_LAB_EMULATOR_H
#define TL_LAB_EMULATOR_H

#include "port.h"
#include "shared.h"
#include "tightlink/base/status.h"
#include "tightlink/lab/config.h"

/* The two sides of one link: port[TL_LAB_NEAR] is the one towards c. */
struct tl_lab_ports {
    struct tl_lab_port port[TL_LAB_HOST_COUNT];
    size_t packet_max; /* bytes of the longest IP packet that the link's interfaces send */
};

/* Starts the threads of one link; they run until the process ends. ports, config and
 * shared must outlive them. */
enum tl_status tl_lab_emulator_start(const struct tl_lab_config *config, int at,
                                     struct tl_lab_ports *ports, struct tl_lab_shared *shared,
                                     struct tl_error *reterr) TL_WARN_UNUSED;

#endif
