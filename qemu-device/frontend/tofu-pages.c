/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: CQ pages, kick pages and pages of channels
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/memalign.h"
#include "tofu-access.h"
#include "tofu-pci.h"
#include "trace.h"

/*
 * The engine runs on the processor's thread, without the BQL: other threads
 * continue meanwhile, and the kick of an idle guest may yield its time slice.
 * The regions are exempt from the guard against re-entrance (see
 * tofu_pages_init()), and the access keeps the device alive.
 */
static bool tofu_bql_leave(MemTxAttrs attrs)
{
    bool by_cpu = tofu_access_by_cpu(attrs);

    if (by_cpu) {
        bql_unlock();
    }
    return by_cpu;
}

static void tofu_bql_return(bool left)
{
    if (left) {
        bql_lock();
    }
}

static void tofu_kick_node(TofuPCIState *s, hwaddr offset, bool poll)
{
    bool worked = tofu_node_kick(s->node, poll);

    trace_tofu_kick(tofu_fabric_endpoint(tofu_node_fabric(s->node)), offset,
                    poll, worked);
}

static void tofu_kick(TofuPCIState *s, hwaddr offset, bool poll,
                      MemTxAttrs attrs)
{
    bool left = tofu_bql_leave(attrs);

    tofu_kick_node(s, offset, poll);
    tofu_bql_return(left);
}

/* The owner of a page: a TNI, and the number of its CQ or channel */
static void tofu_page_owner(hwaddr addr, unsigned int *tni, unsigned int *nr)
{
    unsigned int page = addr / TOFU_PAGE_SIZE;

    *tni = page / TOFU_PAGE_CQS;
    *nr = page % TOFU_PAGE_CQS;
}

/* Finds the CQ of a page in one of the halves; false: there is none. */
static bool tofu_page_cq(const TofuPCIState *s, hwaddr addr, unsigned int *tni,
                         unsigned int *cq)
{
    tofu_page_owner(addr, tni, cq);
    return *tni < s->tnis && *cq < TOFU_CQS_PER_TNI;
}

static void tofu_mark(TofuPCIState *s, hwaddr addr, uint64_t value)
{
    unsigned int tni, cq;

    if (tofu_page_cq(s, addr, &tni, &cq)) {
        tofu_node_lock(s->node);
        tofu_node_mark(s->node, tni, cq, value);
        tofu_node_unlock(s->node);
    }
}

static uint64_t tofu_doorbells_read(void *opaque, hwaddr addr, unsigned int size)
{
    return 0;
}

static MemTxResult tofu_kicks_write(void *opaque, hwaddr addr, uint64_t value,
                                    unsigned int size, MemTxAttrs attrs)
{
    TofuPCIState *s = opaque;
    unsigned int offset = addr & (TOFU_PAGE_SIZE - 1);

    if (s->machine) {
        if (offset == TOFU_KICK_MARK) {
            tofu_mark(s, addr, value);
        }
    } else if (offset == TOFU_KICK_TAIL || offset == TOFU_KICK_POLL) {
        tofu_kick(s, addr, offset == TOFU_KICK_POLL, attrs);
    }
    return MEMTX_OK;
}

static const MemoryRegionOps tofu_kicks_ops = {
    .read = tofu_doorbells_read,
    .write_with_attrs = tofu_kicks_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

/*
 * In virtual time the store itself is the event, whichever part of the word it
 * writes. A device's store is none: it may come from the node itself, as a
 * message.
 */
static void tofu_store(TofuPCIState *s, hwaddr addr, MemTxAttrs attrs)
{
    hwaddr offset = QEMU_ALIGN_DOWN(addr, sizeof(uint64_t));
    const uint64_t *word = (void *)((char *)s->pages.memory + offset);
    unsigned int tni, cq;

    if (!tofu_access_by_cpu(attrs) || !tofu_page_cq(s, addr, &tni, &cq)) {
        return;
    }
    tofu_node_lock(s->node);
    tofu_node_store(s->node, tni, cq, le64_to_cpu(qatomic_read(word)));
    tofu_node_unlock(s->node);
    tofu_time_update(&s->time);
}

/*
 * CQ pages that trap: the same memory, and a store to fetch_start is a
 * doorbell. Accesses are aligned; the engine sees each store whole.
 */
static uint64_t tofu_cqs_read(void *opaque, hwaddr addr, unsigned int size)
{
    TofuPCIState *s = opaque;
    const void *at = (char *)s->pages.memory + addr;

    switch (size) {
    case 1:
        return qatomic_read((const uint8_t *)at);
    case 2:
        return le16_to_cpu(qatomic_read((const uint16_t *)at));
    case 4:
        return le32_to_cpu(qatomic_read((const uint32_t *)at));
    default:
        return le64_to_cpu(qatomic_read((const uint64_t *)at));
    }
}

static MemTxResult tofu_cqs_write(void *opaque, hwaddr addr, uint64_t value,
                                  unsigned int size, MemTxAttrs attrs)
{
    TofuPCIState *s = opaque;
    void *at = (char *)s->pages.memory + addr;
    unsigned int offset = addr & (TOFU_PAGE_SIZE - 1);

    s->used = true;
    switch (size) {
    case 1:
        qatomic_store_release((uint8_t *)at, value);
        break;
    case 2:
        qatomic_store_release((uint16_t *)at, cpu_to_le16(value));
        break;
    case 4:
        qatomic_store_release((uint32_t *)at, cpu_to_le32(value));
        break;
    default:
        qatomic_store_release((uint64_t *)at, cpu_to_le64(value));
        break;
    }
    if (offset >= offsetof(struct tofu_cq_page, fetch_start) &&
        offset < offsetof(struct tofu_cq_page, mrq_full_pointer)) {
        if (s->machine) {
            tofu_store(s, addr, attrs);
        } else {
            tofu_kick(s, addr, false, attrs);
        }
    }
    return MEMTX_OK;
}

static const MemoryRegionOps tofu_cqs_ops = {
    .read = tofu_cqs_read,
    .write_with_attrs = tofu_cqs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

static void tofu_channel_store(TofuPCIState *s, unsigned int tni,
                               unsigned int channel)
{
    trace_tofu_channel(tofu_fabric_endpoint(tofu_node_fabric(s->node)), tni,
                       channel);
    tofu_node_lock(s->node);
    tofu_node_channel(s->node, tni, channel);
    tofu_node_unlock(s->node);
}

static void tofu_channel_start(TofuPCIState *s, hwaddr addr, MemTxAttrs attrs)
{
    unsigned int tni, channel;
    bool left;

    tofu_page_owner(addr, &tni, &channel);
    if (tni >= s->tnis || channel >= TOFU_CHANNELS) {
        return;
    }
    if (!s->machine) {
        left = tofu_bql_leave(attrs);
        tofu_channel_store(s, tni, channel);
        tofu_kick_node(s, addr, false);
        tofu_bql_return(left);
    } else if (tofu_access_by_cpu(attrs)) {
        /* As for tofu_store(): a device's write is no event. */
        tofu_channel_store(s, tni, channel);
        tofu_time_update(&s->time);
    }
}

static void tofu_channel_poll(TofuPCIState *s, hwaddr addr, MemTxAttrs attrs)
{
    unsigned int tni, channel;
    bool left, worked;

    tofu_page_owner(addr, &tni, &channel);
    if (!s->machine) {
        left = tofu_bql_leave(attrs);
        worked = tofu_node_channel_poll(s->node, tni, channel);
        trace_tofu_kick(tofu_fabric_endpoint(tofu_node_fabric(s->node)), addr,
                        true, worked);
        tofu_bql_return(left);
    } else if (tofu_access_by_cpu(attrs)) {
        tofu_node_lock(s->node);
        tofu_node_channel_poll(s->node, tni, channel);
        tofu_node_unlock(s->node);
        tofu_time_update(&s->time);
    }
}

static MemTxResult tofu_channels_write(void *opaque, hwaddr addr,
                                       uint64_t value, unsigned int size,
                                       MemTxAttrs attrs)
{
    TofuPCIState *s = opaque;
    unsigned int offset = addr & (TOFU_PAGE_SIZE - 1);

    s->used = true;
    if (offset == TOFU_CHANNEL_START) {
        tofu_channel_start(s, addr, attrs);
    } else if (offset == TOFU_CHANNEL_POLL) {
        tofu_channel_poll(s, addr, attrs);
    }
    return MEMTX_OK;
}

static const MemoryRegionOps tofu_channels_ops = {
    .read = tofu_doorbells_read,
    .write_with_attrs = tofu_channels_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

void tofu_pages_init(TofuPCIState *s)
{
    TofuPages *pages = &s->pages;
    Object *owner = OBJECT(s);

    /*
     * Not allocated by the region: it has to outlive the region, as the node
     * does.
     */
    pages->memory = qemu_memalign(TOFU_PAGE_SIZE, TOFU_PAGES_HALF);
    memset(pages->memory, 0, TOFU_PAGES_HALF);

    memory_region_init(&pages->bar, owner, "tofu-pages", TOFU_BAR_PAGES_SIZE);
    if (s->trap) {
        memory_region_init_io(&pages->cqs, owner, &tofu_cqs_ops, s,
                              "tofu-cq-pages", TOFU_PAGES_HALF);
    } else {
        memory_region_init_ram_ptr(&pages->cqs, owner, "tofu-cq-pages",
                                   TOFU_PAGES_HALF, pages->memory);
    }
    memory_region_init_io(&pages->kicks, owner, &tofu_kicks_ops, s,
                          "tofu-kick-pages", TOFU_PAGES_HALF);
    memory_region_init_io(&pages->channels, owner, &tofu_channels_ops, s,
                          "tofu-channel-pages",
                          TOFU_BAR_PAGES_SIZE - TOFU_CHANNEL_PAGE(0, 0));
    /*
     * A kick releases the BQL, so another processor can be in a kick at the
     * same time. That is not re-entrance: the node has its own lock.
     */
    pages->cqs.disable_reentrancy_guard = true;
    pages->kicks.disable_reentrancy_guard = true;
    pages->channels.disable_reentrancy_guard = true;
}

void tofu_pages_map(TofuPCIState *s)
{
    memory_region_add_subregion(&s->pages.bar, 0, &s->pages.cqs);
    memory_region_add_subregion(&s->pages.bar, TOFU_PAGES_HALF,
                                &s->pages.kicks);
    memory_region_add_subregion(&s->pages.bar, TOFU_CHANNEL_PAGE(0, 0),
                                &s->pages.channels);
}

void tofu_pages_unmap(TofuPCIState *s)
{
    memory_region_del_subregion(&s->pages.bar, &s->pages.cqs);
    memory_region_del_subregion(&s->pages.bar, &s->pages.kicks);
    memory_region_del_subregion(&s->pages.bar, &s->pages.channels);
}

void tofu_pages_finalize(TofuPCIState *s)
{
    qemu_vfree(s->pages.memory);
    s->pages.memory = NULL;
}
