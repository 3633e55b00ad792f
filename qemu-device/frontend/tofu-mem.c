/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: the guest memory that the engine can reach
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "exec/cpu-common.h"
#include "compat.h"
#include "tofu-mem.h"
#include "trace.h"

#define TOFU_RAM_SHARE_HINT \
    "start QEMU with -object memory-backend-memfd,id=mem0,size=...,share=on " \
    "and -machine memory-backend=mem0"

/*
 * Memory of the machine belongs to a backend object; a device's memory (a BAR
 * of this or another device, ROM) does not.
 */
static bool tofu_ram_is_machine(MemoryRegion *mr)
{
    return memory_region_is_ram(mr) &&
           object_dynamic_cast(memory_region_owner(mr), TYPE_MEMORY_BACKEND);
}

static bool tofu_ram_is_shared(MemoryRegion *mr)
{
    return memory_region_get_fd(mr) >= 0 && qemu_ram_is_shared(mr->ram_block);
}

static uint32_t tofu_ram_node(const TofuRam *ram)
{
    return tofu_fabric_endpoint(tofu_node_fabric(ram->node));
}

static TofuRamSection *tofu_ram_find(TofuRam *ram, uint64_t addr)
{
    unsigned int low = 0;
    unsigned int high = ram->sections ? ram->sections->len : 0;

    while (low < high) {
        unsigned int middle = (low + high) / 2;
        TofuRamSection *section = &g_array_index(ram->sections,
                                                 TofuRamSection, middle);

        if (addr < section->addr) {
            high = middle;
        } else if (addr - section->addr >= section->len) {
            low = middle + 1;
        } else {
            return section;
        }
    }
    return NULL;
}

void *tofu_ram_map(TofuRam *ram, uint64_t addr, size_t *len, bool write)
{
    TofuRamSection *section = tofu_ram_find(ram, addr);
    uint64_t offset;

    if (!section || (write && !section->writable)) {
        return NULL;
    }
    offset = addr - section->addr;
    *len = MIN(*len, section->len - offset);
    return (char *)section->cache.ptr + offset;
}

void tofu_ram_written(TofuRam *ram, uint64_t addr, size_t len)
{
    TofuRamSection *section = tofu_ram_find(ram, addr);

    /* The lock has been held since map(): the section is still there. */
    address_space_cache_invalidate(&section->cache, addr - section->addr, len);
}

/* A cache may cover less than requested: several are made then. */
static void tofu_ram_append(TofuRam *ram, GArray *sections,
                            const MemoryRegionSection *from)
{
    hwaddr addr = from->offset_within_address_space;
    hwaddr left = int128_get64(from->size);

    while (left) {
        TofuRamSection section = {
            .addr = addr,
            .writable = !from->readonly,
        };
        int64_t len = address_space_cache_init(&section.cache, ram->as, addr,
                                               left, section.writable);

        if (len <= 0 || !section.cache.ptr) {
            address_space_cache_destroy(&section.cache);
            return;
        }
        section.len = len;
        g_array_append_val(sections, section);
        addr += len;
        left -= len;
    }
}

static bool tofu_ram_usable(const TofuRam *ram, const MemoryRegionSection *from)
{
    if (memory_region_is_iommu(from->mr)) {
        warn_report_once("tofu-pci: an IOMMU translates the device's "
                         "addresses, which is not supported: it has no memory");
        return false;
    }
    if (!tofu_ram_is_machine(from->mr)) {
        return false;
    }
    if (ram->shared && !tofu_ram_is_shared(from->mr)) {
        warn_report_once("tofu-pci: memory '%s' cannot be read by other nodes "
                         "and is not used: it needs share=on",
                         memory_region_name(from->mr));
        return false;
    }
    return true;
}

static GArray *tofu_ram_sections_new(void)
{
    return g_array_new(false, false, sizeof(TofuRamSection));
}

static void tofu_ram_sections_free(GArray *sections)
{
    unsigned int i;

    for (i = 0; i < sections->len; i++) {
        address_space_cache_destroy(&g_array_index(sections, TofuRamSection,
                                                   i).cache);
    }
    g_array_free(sections, true);
}

/* The peer's QEMU maps the files; memory without a file is skipped. */
static void tofu_ram_publish(TofuRam *ram)
{
    g_autoptr(GArray) table = g_array_new(false, false,
                                          sizeof(struct tofu_ram));
    unsigned int i;
    int ret;

    for (i = 0; i < ram->sections->len; i++) {
        TofuRamSection *section = &g_array_index(ram->sections,
                                                 TofuRamSection, i);
        MemoryRegion *mr = section->cache.mrs.mr;
        struct tofu_ram piece = {
            .addr = section->addr,
            .len = section->len,
            .fd = memory_region_get_fd(mr),
            /* A RAM block of this QEMU begins where its file begins. */
            .offset = section->cache.xlat,
        };

        trace_tofu_ram_section(tofu_ram_node(ram), piece.addr, piece.len,
                               section->writable, piece.fd, piece.offset);
        if (tofu_ram_is_shared(mr)) {
            g_array_append_val(table, piece);
        }
    }
    ret = tofu_fabric_publish(tofu_node_fabric(ram->node),
                              (struct tofu_ram *)table->data, table->len);
    trace_tofu_ram_publish(tofu_ram_node(ram), table->len, ret);
    if (ret < 0) {
        warn_report("tofu-pci: other nodes cannot read this guest's memory: %s",
                    strerror(-ret));
    }
}

static void tofu_ram_begin(MemoryListener *listener)
{
    TofuRam *ram = container_of(listener, TofuRam, listener);

    g_array_set_size(ram->incoming, 0);
    ram->changed = false;
}

static void tofu_ram_region_nop(MemoryListener *listener,
                                MemoryRegionSection *section)
{
    TofuRam *ram = container_of(listener, TofuRam, listener);

    g_array_append_val(ram->incoming, *section);
}

static void tofu_ram_region_add(MemoryListener *listener,
                                MemoryRegionSection *section)
{
    TofuRam *ram = container_of(listener, TofuRam, listener);

    g_array_append_val(ram->incoming, *section);
    ram->changed = true;
}

static void tofu_ram_region_del(MemoryListener *listener,
                                MemoryRegionSection *section)
{
    TofuRam *ram = container_of(listener, TofuRam, listener);

    ram->changed = true;
}

/*
 * Any change makes a new table, even that of a region that is not RAM: a cache
 * holds a reference to the whole memory map that it was made from, and so to
 * regions of devices that are being unplugged.
 */
static void tofu_ram_commit(MemoryListener *listener)
{
    TofuRam *ram = container_of(listener, TofuRam, listener);
    GArray *sections;
    GArray *old;
    unsigned int i;

    if (!ram->changed) {
        return;
    }
    ram->changed = false;
    sections = tofu_ram_sections_new();
    for (i = 0; i < ram->incoming->len; i++) {
        MemoryRegionSection *from = &g_array_index(ram->incoming,
                                                   MemoryRegionSection, i);

        if (tofu_ram_usable(ram, from)) {
            tofu_ram_append(ram, sections, from);
        }
    }

    tofu_node_lock(ram->node);
    old = ram->sections;
    ram->sections = sections;
    tofu_ram_publish(ram);
    tofu_node_unlock(ram->node);
    tofu_ram_sections_free(old);
}

void tofu_ram_init(TofuRam *ram, AddressSpace *as, struct tofu_node *node,
                   bool shared)
{
    ram->as = as;
    ram->node = node;
    ram->shared = shared;
    ram->sections = tofu_ram_sections_new();
    ram->incoming = g_array_new(false, false, sizeof(MemoryRegionSection));
    ram->listener = (MemoryListener) {
        .name = "tofu-pci",
        .begin = tofu_ram_begin,
        .region_add = tofu_ram_region_add,
        .region_del = tofu_ram_region_del,
        .region_nop = tofu_ram_region_nop,
        .commit = tofu_ram_commit,
    };
    memory_listener_register(&ram->listener, as);
}

void tofu_ram_cleanup(TofuRam *ram)
{
    GArray *empty;

    /* Removes every region, so it commits an empty table. */
    memory_listener_unregister(&ram->listener);
    g_array_free(ram->incoming, true);
    ram->incoming = NULL;

    tofu_node_lock(ram->node);
    empty = ram->sections;
    ram->sections = NULL;
    tofu_node_unlock(ram->node);
    tofu_ram_sections_free(empty);
}

static int tofu_ram_check_backend(Object *object, void *opaque)
{
    Error **errp = opaque;
    HostMemoryBackend *backend;

    backend = (HostMemoryBackend *)object_dynamic_cast(object,
                                                       TYPE_MEMORY_BACKEND);
    if (!backend || !host_memory_backend_is_mapped(backend) ||
        tofu_ram_is_shared(host_memory_backend_get_memory(backend))) {
        return 0;
    }
    error_setg(errp, "the guest's memory '%s' cannot be read by the other "
               "nodes of the machine: " TOFU_RAM_SHARE_HINT,
               object_get_canonical_path_component(object));
    return 1;
}

bool tofu_ram_check_shared(Error **errp)
{
    return !object_child_foreach(object_get_objects_root(),
                                 tofu_ram_check_backend, errp);
}
