/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: a processor that runs ahead
 *
 * Its registers are copied before, each page of RAM before the first store to
 * it, and the clock is set back. QEMU tells of stores (the TLB has no page that
 * may be written without it), and of all that has an effect elsewhere: such an
 * instruction is not begun (exec/tcg-ahead.h). Interrupts come from devices,
 * so none can come meanwhile. Between the run and its end the guest is as if
 * there had been none: devices and people see its memory at its own time.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/ram_addr.h"
#include "exec/tcg-ahead.h"
#include "qemu/main-loop.h"
#include "qemu/seqlock.h"
#define TOFU_PER_TARGET
#include "compat.h"
#include "tofu-ahead.h"

/* Pages that a run may change, and slots of their table */
#define AHEAD_PAGES 128
#define AHEAD_SLOTS 512
/* No block has more instructions. */
#define AHEAD_BLOCK 512

typedef struct AheadPage {
    ram_addr_t addr;
    uint8_t *host;
    uint8_t before[TARGET_PAGE_SIZE];
    uint8_t after[TARGET_PAGE_SIZE];
} AheadPage;

/*
 * One processor runs ahead at a time
 * @before, @after: its registers
 * @done: instructions that it executed
 * @known: @after is its state between two instructions
 * @left: it ran until it was told to stop
 * @valid: what it did can be kept
 * @pages, @slots, @page: the pages that it changed, and their numbers + 1 by
 *                        address
 */
static struct {
    CPUArchState before;
    CPUArchState after;
    uint64_t done;
    bool known;
    bool left;
    bool valid;
    unsigned int pages;
    uint16_t slots[AHEAD_SLOTS];
    AheadPage page[AHEAD_PAGES];
} ahead;

static void ahead_leave(CPUState *cpu, uintptr_t retaddr)
{
    ahead.left = true;
    if (!retaddr) {
        ahead.known = false;
    }
    cpu->exception_index = EXCP_INTERRUPT;
    cpu_loop_exit_restore(cpu, retaddr);
}

static void ahead_store(CPUState *cpu, ram_addr_t ram_addr, bool code,
                        uintptr_t retaddr)
{
    ram_addr_t addr = ram_addr & TARGET_PAGE_MASK;
    unsigned int slot = (addr >> TARGET_PAGE_BITS) % AHEAD_SLOTS;
    AheadPage *page;

    if (code) {
        ahead_leave(cpu, retaddr);
    }
    for (; ahead.slots[slot]; slot = (slot + 1) % AHEAD_SLOTS) {
        if (ahead.page[ahead.slots[slot] - 1].addr == addr) {
            return;
        }
    }
    if (ahead.pages == AHEAD_PAGES) {
        ahead_leave(cpu, retaddr);
    }
    page = &ahead.page[ahead.pages++];
    ahead.slots[slot] = ahead.pages;
    page->addr = addr;
    page->host = qemu_map_ram_ptr(NULL, addr);
    memcpy(page->before, page->host, TARGET_PAGE_SIZE);
}

static const TCGAhead ahead_hooks = {
    .store = ahead_store,
    .leave = ahead_leave,
};

/* Code that was translated from a page is not that of its other contents. */
static void ahead_forget_code(const AheadPage *page)
{
    if (!cpu_physical_memory_get_dirty_flag(page->addr, DIRTY_MEMORY_CODE)) {
        tb_invalidate_phys_range(page->addr, page->addr + TARGET_PAGE_SIZE - 1);
    }
}

static void ahead_set_icount(int64_t icount)
{
    seqlock_write_lock(&timers_state.vm_clock_seqlock,
                       &timers_state.vm_clock_lock);
    qatomic_set_i64(&timers_state.qemu_icount, icount);
    seqlock_write_unlock(&timers_state.vm_clock_seqlock,
                         &timers_state.vm_clock_lock);
}

static bool ahead_can(CPUState *cpu)
{
    const CPUArchState *env = cpu_env(cpu);

    return !cpu->halted && !cpu->interrupt_request && !cpu->stop &&
           !cpu->singlestep_enabled && !cpu->exit_request &&
           cpu->exception_index == -1 && cpu->cflags_next_tb == -1u &&
           !(env->hflags & (HF_GUEST_MASK | HF_INHIBIT_IRQ_MASK)) &&
           QTAILQ_EMPTY(&cpu->breakpoints) && QTAILQ_EMPTY(&cpu->watchpoints);
}

uint64_t tofu_ahead_run(CPUState *cpu, uint64_t limit)
{
    CPUArchState *env = cpu_env(cpu);
    const int64_t icount = timers_state.qemu_icount;
    const uint32_t left = MIN(limit, 0xffff);
    int why;

    ahead.valid = false;
    if (!limit || !ahead_can(cpu)) {
        return 0;
    }
    ahead.before = *env;
    ahead.pages = 0;
    ahead.known = true;
    ahead.left = false;
    memset(ahead.slots, 0, sizeof(ahead.slots));
    tlb_reset_dirty(cpu, 0, -1);
    tofu_icount_decr(cpu)->u16.low = left;
    cpu->icount_extra = limit - left;
    cpu->icount_budget = limit;
    tcg_ahead = &ahead_hooks;
    bql_unlock();
    do {
        why = tcg_cpu_exec(cpu);
    } while (why == EXCP_INTERRUPT && !ahead.left &&
             !cpu->exit_request && !cpu->interrupt_request &&
             tofu_icount_decr(cpu)->u16.low + cpu->icount_extra);
    tcg_ahead = NULL;
    icount_update(cpu);
    bql_lock();
    tofu_icount_decr(cpu)->u16.low = 0;
    cpu->icount_extra = 0;
    cpu->icount_budget = 0;
    ahead.done = timers_state.qemu_icount - icount;
    ahead_set_icount(icount);

    ahead.after = *env;
    /* An exception that ended the run is raised again. */
    ahead.after.old_exception = ahead.before.old_exception;
    *env = ahead.before;
    for (unsigned int i = 0; i < ahead.pages; i++) {
        AheadPage *page = &ahead.page[i];

        memcpy(page->after, page->host, TARGET_PAGE_SIZE);
        memcpy(page->host, page->before, TARGET_PAGE_SIZE);
        ahead_forget_code(page);
    }
    cpu->exception_index = -1;
    cpu->cflags_next_tb = -1;
    if (why != EXCP_INTERRUPT) {
        ahead.known = false;
    }
    if (!ahead.known) {
        ahead.done = ahead.done > AHEAD_BLOCK ? ahead.done - AHEAD_BLOCK : 0;
    }
    ahead.valid = ahead.known && ahead.done;
    if (!ahead.done) {
        tofu_ahead_drop(cpu);
    }
    return ahead.done;
}

void tofu_ahead_drop(CPUState *cpu)
{
    /* Its entries may follow from page tables and keys that were put back. */
    tlb_flush(cpu);
    ahead.valid = false;
}

bool tofu_ahead_keep(CPUState *cpu)
{
    CPUArchState *env = cpu_env(cpu);

    if (!ahead.valid || cpu->interrupt_request) {
        tofu_ahead_drop(cpu);
        return false;
    }
    ahead.valid = false;
    *env = ahead.after;
    for (unsigned int i = 0; i < ahead.pages; i++) {
        AheadPage *page = &ahead.page[i];

        memcpy(page->host, page->after, TARGET_PAGE_SIZE);
        ahead_forget_code(page);
        cpu_physical_memory_set_dirty_range(page->addr, TARGET_PAGE_SIZE,
                                            DIRTY_CLIENTS_NOCODE);
    }
    ahead_set_icount(timers_state.qemu_icount + ahead.done);
    return true;
}
