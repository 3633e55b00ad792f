/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: virtual time
 *
 * With -icount a processor runs up to the first timer of the virtual clock, a
 * halted machine jumps there, and the clock stands still while a timer is due.
 * The horizon timer uses that; its callback never runs. It is due when the
 * controller has something to do, or when other nodes have to catch up. All
 * work of the controller is done then, or inside an access of the guest, in the
 * processor's thread and under the BQL.
 */
#ifndef HW_TOFU_TOFU_TIME_H
#define HW_TOFU_TOFU_TIME_H

#include "qemu/timer.h"
#include "node/node.h"

/*
 * TofuTime: the horizon of a node, up to which its processor may run
 * @deliver: raises the interrupts that the node has requested; called after
 *           each look at the node, without its lock
 * @owner: argument of @deliver
 * @lists: has a list for the virtual clock only, which holds @horizon alone
 * @horizon: due where the processor has to stop
 * @may_ahead: the processor may run ahead
 * @ahead: how far the processor has run ahead of its time, ns, or 0
 * @stride: how far it may run ahead next
 * @handled: the node's events before it did
 * @pause, @pauses: waits until it may again; how many the next time
 * @tried: it has, since it came to the horizon
 * @joining: the guest has begun to use the controller, some others have not
 * @stopping: a processor is stopped at the horizon
 * @closed: no more calls into the node
 *
 * All members are used under the BQL.
 */
typedef struct TofuTime {
    struct tofu_node *node;
    void (*deliver)(void *owner);
    void *owner;
    QEMUTimerListGroup lists;
    QEMUTimer horizon;
    uint64_t ahead;
    uint64_t stride;
    uint64_t handled;
    unsigned int pause;
    unsigned int pauses;
    bool may_ahead;
    bool tried;
    bool joining;
    bool stopping;
    bool closed;
} TofuTime;

/*
 * tofu_time_check: whether this QEMU counts instructions as virtual time needs
 *
 * Returns: true, or false with @errp saying how to start QEMU.
 */
bool tofu_time_check(Error **errp);

void tofu_time_init(TofuTime *time, struct tofu_node *node,
                    void (*deliver)(void *owner), void *owner);

/* tofu_time_cleanup: stop; on return no processor uses the node any more */
void tofu_time_cleanup(TofuTime *time);

/* tofu_time_now: the time of the virtual clock, ns */
uint64_t tofu_time_now(void);

/*
 * tofu_time_update: look at the node, which has something new to do
 *
 * Called in a processor's access, without the node's lock.
 */
void tofu_time_update(TofuTime *time);

/*
 * tofu_time_join: enter the machine's common time, once
 *
 * Called like tofu_time_update(). After the access the processor does nothing
 * until all other nodes have joined.
 */
void tofu_time_join(TofuTime *time);

#endif /* HW_TOFU_TOFU_TIME_H */
