/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: CQ pages and kick pages
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/memalign.h"
#include "hw/core/cpu.h"
#include "tofu-pci.h"
#include "trace.h"

/*
 * Whether the access is a processor's own, and not what a device does while
 * its model relies on the BQL: a guest can tell any device to write here, and
 * that its interrupt message goes here. A message names its sender.
 */
static bool tofu_kick_by_cpu(MemTxAttrs attrs)
{
    return current_cpu && !attrs.unspecified && !attrs.requester_id;
}

/*
 * The engine runs here, on the processor's thread, without the BQL: others
 * can go on meanwhile, and the kick of an idle guest may give up its time
 * slice. The regions are exempt from the guard against re-entrance (see
 * tofu_pages_init()), and the access keeps the device alive.
 */
static void tofu_kick(TofuPCIState *s, hwaddr offset, bool poll,
                      MemTxAttrs attrs)
{
    bool by_cpu = tofu_kick_by_cpu(attrs);
    bool worked;

    if (by_cpu) {
        qemu_mutex_unlock_iothread();
    }
    worked = tofu_node_kick(s->node, poll);
    trace_tofu_kick(tofu_fabric_node(tofu_node_fabric(s->node)), offset, poll,
                    worked);
    if (by_cpu) {
        qemu_mutex_lock_iothread();
    }
}

static uint64_t tofu_kicks_read(void *opaque, hwaddr addr, unsigned int size)
{
    return 0;
}

static MemTxResult tofu_kicks_write(void *opaque, hwaddr addr, uint64_t value,
                                    unsigned int size, MemTxAttrs attrs)
{
    switch (addr & (TOFU_PAGE_SIZE - 1)) {
    case TOFU_KICK_TAIL:
        tofu_kick(opaque, addr, false, attrs);
        break;
    case TOFU_KICK_POLL:
        tofu_kick(opaque, addr, true, attrs);
        break;
    }
    return MEMTX_OK;
}

static const MemoryRegionOps tofu_kicks_ops = {
    .read = tofu_kicks_read,
    .write_with_attrs = tofu_kicks_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

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
        tofu_kick(s, addr, false, attrs);
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

void tofu_pages_init(TofuPCIState *s)
{
    TofuPages *pages = &s->pages;
    Object *owner = OBJECT(s);

    /* Not by the region: it has to outlive the region, as the node does. */
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
    /*
     * A kick gives up the BQL: another processor can be in one at the same
     * time. That is no re-entrance, the node has its own lock.
     */
    pages->cqs.disable_reentrancy_guard = true;
    pages->kicks.disable_reentrancy_guard = true;
}

void tofu_pages_map(TofuPCIState *s)
{
    memory_region_add_subregion(&s->pages.bar, 0, &s->pages.cqs);
    memory_region_add_subregion(&s->pages.bar, TOFU_PAGES_HALF,
                                &s->pages.kicks);
}

void tofu_pages_unmap(TofuPCIState *s)
{
    memory_region_del_subregion(&s->pages.bar, &s->pages.cqs);
    memory_region_del_subregion(&s->pages.bar, &s->pages.kicks);
}

void tofu_pages_finalize(TofuPCIState *s)
{
    qemu_vfree(s->pages.memory);
    s->pages.memory = NULL;
}
