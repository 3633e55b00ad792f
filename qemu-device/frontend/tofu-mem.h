/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: the guest memory that the engine can reach
 *
 * The engine reads and writes the machine's RAM and nothing else: it works
 * under the node's lock, often without the BQL, and a device's registers need
 * the BQL. So a command fails if it names an address that is not RAM, or that
 * is another device's memory.
 */
#ifndef HW_TOFU_TOFU_MEM_H
#define HW_TOFU_TOFU_MEM_H

#include "exec/memory.h"
#include "node/node.h"

/*
 * TofuRamSection: a piece of guest RAM at a fixed address in this process
 * @addr: bus address
 * @len: bytes
 * @writable: false for what the guest sees as ROM
 * @cache: keeps the memory mapped, and can mark it dirty
 */
typedef struct TofuRamSection {
    hwaddr addr;
    hwaddr len;
    bool writable;
    MemoryRegionCache cache;
} TofuRamSection;

/*
 * TofuRam: the RAM of the device's bus master address space
 * @sections: TofuRamSection, ascending, or NULL; read under the node's lock,
 *            replaced under the BQL and the node's lock
 * @incoming: MemoryRegionSections of the memory map that is being built
 * @changed: whether that map differs from the last
 * @shared: only memory that other processes can map is usable
 */
typedef struct TofuRam {
    MemoryListener listener;
    AddressSpace *as;
    struct tofu_node *node;
    GArray *sections;
    GArray *incoming;
    bool changed;
    bool shared;
} TofuRam;

/*
 * tofu_ram_init: follow the memory map of an address space
 * @shared: the machine has other nodes, which have to read this memory
 *
 * tofu_ram_cleanup() forgets all memory and tells the other nodes. Both are
 * called with the BQL and without the node's lock.
 */
void tofu_ram_init(TofuRam *ram, AddressSpace *as, struct tofu_node *node,
                   bool shared);
void tofu_ram_cleanup(TofuRam *ram);

/* The map and written callbacks of struct tofu_node_ops */
void *tofu_ram_map(TofuRam *ram, uint64_t addr, size_t *len, bool write);
void tofu_ram_written(TofuRam *ram, uint64_t addr, size_t len);

/*
 * tofu_ram_check_shared: whether other processes can read all of the
 * machine's memory
 *
 * Returns: true, or false with @errp saying how to start QEMU.
 */
bool tofu_ram_check_shared(Error **errp);

#endif /* HW_TOFU_TOFU_MEM_H */
