/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller as a PCI device
 *
 * The controller itself is icc/, its transport is fabric/; this is the PCI
 * device around them. Locks: the BQL is taken before the node's lock and never
 * under it. The node's callbacks run under the node's lock, on any thread, with
 * or without the BQL; in virtual time always with it.
 *
 * May include: node/, uapi/, QEMU
 */
#ifndef HW_TOFU_TOFU_PCI_H
#define HW_TOFU_TOFU_PCI_H

#include "compat.h"
#include "qapi/qapi-types-common.h"
#include "node/node.h"
#include "tofu-io.h"
#include "tofu-mem.h"
#include "tofu-time.h"

#define TYPE_TOFU_PCI "tofu-pci"
OBJECT_DECLARE_SIMPLE_TYPE(TofuPCIState, TOFU_PCI)

/*
 * TofuPages: the regions of TOFU_BAR_PAGES
 * @bar: container of all of them
 * @cqs: the CQ pages: RAM, or I/O that traps
 * @kicks: the kick pages: I/O
 * @channels: the pages of the channels, to the end of the BAR: I/O
 * @memory: memory of @cqs, TOFU_PAGES_HALF bytes, in either case
 */
typedef struct TofuPages {
    MemoryRegion bar;
    MemoryRegion cqs;
    MemoryRegion kicks;
    MemoryRegion channels;
    void *memory;
} TofuPages;

/*
 * TofuPCIState:
 * @fabric, @node_number, @tnis, @inline_max, @trap, @assist, @armw,
 * @machine_name, @quiet_ns, @trace_file: properties
 * @machine: machine of that name; NULL: no virtual time
 * @node: lives from realize until the object is finalized: a processor may
 *        still be in an access to a BAR when the device is unplugged
 * @io: runs the engine; without @machine only
 * @irq_bh: raises the interrupts in @irq_pending, which changes under the
 *          node's lock; without @machine only
 * @time: runs the engine and raises interrupts; with @machine only
 * @used: software has written to the controller
 * @migration_blocker: without @machine only
 */
struct TofuPCIState {
    PCIDevice parent_obj;

    char *fabric;
    int32_t node_number;
    uint32_t tnis;
    uint32_t inline_max;
    bool trap;
    OnOffAuto assist;
    OnOffAuto armw;
    char *machine_name;
    uint32_t quiet_ns;
    char *trace_file;

    const struct tofu_preset *machine;
    MemoryRegion regs;
    TofuPages pages;
    struct tofu_node *node;
    TofuRam ram;
    TofuIO io;
    TofuTime time;
    QEMUBH *irq_bh;
    DECLARE_BITMAP(irq_pending, TOFU_VECTORS(TOFU_TNIS_MAX));
    bool used;
    Error *migration_blocker;
};

/* tofu_pages_init: create the memory and the regions, but not yet the BAR */
void tofu_pages_init(TofuPCIState *s);

/*
 * tofu_pages_map, tofu_pages_unmap: assemble the BAR and take it apart; an
 * assembled BAR keeps the device alive
 */
void tofu_pages_map(TofuPCIState *s);
void tofu_pages_unmap(TofuPCIState *s);

/* tofu_pages_finalize: free the memory, when no region is in use any more */
void tofu_pages_finalize(TofuPCIState *s);

#endif /* HW_TOFU_TOFU_PCI_H */
