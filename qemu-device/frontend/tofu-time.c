/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: virtual time
 */
#include "qemu/osdep.h"
#include "qemu/config-file.h"
#include "qemu/main-loop.h"
#include "qemu/option.h"
#include "qapi/error.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "compat.h"
#include "tofu-ahead.h"
#include "tofu-time.h"
#include "trace.h"

/* First waits that keep the BQL, which others seldom need */
#define TOFU_TIME_TURNS_LOCKED 16
/* How long to wait before other work is let through */
#define TOFU_TIME_PATIENT_US (30 * G_USEC_PER_SEC)
/* How far a processor runs ahead, ns: the least that pays, and the most */
#define TOFU_TIME_STRIDE_MIN 1000
#define TOFU_TIME_STRIDE_MAX 64000
/* Waits that are left out when it did not pay: at first, and at most */
#define TOFU_TIME_PAUSE_MIN 16
#define TOFU_TIME_PAUSE_MAX 256
/* How long to wait for a processor to leave the horizon */
#define TOFU_TIME_LEAVE_US 100

/* Controllers with a horizon; none knows the events of another. */
static unsigned int tofu_times;

uint64_t tofu_time_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static uint32_t tofu_time_node(const TofuTime *time)
{
    return tofu_fabric_endpoint(tofu_node_fabric(time->node));
}

static bool tofu_time_due(TofuTime *time)
{
    return timer_expire_time_ns(&time->horizon) <= tofu_time_now();
}

/*
 * Moving the horizon of a halted machine makes its clock jump: to the horizon,
 * or to an earlier timer.
 */
static void tofu_time_arm(TofuTime *time, uint64_t when)
{
    if (when > INT64_MAX) {
        timer_del(&time->horizon);
    } else if (timer_expire_time_ns(&time->horizon) != when) {
        timer_mod_ns(&time->horizon, when);
    }
}

static bool tofu_time_halted(void)
{
    return first_cpu->halted && !cpu_has_work(first_cpu);
}

/* The earliest time at which the processor may act by itself */
static uint64_t tofu_time_busy_from(const TofuTime *time, uint64_t now)
{
    int64_t left;

    if (!tofu_time_halted()) {
        return now + time->ahead;
    }
    left = timerlist_deadline_ns(main_loop_tlg.tl[QEMU_CLOCK_VIRTUAL]);
    return left < 0 ? UINT64_MAX : now + left;
}

/* Looks at the node once; returns when to look again. */
static uint64_t tofu_time_look(TofuTime *time, uint64_t now)
{
    uint64_t next = now;

    tofu_node_lock(time->node);
    if (time->joining && tofu_node_join(time->node) == 0) {
        trace_tofu_time_joined(tofu_time_node(time), now);
        time->joining = false;
    }
    if (!time->joining) {
        uint64_t busy_from = tofu_time_busy_from(time, now);

        next = time->ahead ? tofu_node_run_ahead(time->node, busy_from) :
                             tofu_node_run(time->node, busy_from);
        if (tofu_node_handled(time->node) != time->handled) {
            time->ahead = 0;
        }
    }
    tofu_node_unlock(time->node);
    time->deliver(time->owner);
    return next;
}

/*
 * Whether the processor has to leave a horizon that has not moved; it will be
 * back. Meanwhile it may take an interrupt that is not the one that it would
 * see first. So a request to stop it is served at once. Other work, which comes
 * at times of the host, waits until a person would begin to wonder.
 */
static bool tofu_time_leave(const TofuTime *time, int64_t since)
{
    return time->closed || qatomic_read(&current_cpu->stop) ||
           (g_get_monotonic_time() - since > TOFU_TIME_PATIENT_US &&
            !cpu_work_list_empty(current_cpu));
}

static void tofu_time_wait(TofuTime *time, unsigned int turn)
{
    if (turn < TOFU_TIME_TURNS_LOCKED) {
        tofu_node_wait(time->node, turn);
        return;
    }
    bql_unlock();
    tofu_node_wait(time->node, turn);
    bql_lock();
}

/*
 * What the program does next is worth to know if it goes far without an event:
 * so the stride grows with each that could be kept, short ones are left out, and
 * those that are in vain become seldom.
 */
static void tofu_time_pause(TofuTime *time)
{
    time->pause = time->pauses;
    time->pauses = MIN(2 * time->pauses, TOFU_TIME_PAUSE_MAX);
}

static uint64_t tofu_time_go_ahead(TofuTime *time, uint64_t now)
{
    int64_t timer = timerlist_deadline_ns(main_loop_tlg.tl[QEMU_CLOCK_VIRTUAL]);
    uint64_t due = tofu_node_due(time->node), limit = time->stride;

    if (!time->may_ahead || tofu_times > 1 || tofu_time_halted() ||
        time->joining || time->closed) {
        return now;
    }
    if (time->pause) {
        time->pause--;
        return now;
    }
    if (timer >= 0) {
        limit = MIN(limit, timer);
    }
    if (due != UINT64_MAX) {
        limit = due <= now ? 0 : MIN(limit, due - now);
    }
    if (limit < TOFU_TIME_STRIDE_MIN) {
        return now;
    }
    time->handled = tofu_node_handled(time->node);
    time->ahead = tofu_ahead_run(first_cpu, limit);
    time->tried = time->ahead != 0;
    if (time->ahead < TOFU_TIME_STRIDE_MIN) {
        tofu_time_pause(time);
    }
    return time->ahead ? tofu_time_look(time, now) : now;
}

static void tofu_time_end_ahead(TofuTime *time, uint64_t now, uint64_t next)
{
    uint64_t ahead = time->ahead;

    if (!time->tried) {
        return;
    }
    time->tried = false;
    time->ahead = 0;
    if (ahead && next >= now + ahead) {
        tofu_ahead_keep(first_cpu);
        time->stride = MIN(2 * time->stride, TOFU_TIME_STRIDE_MAX);
        if (ahead >= TOFU_TIME_STRIDE_MIN) {
            time->pauses = TOFU_TIME_PAUSE_MIN;
        }
    } else {
        tofu_ahead_drop(first_cpu);
        time->stride = MAX(time->stride / 4, TOFU_TIME_STRIDE_MIN);
        tofu_time_pause(time);
    }
}

/* Wait at the horizon until it has moved. */
static void tofu_time_wait_horizon(TofuTime *time)
{
    uint64_t now = tofu_time_now();
    uint64_t next = tofu_time_look(time, now);
    int64_t since = g_get_monotonic_time();
    unsigned int turn = 0;

    if (next <= now) {
        next = tofu_time_go_ahead(time, now);
    }
    while (next <= now && !tofu_time_leave(time, since)) {
        tofu_time_wait(time, turn++);
        if (time->closed) {
            tofu_time_end_ahead(time, now, now);
            return;
        }
        next = tofu_time_look(time, now);
    }
    tofu_time_end_ahead(time, now, next);
    trace_tofu_time_stop(tofu_time_node(time), now, next, turn);
    tofu_time_arm(time, next);
}

/*
 * A halted processor advances from horizon to horizon in here, until it has
 * something to do: leaving time jumps to the main loop would take two switches
 * of threads for each.
 */
static void tofu_time_stop(TofuTime *time)
{
    time->stopping = true;
    do {
        tofu_time_wait_horizon(time);
    } while (tofu_time_halted() && tofu_time_due(time) &&
             !tofu_time_leave(time, g_get_monotonic_time()));
    time->stopping = false;
}

static void tofu_time_wake(CPUState *cpu, run_on_cpu_data data)
{
}

/*
 * Called, among other times, whenever timers of the virtual clock are due: by a
 * processor that is about to run, and by the main loop when it has let the
 * clock of a halted processor jump. Work of any kind makes a halted processor
 * come here, too.
 */
static void tofu_time_notify(void *opaque, QEMUClockType type)
{
    TofuTime *time = opaque;

    if (time->stopping || time->closed || !tofu_time_due(time)) {
        return;
    }
    if (!qemu_in_vcpu_thread()) {
        async_run_on_cpu(first_cpu, tofu_time_wake, RUN_ON_CPU_NULL);
    } else if (!current_cpu->running && bql_locked()) {
        tofu_time_stop(time);
    }
}

void tofu_time_update(TofuTime *time)
{
    uint64_t before = timer_expire_time_ns(&time->horizon);
    uint64_t next;

    if (time->closed || time->stopping) {
        return;
    }
    next = tofu_time_look(time, tofu_time_now());
    tofu_time_arm(time, next);
    /* The processor was granted time up to the old horizon. */
    if (next < before && current_cpu) {
        qemu_cpu_kick(current_cpu);
    }
}

void tofu_time_join(TofuTime *time)
{
    if (!tofu_node_joined(time->node)) {
        time->joining = true;
    }
}

/* Nobody runs the list of the horizon timer, so this is never called. */
static void tofu_time_nop(void *opaque)
{
}

void tofu_time_init(TofuTime *time, struct tofu_node *node,
                    void (*deliver)(void *owner), void *owner)
{
    time->node = node;
    time->deliver = deliver;
    time->owner = owner;
    time->closed = false;
    time->stride = TOFU_TIME_STRIDE_MIN;
    time->pauses = TOFU_TIME_PAUSE_MIN;
    tofu_times++;
    time->lists.tl[QEMU_CLOCK_VIRTUAL] = timerlist_new(QEMU_CLOCK_VIRTUAL,
                                                       tofu_time_notify, time);
    timer_init_full(&time->horizon, &time->lists, QEMU_CLOCK_VIRTUAL, SCALE_NS,
                    0, tofu_time_nop, NULL);
}

void tofu_time_cleanup(TofuTime *time)
{
    time->closed = true;
    while (time->stopping) {
        bql_unlock();
        g_usleep(TOFU_TIME_LEAVE_US);
        bql_lock();
    }
    timer_del(&time->horizon);
    timer_deinit(&time->horizon);
    tofu_times--;
    timerlist_free(time->lists.tl[QEMU_CLOCK_VIRTUAL]);
}

/* QEMU keeps this private; only the options that it was given tell. */
static bool tofu_time_sleeps(void)
{
    return qemu_opt_get_bool(qemu_opts_find(qemu_find_opts("icount"), NULL),
                             "sleep", true);
}

bool tofu_time_check(Error **errp)
{
    if (icount_enabled() != 1 || icount_to_ns(1) != 1 || tofu_time_sleeps() ||
        replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "property 'machine': virtual time counts "
                   "instructions: start QEMU with -accel tcg "
                   "-icount shift=0,sleep=off");
        return false;
    }
    if (current_machine->smp.max_cpus != 1) {
        error_setg(errp, "property 'machine': virtual time is that of one "
                   "processor: start QEMU with -smp 1");
        return false;
    }
    return true;
}
