/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller as a PCI device
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "qemu/accel.h"
#include "hw/boards.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/blocker.h"
#include "migration/vmstate.h"
#include "tofu-pci.h"
#include "trace.h"

#define TOFU_EXPRESS_CAP 0x80

/*
 * Programs take longer from their first ioctl() to their first command, so they
 * do not notice.
 */
#define TOFU_QUIET_NS 10000
#define TOFU_QUIET_NS_MAX 1000000

/* Other nodes' memory is mapped, so more data are better copied only once. */
#define TOFU_INLINE_DEFAULT 1024

static uint32_t tofu_pci_node(const TofuPCIState *s)
{
    return tofu_fabric_endpoint(tofu_node_fabric(s->node));
}

/* ---- Callbacks of the node, under its lock ---- */

static void *tofu_home_map(void *home, uint64_t addr, size_t *len, bool write)
{
    TofuPCIState *s = home;

    return tofu_ram_map(&s->ram, addr, len, write);
}

static void tofu_home_written(void *home, uint64_t addr, size_t len)
{
    TofuPCIState *s = home;

    tofu_ram_written(&s->ram, addr, len);
}

/* MSI-X state is protected by the BQL, which must not be taken here. */
static void tofu_home_irq(void *home, unsigned int vector)
{
    TofuPCIState *s = home;

    trace_tofu_irq_raise(tofu_pci_node(s), vector);
    set_bit_atomic(vector, s->irq_pending);
    if (s->irq_bh) {
        qemu_bh_schedule(s->irq_bh);
    }
}

static G_GNUC_PRINTF(2, 0)
void tofu_home_misuse(void *home, const char *format, va_list args)
{
    TofuPCIState *s = home;
    g_autofree char *what = NULL;

    if (!qemu_loglevel_mask(LOG_GUEST_ERROR) &&
        !trace_event_get_state_backends(TRACE_TOFU_MISUSE)) {
        return;
    }
    what = g_strdup_vprintf(format, args);
    trace_tofu_misuse(tofu_pci_node(s), what);
    qemu_log_mask(LOG_GUEST_ERROR, "tofu-pci: node %" PRIu32 ": %s\n",
                  tofu_pci_node(s), what);
}

static uint64_t tofu_home_now(void *home)
{
    return tofu_time_now();
}

static const struct tofu_node_ops tofu_home_ops = {
    .map = tofu_home_map,
    .written = tofu_home_written,
    .irq = tofu_home_irq,
    .misuse = tofu_home_misuse,
    .now = tofu_home_now,
};

static void tofu_irq_bh(void *opaque)
{
    TofuPCIState *s = opaque;
    unsigned int vectors = TOFU_VECTORS(s->tnis);
    DECLARE_BITMAP(pending, TOFU_VECTORS(TOFU_TNIS_MAX));
    unsigned int vector;

    bitmap_copy_and_clear_atomic(pending, s->irq_pending, vectors);
    for (vector = find_first_bit(pending, vectors); vector < vectors;
         vector = find_next_bit(pending, vectors, vector + 1)) {
        trace_tofu_irq_notify(tofu_pci_node(s), vector);
        msix_notify(PCI_DEVICE(s), vector);
    }
}

/*
 * In virtual time a processor sees an interrupt at the time of its cause. The
 * guard is as in a bottom half: the message may go to the device's registers.
 */
static void tofu_irq_deliver(void *opaque)
{
    TofuPCIState *s = opaque;
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    bool engaged = guard->engaged_in_io;

    if (bitmap_empty(s->irq_pending, TOFU_VECTORS(s->tnis))) {
        return;
    }
    guard->engaged_in_io = true;
    tofu_irq_bh(s);
    guard->engaged_in_io = engaged;
}

/* ---- TOFU_BAR_REGS ---- */

/* A read may end a flush, whose interrupt is then due at once. */
static uint64_t tofu_regs_read(void *opaque, hwaddr addr, unsigned int size)
{
    TofuPCIState *s = opaque;
    uint64_t value;

    tofu_node_lock(s->node);
    if (s->machine) {
        tofu_node_catch_up(s->node);
    }
    value = icc_reg_read(tofu_node_icc(s->node), addr, size);
    tofu_node_unlock(s->node);
    trace_tofu_reg_read(tofu_pci_node(s), addr, size, value);
    if (s->machine) {
        tofu_time_update(&s->time);
    }
    return value;
}

/* Software that resets the controller is about to use it. */
static bool tofu_regs_joins(hwaddr addr, uint64_t value, unsigned int size)
{
    return addr == TOFU_REG_CTRL && size == sizeof(uint64_t) &&
           (value & TOFU_CTRL_RESET);
}

/* A write may start work (a flush, a CQ with a full ring): look at once. */
static void tofu_regs_write(void *opaque, hwaddr addr, uint64_t value,
                            unsigned int size)
{
    TofuPCIState *s = opaque;
    bool worked;

    trace_tofu_reg_write(tofu_pci_node(s), addr, size, value);
    s->used = true;
    tofu_node_lock(s->node);
    if (s->machine) {
        tofu_node_catch_up(s->node);
    }
    icc_reg_write(tofu_node_icc(s->node), addr, value, size);
    worked = !s->machine && tofu_node_progress(s->node);
    tofu_node_unlock(s->node);
    if (s->machine) {
        if (tofu_regs_joins(addr, value, size)) {
            tofu_time_join(&s->time);
        }
        tofu_time_update(&s->time);
    } else if (worked) {
        tofu_fabric_wake(tofu_node_fabric(s->node));
    }
}

/* Wrong sizes and alignments pass: the controller counts them. */
static const MemoryRegionOps tofu_regs_ops = {
    .read = tofu_regs_read,
    .write = tofu_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {
        .min_access_size = 1,
        .max_access_size = 8,
        .unaligned = true,
    },
    .impl = {
        .min_access_size = 1,
        .max_access_size = 8,
        .unaligned = true,
    },
};

/* ---- Properties ---- */

static char *tofu_pci_machine_names(void)
{
    g_autoptr(GString) names = g_string_new(NULL);
    const struct tofu_preset *machine;
    size_t i;

    for (i = 0; (machine = tofu_preset_at(i)); i++) {
	    g_string_append_printf(names, "%s%s", i ? ", " : "", machine->name);
    }
    return g_strdup(names->str);
}

/* Refuses explicit properties that virtual time has no use for. */
static bool tofu_pci_check_machine(TofuPCIState *s, Error **errp)
{
    g_autofree char *names = tofu_pci_machine_names();

    s->machine = tofu_preset_find(s->machine_name);
    if (!s->machine) {
        error_setg(errp, "property 'machine' is '%s': give one of %s",
                   s->machine_name, names);
        return false;
    }
    if (s->io.thread || s->assist == ON_OFF_AUTO_ON) {
        error_setg(errp, "property 'machine': in virtual time the engine needs "
                   "neither 'iothread' nor 'assist'");
        return false;
    }
    s->trap = true;
    return tofu_time_check(errp);
}

/*
 * The engine's atomics and those of other nodes are the host's. TCG emits plain
 * loads and stores for a guest's atomics unless processors may run in parallel.
 */
static bool tofu_pci_check_atomics(Error **errp)
{
    g_autofree char *thread = NULL;

    if (!tcg_enabled()) {
        return true;
    }
    thread = object_property_get_str(OBJECT(current_accel()), "thread",
                                     &error_abort);
    if (g_str_equal(thread, "multi") && current_machine->smp.max_cpus > 1) {
        return true;
    }
    error_setg(errp, "the guest's atomic instructions would not be atomic: TCG "
               "makes them so only for a machine that can have several "
               "processors, each with a thread: start QEMU with -accel "
               "tcg,thread=multi -smp 1,maxcpus=2, without -icount");
    return false;
}

static bool tofu_pci_check_properties(TofuPCIState *s, Error **errp)
{
    if (s->tnis < 1 || s->tnis > TOFU_TNIS_MAX) {
        error_setg(errp, "property 'tnis' is %" PRIu32 ": a controller has "
                   "1 to %d TNIs", s->tnis, TOFU_TNIS_MAX);
        return false;
    }
    if (s->inline_max > TOFU_PKT_INLINE_MAX) {
        error_setg(errp, "property 'inline-max' is %" PRIu32 ": a packet "
                   "carries 0 to %d bytes", s->inline_max,
                   TOFU_PKT_INLINE_MAX);
        return false;
    }
    if (s->quiet_ns > TOFU_QUIET_NS_MAX) {
        error_setg(errp, "property 'quiet-ns' is %" PRIu32 ": give 0 to %d",
                   s->quiet_ns, TOFU_QUIET_NS_MAX);
        return false;
    }
    if (s->node_number < -1) {
        error_setg(errp, "property 'node' is %" PRId32 ": give a node number "
                   "from 0, or -1 for the lowest that is free",
                   s->node_number);
        return false;
    }
    if (!s->fabric && s->node_number > 0) {
        error_setg(errp, "property 'node' is %" PRId32 ", but without the "
                   "property 'fabric' the machine has one node: give the path "
                   "of a fabric, or leave 'node' out", s->node_number);
        return false;
    }
    if (s->trace_file && !s->machine_name) {
        error_setg(errp, "property 'trace' needs the property 'machine'");
        return false;
    }
    return s->machine_name ? tofu_pci_check_machine(s, errp) :
                             tofu_pci_check_atomics(errp);
}

static bool tofu_pci_assist(const TofuPCIState *s)
{
    return s->assist == ON_OFF_AUTO_ON ||
           (s->assist == ON_OFF_AUTO_AUTO && tcg_enabled() && !s->machine);
}

/* Remote atomics: by default as the machine has them. */
static bool tofu_pci_armw(const TofuPCIState *s)
{
    return s->armw == ON_OFF_AUTO_ON ||
           (s->armw == ON_OFF_AUTO_AUTO && (!s->machine || s->machine->armw));
}

/* ---- Realize and exit ---- */

static bool tofu_pci_create_node(TofuPCIState *s, Error **errp)
{
    struct tofu_node_params params = {
        .fabric = s->fabric,
        .node = s->node_number,
        .whole = true,
        .tnis = s->tnis,
        .pages = s->pages.memory,
        .ram_pages = !s->trap,
        .inline_max = s->inline_max,
        .mtu = TOFU_PKT_INLINE_MAX,
        .armw = tofu_pci_armw(s),
        .assist = tofu_pci_assist(s),
        .machine = s->machine,
        .quiet_ns = s->quiet_ns,
        .trace = s->trace_file,
        .ops = &tofu_home_ops,
        .home = s,
    };
    char *why = NULL;
    int ret = tofu_node_create(&params, &why, &s->node);

    if (ret < 0) {
        error_setg(errp, "properties 'fabric' = '%s' and 'node' = %" PRId32
                   ": %s", s->fabric ? s->fabric : "", s->node_number,
                   why ? why : strerror(-ret));
        free(why);
        return false;
    }
    return true;
}

/* In virtual time all data travels in packets. */
static bool tofu_pci_shares_memory(const TofuPCIState *s)
{
    return !s->machine &&
           tofu_shape_nodes(tofu_fabric_shape(tofu_node_fabric(s->node))) > 1;
}

/* In virtual time it depends on what software has done: see tofu_pci_vmstate. */
static bool tofu_pci_block_migration(TofuPCIState *s, Error **errp)
{
    if (s->machine) {
        return true;
    }
    error_setg(&s->migration_blocker, "tofu-pci: live migration is not "
               "supported yet: its peers read this guest's memory");
    return migrate_add_blocker(&s->migration_blocker, errp) == 0;
}

static bool tofu_pci_init_msix(TofuPCIState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    unsigned int vector;

    if (msix_init_exclusive_bar(pci, TOFU_VECTORS(s->tnis), TOFU_BAR_MSIX,
                                errp) < 0) {
        return false;
    }
    for (vector = 0; vector < TOFU_VECTORS(s->tnis); vector++) {
        msix_vector_use(pci, vector);
    }
    return true;
}

static void tofu_pci_init_bars(TofuPCIState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_init_io(&s->regs, OBJECT(s), &tofu_regs_ops, s, "tofu-regs",
                          TOFU_BAR_REGS_SIZE);
    pci_register_bar(pci, TOFU_BAR_REGS, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->regs);
    tofu_pages_map(s);
    pci_register_bar(pci, TOFU_BAR_PAGES,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                     PCI_BASE_ADDRESS_MEM_TYPE_64 |
                     PCI_BASE_ADDRESS_MEM_PREFETCH, &s->pages.bar);
}

static bool tofu_pci_init_express(PCIDevice *pci, Error **errp)
{
    if (!pci_bus_is_express(pci_get_bus(pci))) {
        return true;
    }
    if (pcie_endpoint_cap_init(pci, TOFU_EXPRESS_CAP) < 0) {
        error_setg(errp, "cannot add the PCI Express capability");
        return false;
    }
    pcie_cap_flr_init(pci);
    return true;
}

/* Starts what runs the engine and raises interrupts. */
static bool tofu_pci_start(TofuPCIState *s, Error **errp)
{
    if (s->machine) {
        tofu_time_init(&s->time, s->node, tofu_irq_deliver, s);
        return true;
    }
    if (!tofu_io_start(&s->io, s->node, tofu_pci_assist(s), errp)) {
        return false;
    }
    s->irq_bh = qemu_bh_new_guarded(tofu_irq_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    return true;
}

static void tofu_pci_stop(TofuPCIState *s)
{
    if (s->machine) {
        tofu_time_cleanup(&s->time);
    } else {
        tofu_io_stop(&s->io);
    }
}

static void tofu_pci_realize(PCIDevice *pci, Error **errp)
{
    TofuPCIState *s = TOFU_PCI(pci);

    if (!tofu_pci_check_properties(s, errp)) {
        return;
    }
    tofu_pages_init(s);
    if (!tofu_pci_create_node(s, errp)) {
        return;
    }
    if (tofu_pci_shares_memory(s) && !tofu_ram_check_shared(errp)) {
        return;
    }
    if (!tofu_pci_init_express(pci, errp)) {
        return;
    }
    tofu_pci_init_bars(s);
    if (!tofu_pci_init_msix(s, errp)) {
        goto err_bars;
    }
    if (!tofu_pci_block_migration(s, errp)) {
        goto err_msix;
    }
    if (!tofu_pci_start(s, errp)) {
        goto err_migration;
    }
    tofu_ram_init(&s->ram, pci_get_address_space(pci), s->node,
                  tofu_pci_shares_memory(s));
    trace_tofu_attach(tofu_pci_node(s),
                      tofu_shape_nodes(tofu_fabric_shape(
                          tofu_node_fabric(s->node))),
                      s->fabric ? s->fabric : "none", tofu_pci_assist(s));
    return;

err_migration:
    migrate_del_blocker(&s->migration_blocker);
err_msix:
    msix_uninit_exclusive_bar(pci);
err_bars:
    tofu_pages_unmap(s);
    pcie_cap_exit(pci);
}

/*
 * The node lives until tofu_pci_finalize(), without memory and without a
 * thread: a processor may be in a kick, which has released the BQL.
 */
static void tofu_pci_exit(PCIDevice *pci)
{
    TofuPCIState *s = TOFU_PCI(pci);
    QEMUBH *bh = s->irq_bh;

    tofu_pci_stop(s);
    tofu_ram_cleanup(&s->ram);

    tofu_node_lock(s->node);
    s->irq_bh = NULL;
    tofu_node_unlock(s->node);
    if (bh) {
        qemu_bh_delete(bh);
    }

    migrate_del_blocker(&s->migration_blocker);
    msix_uninit_exclusive_bar(pci);
    tofu_pages_unmap(s);
    pcie_cap_exit(pci);
}

static void tofu_pci_finalize(Object *obj)
{
    TofuPCIState *s = TOFU_PCI(obj);

    if (s->node) {
        tofu_node_destroy(s->node);
    }
    tofu_pages_finalize(s);
}

/*
 * Other nodes copy a put out of this guest's memory when they carry it out. A
 * guest that is reset will soon reuse that memory, and its new contents must
 * not arrive as if they had been sent. A node that does not respond is not
 * waited for longer than a person would notice.
 */
#define TOFU_DRAIN_US 100000
#define TOFU_DRAIN_STEP_US 50

static bool tofu_pci_resetting(TofuPCIState *s)
{
    bool resetting;

    tofu_node_lock(s->node);
    tofu_node_progress(s->node);
    resetting = icc_reg_read(tofu_node_icc(s->node), TOFU_REG_CTRL,
                             sizeof(uint64_t)) & TOFU_CTRL_RESET;
    tofu_node_unlock(s->node);
    return resetting;
}

static void tofu_pci_drain(TofuPCIState *s)
{
    int64_t end = g_get_monotonic_time() + TOFU_DRAIN_US;

    while (tofu_pci_resetting(s)) {
        if (g_get_monotonic_time() > end) {
            warn_report(TYPE_TOFU_PCI ": node %u was reset while other nodes "
                        "still have commands of it that refer to its memory",
                        tofu_pci_node(s));
            return;
        }
        g_usleep(TOFU_DRAIN_STEP_US);
    }
}

static void tofu_pci_reset(DeviceState *dev)
{
    TofuPCIState *s = TOFU_PCI(dev);

    trace_tofu_reset(tofu_pci_node(s));
    tofu_node_lock(s->node);
    if (s->machine) {
        tofu_node_catch_up(s->node);
    }
    icc_reset(tofu_node_icc(s->node));
    bitmap_zero(s->irq_pending, TOFU_VECTORS(TOFU_TNIS_MAX));
    tofu_node_unlock(s->node);
    if (s->machine) {
        return;
    }
    tofu_pci_drain(s);
    tofu_fabric_wake(tofu_node_fabric(s->node));
}

static void tofu_pci_write_config(PCIDevice *pci, uint32_t addr,
                                  uint32_t value, int size)
{
    pci_default_write_config(pci, addr, value, size);
    if (pci->exp.exp_cap) {
        pcie_cap_flr_write_config(pci, addr, value, size);
    }
}

static void tofu_pci_instance_init(Object *obj)
{
    /*
     * Decides the size of the configuration space; the capability comes later.
     */
    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

/*
 * A controller that software has not written to yet has no state but that of
 * its PCI function. Its number, network and machine are those of the process
 * that goes on with it.
 */
static int tofu_pci_pre_save(void *opaque)
{
    TofuPCIState *s = opaque;

    if (!s->used) {
        return 0;
    }
    error_report(TYPE_TOFU_PCI ": node %u cannot be saved: software uses its "
                 "controller", tofu_pci_node(s));
    return -EBUSY;
}

static const VMStateDescription tofu_pci_vmstate = {
    .name = TYPE_TOFU_PCI,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = tofu_pci_pre_save,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, TofuPCIState),
        VMSTATE_MSIX(parent_obj, TofuPCIState),
        VMSTATE_END_OF_LIST()
    },
};

static const Property tofu_pci_properties[] = {
    DEFINE_PROP_STRING("fabric", TofuPCIState, fabric),
    DEFINE_PROP_INT32("node", TofuPCIState, node_number, -1),
    DEFINE_PROP_UINT32("tnis", TofuPCIState, tnis, TOFU_TNIS_DEFAULT),
    DEFINE_PROP_UINT32("inline-max", TofuPCIState, inline_max,
                       TOFU_INLINE_DEFAULT),
    DEFINE_PROP_BOOL("trap", TofuPCIState, trap, false),
    DEFINE_PROP_ON_OFF_AUTO("assist", TofuPCIState, assist, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_ON_OFF_AUTO("armw", TofuPCIState, armw, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_STRING("machine", TofuPCIState, machine_name),
    DEFINE_PROP_UINT32("quiet-ns", TofuPCIState, quiet_ns, TOFU_QUIET_NS),
    DEFINE_PROP_BOOL("ahead", TofuPCIState, time.may_ahead, true),
    DEFINE_PROP_STRING("trace", TofuPCIState, trace_file),
    DEFINE_PROP_LINK("iothread", TofuPCIState, io.thread, TYPE_IOTHREAD,
                     IOThread *),
};

static void tofu_pci_describe_properties(ObjectClass *klass)
{
    object_class_property_set_description(klass, "fabric",
        "path of the machine's shared memory; without it, one node");
    object_class_property_set_description(klass, "node",
        "number of the node, -1: the lowest that is free");
    object_class_property_set_description(klass, "tnis",
        "network interfaces, 1 to 6");
    object_class_property_set_description(klass, "inline-max",
        "more bytes than that travel by reference, 0 to 16128");
    object_class_property_set_description(klass, "trap",
        "CQ pages are registers instead of memory");
    object_class_property_set_description(klass, "assist",
        "guests that poll run the engine; auto: with TCG");
    object_class_property_set_description(klass, "machine",
        "in virtual time: whose times everything takes");
    object_class_property_set_description(klass, "quiet-ns",
        "with machine: how long the first CQ or gate takes until it acts");
    object_class_property_set_description(klass, "ahead",
        "with machine: while it waits, a processor finds out what it will do");
    object_class_property_set_description(klass, "trace",
        "with machine: a file that says what happened when");
    object_class_property_set_description(klass, "iothread",
        "whose thread runs the engine; without it, one of its own");
}

static void tofu_pci_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);

    pc->realize = tofu_pci_realize;
    pc->exit = tofu_pci_exit;
    pc->config_write = tofu_pci_write_config;
    pc->vendor_id = TOFU_PCI_VENDOR_ID;
    pc->device_id = TOFU_PCI_DEVICE_ID;
    pc->revision = TOFU_PCI_REVISION;
    pc->class_id = TOFU_PCI_CLASS;
    dc->desc = "Tofu interconnect controller";
    dc->vmsd = &tofu_pci_vmstate;
    device_class_set_legacy_reset(dc, tofu_pci_reset);
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    device_class_set_props(dc, tofu_pci_properties);
    tofu_pci_describe_properties(klass);
}

static const TypeInfo tofu_pci_type = {
    .name = TYPE_TOFU_PCI,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(TofuPCIState),
    .instance_init = tofu_pci_instance_init,
    .instance_finalize = tofu_pci_finalize,
    .class_init = tofu_pci_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { },
    },
};

static void tofu_pci_register_types(void)
{
    type_register_static(&tofu_pci_type);
}

type_init(tofu_pci_register_types)
