/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: who runs the engine
 *
 * The thread of the device polls while there is work and then sleeps until a
 * doorbell, a packet or a tick. It never takes the BQL.
 */
#ifndef HW_TOFU_TOFU_IO_H
#define HW_TOFU_TOFU_IO_H

#include "block/aio.h"
#include "qemu/event_notifier.h"
#include "compat.h"
#include "node/node.h"

/*
 * TofuIO: a node's place in an event loop
 * @thread: whose loop; the property "iothread", or @own
 * @own: made by the device, or NULL
 * @node: whose engine is run
 * @ctx: of @thread
 * @bell: the doorbell and packets' arrival: tofu_node_fd()
 * @run: runs the engine once more
 * @tick: as @run, after a while; ticks come from tofu_node_sleep()
 * @polling: the loop polls, and so asks for no doorbell. Only used in @ctx.
 */
typedef struct TofuIO {
    IOThread *thread;
    IOThread *own;
    struct tofu_node *node;
    AioContext *ctx;
    EventNotifier bell;
    QEMUBH *run;
    QEMUTimer *tick;
    bool polling;
} TofuIO;

/*
 * tofu_io_start: begin to run the engine of @node
 * @assist: guests lend their processors, so that polling is of little use
 *
 * Called with the BQL. Returns: false with @errp set.
 */
bool tofu_io_start(TofuIO *io, struct tofu_node *node, bool assist,
                   Error **errp);

/* tofu_io_stop: returns when the thread does not use the node any more */
void tofu_io_stop(TofuIO *io);

#endif /* HW_TOFU_TOFU_IO_H */
