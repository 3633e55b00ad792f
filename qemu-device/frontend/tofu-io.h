/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: the threads that run the engine
 *
 * The device's thread polls while there is work and then sleeps until a
 * doorbell, a packet or a tick. It never takes the BQL.
 */
#ifndef HW_TOFU_TOFU_IO_H
#define HW_TOFU_TOFU_IO_H

#include "block/aio.h"
#include "qemu/event_notifier.h"
#include "compat.h"
#include "node/node.h"

/*
 * TofuIO: a node's handlers in an event loop
 * @thread: thread of the loop; the property "iothread", or @own
 * @own: created by the device, or NULL
 * @node: node whose engine is run
 * @ctx: context of @thread
 * @bell: signals doorbells and arriving packets: tofu_node_fd()
 * @run: runs the engine once more
 * @tick: like @run, after a delay that tofu_node_sleep() returns
 * @polling: the loop polls, so it needs no doorbells. Only used in @ctx.
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
 * @assist: guests lend their processors, so polling is of little use
 *
 * Called with the BQL. Returns: false with @errp set.
 */
bool tofu_io_start(TofuIO *io, struct tofu_node *node, bool assist,
                   Error **errp);

/* tofu_io_stop: on return the thread does not use the node any more */
void tofu_io_stop(TofuIO *io);

#endif /* HW_TOFU_TOFU_IO_H */
