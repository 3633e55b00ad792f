// SPDX-License-Identifier: MIT
/*
 * tofu-info: the interconnect controllers of this machine, where they are in
 * the torus, and their counters.
 *
 * May include: common/, uapi/
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <pci/pci.h>

#include <tofu/ioctl.h>
#include <tofu/regs.h>
#include <utofu.h>

#include "common/args.h"
#include "common/error.h"
#include "common/json.h"
#include "common/machine.h"
#include "common/print.h"
#include "common/shape.h"
#include "common/table.h"

#define SYS_PCI "/sys/bus/pci/devices"
#define BARS 6
#define TEXT 64

static const char usage[] =
	"usage: tofu-info [OPTION]...\n"
	"Show the Tofu controllers of this machine: PCI device, driver, place in the\n"
	"torus, network interfaces (TNIs) and command queues (CQs).\n"
	"\n"
	"      --counters  also the counters of ports and CQs; those that are zero are\n"
	"                  left out, --all shows them\n"
	"      --all       all counters\n"
	"      --json      print as JSON; has all counters\n"
	"      --help      print this and exit\n"
	"\n"
	"In a process of tofu-run, or with TOFU_PORT=emu, shows what libtofu emulates.\n"
	"Exit status: 0; 1 when there is no controller, or one that cannot be used.\n";

/**
 * struct controller - what is known of one
 * @bar:    addresses, 0 where there is none
 * @driver: that is bound, or empty
 * @name:   of the driver's device, such as tofu0, or empty
 * @sysfs:  folder of that device
 * @info:   as the driver answers; good if @usable
 * @why:    why it is not usable, where it is not
 */
struct controller {
	char pci[TEXT];
	unsigned int vendor;
	unsigned int device;
	unsigned int revision;
	uint64_t bar[BARS];
	uint64_t bar_size[BARS];
	char driver[TEXT];
	char name[TEXT];
	char sysfs[PATH_MAX];
	bool usable;
	struct tofu_ioc_info info;
	char *why;
};

/**
 * struct output - how things are shown
 * @counters: also counters
 * @zeros:    those that are zero, too
 */
struct output {
	bool use_json;
	bool counters;
	bool zeros;
	struct tofu_json json;
};

/* ---- Finding out ---- */

/* The folder PCI/tofu/tofuN that the driver makes. */
static bool class_find(struct controller *c)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), SYS_PCI "/%s/tofu", c->pci);
	dir = opendir(path);
	if (!dir)
		return false;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(c->name, sizeof(c->name), "%.*s", TEXT - 1,
			 entry->d_name);
		snprintf(c->sysfs, sizeof(c->sysfs), SYS_PCI "/%s/tofu/%s",
			 c->pci, c->name);
	}
	closedir(dir);
	return c->name[0];
}

static void driver_find(struct controller *c)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), SYS_PCI "/%s/driver", c->pci);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return;
	target[length] = '\0';
	snprintf(c->driver, sizeof(c->driver), "%.*s", TEXT - 1,
		 basename(target));
}

static void info_ask(struct controller *c)
{
	char path[TEXT + 8];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", c->name);
	c->info.size = sizeof(c->info);
	fd = open(path, O_RDWR | O_CLOEXEC);
	c->usable = fd >= 0 && !ioctl(fd, TOFU_IOC_INFO, &c->info);
	if (!c->usable)
		tofu_error_say(&c->why, "%s: %s%s", path, strerror(errno),
			       errno == EACCES ?
				       "; ask for permission to read and write it" :
				       "");
	if (fd >= 0)
		close(fd);
}

static void controller_learn(struct controller *c, struct pci_dev *dev)
{
	pci_fill_info(dev, PCI_FILL_IDENT | PCI_FILL_BASES | PCI_FILL_SIZES);
	snprintf(c->pci, sizeof(c->pci), "%04x:%02x:%02x.%u", dev->domain,
		 dev->bus, dev->dev, dev->func);
	c->vendor = dev->vendor_id;
	c->device = dev->device_id;
	c->revision = pci_read_byte(dev, PCI_REVISION_ID);
	for (int i = 0; i < BARS; i++) {
		c->bar[i] = dev->base_addr[i] & PCI_ADDR_MEM_MASK;
		c->bar_size[i] = dev->size[i];
	}
	driver_find(c);
	if (!c->driver[0])
		tofu_error_say(&c->why,
			       "no driver is bound to it: load tofu.ko");
	else if (!class_find(c))
		tofu_error_say(&c->why,
			       "driver %s is bound, which is not tofu or is not ready",
			       c->driver);
	else
		info_ask(c);
}

/* A number of one of the driver's files; false: it cannot be read. */
static bool value_read(const struct controller *c, const char *folder,
		       const char *file, uint64_t *value)
{
	char path[2 * PATH_MAX];
	FILE *in;
	bool good;

	snprintf(path, sizeof(path), "%s/%s/%s", c->sysfs, folder, file);
	in = fopen(path, "re");
	if (!in)
		return false;
	good = fscanf(in, "%" SCNu64, value) == 1;
	fclose(in);
	return good;
}

/**
 * struct virtual - what the driver says of virtual time
 * @machine: whose times are kept
 * @time:    ns
 */
struct virtual {
	char machine[TEXT];
	uint64_t time;
};

static bool virtual_read(const struct controller *c, struct virtual *virtual)
{
	char path[PATH_MAX + TEXT];
	FILE *in;
	bool good;

	snprintf(path, sizeof(path), "%s/machine", c->sysfs);
	in = fopen(path, "re");
	if (!in)
		return false;
	good = fscanf(in, "%63s", virtual->machine) == 1;
	fclose(in);
	return good && value_read(c, ".", "time", &virtual->time);
}

/* ---- Showing ---- */

static const char *const port_names[TOFU_PORTS] = {
	"xp", "xm", "yp", "ym", "zp", "zm", "a", "bp", "bm", "c",
};

static const char *const port_counters[TOFU_PORT_COUNTERS] = {
	"tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "tx_wait_ns",
};

static const char *const cq_counters[TOFU_CQ_COUNTERS] = {
	"tx_commands", "tx_bytes", "rx_requests", "rx_bytes",
	"tcq_errors",  "mrq_errors", "mrq_lost",
};

/**
 * struct group - counters that are shown as one table
 * @title:  of the table's first column
 * @key:    in JSON
 * @names:  of the counters, @count
 */
struct group {
	const char *title;
	const char *key;
	const char *const *names;
	size_t count;
};

static const struct group port_group = { "port", "ports", port_counters,
					 TOFU_PORT_COUNTERS };
static const struct group cq_group = { "CQ", "cqs", cq_counters,
				       TOFU_CQ_COUNTERS };

static void row_json(struct output *out, const struct group *group,
		     const char *folder, const uint64_t *value)
{
	tofu_json_open(&out->json, NULL, '{');
	tofu_json_string(&out->json, "name", folder);
	for (size_t i = 0; i < group->count; i++)
		tofu_json_number(&out->json, group->names[i], value[i]);
	tofu_json_close(&out->json, '}');
}

static void row_table(struct tofu_table *table, const struct group *group,
		      const char *folder, const uint64_t *value)
{
	if (!table->columns) {
		table->columns = group->count + 1;
		tofu_table_head(table);
	}
	tofu_table_cell(table, "%s", folder);
	for (size_t i = 0; i < group->count; i++)
		tofu_table_cell(table, "%" PRIu64, value[i]);
}

/* One line of a group; the table's head comes with its first line. */
static void row_show(struct output *out, const struct controller *c,
		     struct tofu_table *table, const struct group *group,
		     const char *folder)
{
	uint64_t value[TOFU_CQ_COUNTERS] = { 0 }, any = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (!value_read(c, folder, group->names[i], &value[i]))
			return;
		any |= value[i];
	}
	if (out->use_json)
		row_json(out, group, folder, value);
	else if (any || out->zeros)
		row_table(table, group, folder, value);
}

static void group_show(struct output *out, const struct controller *c,
		       const struct group *group)
{
	struct tofu_column column[1 + TOFU_CQ_COUNTERS] = { { group->title,
							      -10 } };
	struct tofu_table table = { .out = stdout, .column = column };
	unsigned int cqs = c->info.tnis * TOFU_CQS_PER_TNI;
	char folder[TEXT];

	for (size_t i = 0; i < group->count; i++)
		column[1 + i] = (struct tofu_column){ group->names[i], 12 };
	if (out->use_json)
		tofu_json_open(&out->json, group->key, '[');
	else
		putchar('\n');
	for (unsigned int i = 0; group == &port_group && i < TOFU_PORTS; i++) {
		snprintf(folder, sizeof(folder), "port_%s", port_names[i]);
		row_show(out, c, &table, group, folder);
	}
	for (unsigned int i = 0; group == &cq_group && i < cqs; i++) {
		snprintf(folder, sizeof(folder), "tni%u_cq%u",
			 i / TOFU_CQS_PER_TNI, i % TOFU_CQS_PER_TNI);
		row_show(out, c, &table, group, folder);
	}
	if (out->use_json)
		tofu_json_close(&out->json, ']');
	else if (!table.columns)
		printf("Counters of %ss: all zero.\n", group->title);
}

static void item(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void item(const char *name, const char *format, ...)
{
	va_list args;

	printf("  %-12s", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static void place_show(const struct tofu_machine *machine)
{
	struct tofu_coords at = tofu_coords_of(&machine->shape, machine->node);
	char shape[TOFU_SHAPE_TEXT];

	item("machine", "%u node%s, shape %s", machine->nodes,
	     machine->nodes > 1 ? "s" : "",
	     tofu_shape_text(&machine->shape, shape));
	item("node", "%u, at X Y Z A B C = %u %u %u %u %u %u", machine->node,
	     at.c[0], at.c[1], at.c[2], at.c[3], at.c[4], at.c[5]);
}

static void place_json(struct tofu_json *json,
		       const struct tofu_machine *machine)
{
	struct tofu_coords at = tofu_coords_of(&machine->shape, machine->node);
	char shape[TOFU_SHAPE_TEXT];

	tofu_json_number(json, "nodes", machine->nodes);
	tofu_json_string(json, "shape", tofu_shape_text(&machine->shape, shape));
	tofu_json_number(json, "node", machine->node);
	tofu_json_open(json, "coordinates", '[');
	for (int i = 0; i < TOFU_AXES; i++)
		tofu_json_number(json, NULL, at.c[i]);
	tofu_json_close(json, ']');
}

static void queues_show(const struct tofu_ioc_info *info)
{
	item("TNIs", "%u, of %d CQs each: 0 to %u for programs, %d for the kernel",
	     info->tnis, TOFU_CQS_PER_TNI, info->cqs - 1, TOFU_CQ_KERNEL);
	item("rings", "up to %llu entries",
	     (unsigned long long)TOFU_RING_ENTRIES(info->ring_code_max));
	item("memory", "%u regions (STAGs) a CQ", info->stags);
	if (info->gates)
		item("barriers", "%u gates a TNI, %d of them with a channel",
		     info->gates, TOFU_CHANNELS);
	else
		item("barriers", "none: the controller has no gates");
}

static void queues_json(struct tofu_json *json,
			const struct tofu_ioc_info *info)
{
	tofu_json_number(json, "tnis", info->tnis);
	tofu_json_number(json, "cqs_per_tni", TOFU_CQS_PER_TNI);
	tofu_json_number(json, "user_cqs_per_tni", info->cqs);
	tofu_json_number(json, "ring_entries_max",
			 TOFU_RING_ENTRIES(info->ring_code_max));
	tofu_json_number(json, "stags_per_cq", info->stags);
	tofu_json_number(json, "gates_per_tni", info->gates);
}

static void virtual_show(const struct controller *c)
{
	struct virtual virtual;

	if (!virtual_read(c, &virtual))
		return;
	item("times of", "%s", virtual.machine);
	item("time", "%" PRIu64 ".%09" PRIu64 " s", virtual.time / 1000000000,
	     virtual.time % 1000000000);
}

/* Without virtual time both are null, so that no reader has to guess. */
static void virtual_json(struct tofu_json *json, const struct controller *c)
{
	struct virtual virtual;

	if (virtual_read(c, &virtual)) {
		tofu_json_string(json, "times_of", virtual.machine);
		tofu_json_number(json, "time_ns", virtual.time);
	} else {
		tofu_json_null(json, "times_of");
		tofu_json_null(json, "time_ns");
	}
}

/* The driver's answer, checked, since all else is derived from it. */
static bool machine_of(const struct tofu_ioc_info *info,
		       struct tofu_machine *machine)
{
	if (tofu_shape_unpack(info->shape, &machine->shape))
		return false;
	machine->nodes = tofu_shape_nodes(&machine->shape);
	machine->node = info->node;
	return machine->node < machine->nodes;
}

static void controller_json(struct output *out, const struct controller *c)
{
	struct tofu_json *json = &out->json;
	struct tofu_machine machine;

	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "pci", c->pci);
	tofu_json_number(json, "vendor_id", c->vendor);
	tofu_json_number(json, "device_id", c->device);
	tofu_json_number(json, "revision", c->revision);
	tofu_json_open(json, "bars", '[');
	for (unsigned int i = 0; i < BARS; i++) {
		if (!c->bar_size[i])
			continue;
		tofu_json_open(json, NULL, '{');
		tofu_json_number(json, "bar", i);
		tofu_json_number(json, "address", c->bar[i]);
		tofu_json_number(json, "bytes", c->bar_size[i]);
		tofu_json_close(json, '}');
	}
	tofu_json_close(json, ']');
	if (c->driver[0])
		tofu_json_string(json, "driver", c->driver);
	else
		tofu_json_null(json, "driver");
	tofu_json_bool(json, "usable", c->usable);
	if (c->usable && machine_of(&c->info, &machine)) {
		tofu_json_string(json, "name", c->name);
		place_json(json, &machine);
		queues_json(json, &c->info);
		virtual_json(json, c);
		group_show(out, c, &port_group);
		group_show(out, c, &cq_group);
	} else if (c->why) {
		tofu_json_string(json, "trouble", c->why);
	}
	tofu_json_close(json, '}');
}

static void controller_text(struct output *out, const struct controller *c)
{
	static const char *const uses[BARS] = {
		[TOFU_BAR_REGS] = "registers",
		[TOFU_BAR_PAGES] = "pages of CQs and channels",
		[TOFU_BAR_MSIX] = "MSI-X",
	};
	struct tofu_machine machine;

	printf("%s: Tofu controller at PCI %s\n",
	       c->name[0] ? c->name : "(no device file)", c->pci);
	item("PCI ID", "%04x:%04x, revision %u", c->vendor, c->device,
	     c->revision);
	for (int i = 0; i < BARS; i++) {
		if (c->bar_size[i])
			item(i ? "" : "BARs", "%d: %#" PRIx64 ", %" PRIu64
			     " KiB, %s", i, c->bar[i], c->bar_size[i] / 1024,
			     uses[i] ? uses[i] : "unknown");
	}
	item("driver", "%s", c->driver[0] ? c->driver : "none");
	if (c->usable && machine_of(&c->info, &machine)) {
		place_show(&machine);
		queues_show(&c->info);
		virtual_show(c);
		if (out->counters) {
			group_show(out, c, &port_group);
			group_show(out, c, &cq_group);
		}
	} else {
		item("trouble", "%s", c->why ? c->why : "it answers nonsense");
	}
}

/* ---- The three cases: devices, none, emulated ---- */

static bool emulated(void)
{
	const char *port = getenv("TOFU_PORT");

	return port ? !strcmp(port, "emu") : !!getenv("TOFU_FABRIC");
}

static int emulated_show(struct output *out)
{
	struct tofu_machine machine;
	utofu_tni_id_t *tnis;
	size_t count;
	char *why = NULL;

	if (tofu_machine_find(&machine, &why))
		errx(EXIT_FAILURE, "%s", why ? why : "no memory");
	if (utofu_get_onesided_tnis(&tnis, &count) != UTOFU_SUCCESS)
		errx(EXIT_FAILURE, "the emulated controller has no TNIs");
	free(tnis);
	if (out->use_json) {
		tofu_json_open(&out->json, NULL, '{');
		tofu_json_bool(&out->json, "emulated", true);
		place_json(&out->json, &machine);
		tofu_json_number(&out->json, "tnis", count);
		tofu_json_number(&out->json, "cqs_per_tni", TOFU_CQS_PER_TNI);
		tofu_json_close(&out->json, '}');
		return EXIT_SUCCESS;
	}
	printf("emulated: a Tofu controller in this process, without a device\n");
	place_show(&machine);
	item("TNIs", "%zu, of %d CQs each", count, TOFU_CQS_PER_TNI);
	if (out->counters)
		item("counters", "none to see: they live and die with a process");
	return EXIT_SUCCESS;
}

static int devices_show(struct output *out, struct pci_access *access)
{
	int status = EXIT_FAILURE;
	unsigned int all = 0, found = 0;

	if (out->use_json) {
		tofu_json_open(&out->json, NULL, '{');
		tofu_json_bool(&out->json, "emulated", false);
		tofu_json_open(&out->json, "controllers", '[');
	}
	for (struct pci_dev *dev = access->devices; dev; dev = dev->next) {
		struct controller c = { 0 };

		pci_fill_info(dev, PCI_FILL_IDENT);
		all++;
		if (dev->vendor_id != TOFU_PCI_VENDOR_ID ||
		    dev->device_id != TOFU_PCI_DEVICE_ID)
			continue;
		controller_learn(&c, dev);
		if (found++ && !out->use_json)
			putchar('\n');
		if (out->use_json)
			controller_json(out, &c);
		else
			controller_text(out, &c);
		if (c.usable)
			status = EXIT_SUCCESS;
		free(c.why);
	}
	if (out->use_json) {
		tofu_json_close(&out->json, ']');
		tofu_json_close(&out->json, '}');
	}
	if (!found)
		warnx("no Tofu controller (%04x:%04x) among %u PCI devices; without one programs run under tofu-run",
		      TOFU_PCI_VENDOR_ID, TOFU_PCI_DEVICE_ID, all);
	return status;
}

static void all_take(void *to, const char *option, const char *text)
{
	struct output *out = to;

	(void)option, (void)text;
	out->zeros = true;
	out->counters = true;
}

#define KEPT(member) TOFU_AT(struct output, member)

static const struct tofu_option table[] = {
	{ "counters", TOFU_ARG_SET, KEPT(counters), .min = true },
	{ "all", TOFU_ARG_DO, .take = all_take },
	{ "json", TOFU_ARG_SET, KEPT(use_json), .min = true },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table) };

int main(int argc, char **argv)
{
	struct output out = { .json.out = stdout };
	struct pci_access *access;
	int status;

	tofu_args_parse(&args, argc, argv, &out);
	if (emulated()) {
		status = emulated_show(&out);
		tofu_print_end();
		return status;
	}
	/* libpci ends the program where it finds no way to the bus. */
	if (euidaccess(SYS_PCI, R_OK))
		errx(EXIT_FAILURE, SYS_PCI ": %s; this machine shows no PCI bus",
		     strerror(errno));
	access = pci_alloc();
	pci_init(access);
	pci_scan_bus(access);
	status = devices_show(&out, access);
	pci_cleanup(access);
	tofu_print_end();
	return status;
}
