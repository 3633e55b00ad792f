/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: the threads that run the engine
 *
 * Whenever the event loop may block, tofu_node_sleep() has armed the doorbells
 * and nothing has been done since. There are two ways to that point: the loop
 * stops polling (tofu_io_poll_end), or it handled something without polling
 * (tofu_io_run).
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "tofu-io.h"
#include "trace.h"

/* Looks at the engine per call, so that other handlers get their turn */
#define TOFU_IO_ROUNDS 16

static uint32_t tofu_io_node(const TofuIO *io)
{
    return tofu_fabric_endpoint(tofu_node_fabric(io->node));
}

static bool tofu_io_progress(TofuIO *io)
{
    bool worked;

    tofu_node_lock(io->node);
    worked = tofu_node_progress(io->node);
    tofu_node_unlock(io->node);
    return worked;
}

/*
 * Arms the doorbells. A running tick is left alone: moving it would make the
 * loop look again instead of blocking, for ever.
 */
static void tofu_io_sleep(TofuIO *io)
{
    int ms = tofu_node_sleep(io->node);

    trace_tofu_io_sleep(tofu_io_node(io), ms);
    if (ms == 0) {
        qemu_bh_schedule(io->run);
    } else if (ms > 0 && !timer_pending(io->tick)) {
        timer_mod(io->tick, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) +
                            (int64_t)ms * SCALE_MS);
    }
}

static void tofu_io_awake(TofuIO *io)
{
    trace_tofu_io_awake(tofu_io_node(io), io->polling);
    tofu_node_awake(io->node);
}

static void tofu_io_run(void *opaque)
{
    TofuIO *io = opaque;
    unsigned int round = 0;

    tofu_io_awake(io);
    while (tofu_io_progress(io) && ++round < TOFU_IO_ROUNDS) {
        continue;
    }
    if (!io->polling) {
        tofu_io_sleep(io);
    }
}

static TofuIO *tofu_io_of(EventNotifier *bell)
{
    return container_of(bell, TofuIO, bell);
}

static void tofu_io_rung(EventNotifier *bell)
{
    tofu_io_run(tofu_io_of(bell));
}

static bool tofu_io_poll(void *opaque)
{
    return tofu_io_progress(tofu_io_of(opaque));
}

/* The work that polling found is done; there may be more of it. */
static void tofu_io_poll_ready(EventNotifier *bell)
{
    TofuIO *io = tofu_io_of(bell);

    if (io->polling) {
        tofu_io_progress(io);
    } else {
        tofu_io_run(io);
    }
}

static void tofu_io_poll_begin(EventNotifier *bell)
{
    TofuIO *io = tofu_io_of(bell);

    io->polling = true;
    tofu_io_awake(io);
}

static void tofu_io_poll_end(EventNotifier *bell)
{
    TofuIO *io = tofu_io_of(bell);

    io->polling = false;
    tofu_io_sleep(io);
}

/* Runs in the thread, so that no handler runs before all is set up. */
static void tofu_io_start_bh(void *opaque)
{
    TofuIO *io = opaque;

    io->polling = false;
    event_notifier_init_fd(&io->bell, tofu_node_fd(io->node));
    io->run = aio_bh_new(io->ctx, tofu_io_run, io);
    io->tick = aio_timer_new(io->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                             tofu_io_run, io);
    aio_set_event_notifier(io->ctx, &io->bell, tofu_io_rung, tofu_io_poll,
                           tofu_io_poll_ready);
    aio_set_event_notifier_poll(io->ctx, &io->bell, tofu_io_poll_begin,
                                tofu_io_poll_end);
    tofu_io_run(io);
}

static void tofu_io_stop_bh(void *opaque)
{
    TofuIO *io = opaque;

    aio_set_event_notifier(io->ctx, &io->bell, NULL, NULL, NULL);
    timer_free(io->tick);
    qemu_bh_delete(io->run);
}

static IOThread *tofu_io_thread_new(TofuIO *io, bool assist, Error **errp)
{
    g_autofree char *id = g_strdup_printf("tofu-%p", io);
    IOThread *thread = iothread_create(id, errp);

    /* Polling beside a guest that assists would take the processor from it. */
    if (thread && assist) {
        aio_context_set_poll_params(iothread_get_aio_context(thread), 0, 0, 0,
                                    &error_abort);
    }
    return thread;
}

bool tofu_io_start(TofuIO *io, struct tofu_node *node, bool assist,
                   Error **errp)
{
    IOThread *thread = io->thread;

    if (!thread) {
        io->own = tofu_io_thread_new(io, assist, errp);
        if (!io->own) {
            return false;
        }
        thread = io->own;
    }
    io->node = node;
    io->ctx = iothread_get_aio_context(thread);
    aio_wait_bh_oneshot(io->ctx, tofu_io_start_bh, io);
    return true;
}

void tofu_io_stop(TofuIO *io)
{
    aio_wait_bh_oneshot(io->ctx, tofu_io_stop_bh, io);
    if (io->own) {
        iothread_destroy(io->own);
        io->own = NULL;
    }
}
