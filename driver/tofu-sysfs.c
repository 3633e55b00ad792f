// SPDX-License-Identifier: GPL-2.0-only
/*
 * sysfs: the node's coordinates and its counters, one value per file.
 *
 * All files read registers; they are removed before the registers are.
 */
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "tofu.h"

#define TOFU_AXES 6

static struct tofu_dev *tofu_dev_of(struct device *dev)
{
	return container_of(dev, struct tofu_dev, dev);
}

/* ---- Place ---- */

static ssize_t tnis_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%u\n", tofu_dev_of(dev)->tnis);
}
static DEVICE_ATTR_RO(tnis);

static ssize_t node_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	u64 word = tofu_read(tofu_dev_of(dev), TOFU_REG_NODE);

	return sysfs_emit(buf, "%u\n", lower_32_bits(word));
}
static DEVICE_ATTR_RO(node);

static ssize_t nodes_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	u64 word = tofu_read(tofu_dev_of(dev), TOFU_REG_NODE);

	return sysfs_emit(buf, "%u\n", upper_32_bits(word));
}
static DEVICE_ATTR_RO(nodes);

static ssize_t coords_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	u64 word = tofu_read(tofu_dev_of(dev), TOFU_REG_COORDS);

	return sysfs_emit(buf, "%llu %llu %llu %llu %llu %llu\n",
			  TOFU_GET(word, TOFU_ROUTE_X),
			  TOFU_GET(word, TOFU_ROUTE_Y),
			  TOFU_GET(word, TOFU_ROUTE_Z),
			  TOFU_GET(word, TOFU_ROUTE_A),
			  TOFU_GET(word, TOFU_ROUTE_B),
			  TOFU_GET(word, TOFU_ROUTE_C));
}
static DEVICE_ATTR_RO(coords);

static ssize_t shape_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	u64 word = tofu_read(tofu_dev_of(dev), TOFU_REG_SHAPE);
	unsigned int axis;
	int at = 0;

	for (axis = 0; axis < TOFU_AXES; axis++)
		at += sysfs_emit_at(buf, at, "%s%llu", axis ? "x" : "",
				    word >> axis * TOFU_SHAPE_AXIS_BITS &
				    TOFU_MASK(TOFU_SHAPE_AXIS_BITS));
	at += sysfs_emit_at(buf, at, "\n");
	return at;
}
static DEVICE_ATTR_RO(shape);

/* ---- Virtual time ---- */

static ssize_t time_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%llu\n",
			  tofu_read(tofu_dev_of(dev), TOFU_REG_TIME));
}
static DEVICE_ATTR_RO(time);

static ssize_t machine_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	__le64 name = cpu_to_le64(tofu_read(tofu_dev_of(dev),
					    TOFU_REG_MACHINE));

	return sysfs_emit(buf, "%.8s\n", (const char *)&name);
}
static DEVICE_ATTR_RO(machine);

static struct attribute *tofu_attrs[] = {
	&dev_attr_tnis.attr,
	&dev_attr_node.attr,
	&dev_attr_nodes.attr,
	&dev_attr_coords.attr,
	&dev_attr_shape.attr,
	&dev_attr_time.attr,
	&dev_attr_machine.attr,
	NULL
};

static umode_t tofu_attr_visible(struct kobject *kobj, struct attribute *attr,
				 int index)
{
	struct tofu_dev *tdev = tofu_dev_of(kobj_to_dev(kobj));

	if (!tdev->direct &&
	    (attr == &dev_attr_time.attr || attr == &dev_attr_machine.attr))
		return 0;
	return attr->mode;
}

static const struct attribute_group tofu_group = {
	.attrs = tofu_attrs,
	.is_visible = tofu_attr_visible,
};

/* ---- Counters ---- */

static const char * const tofu_port_names[TOFU_PORTS] = {
	[TOFU_PORT_XP] = "xp", [TOFU_PORT_XM] = "xm",
	[TOFU_PORT_YP] = "yp", [TOFU_PORT_YM] = "ym",
	[TOFU_PORT_ZP] = "zp", [TOFU_PORT_ZM] = "zm",
	[TOFU_PORT_A] = "a", [TOFU_PORT_BP] = "bp",
	[TOFU_PORT_BM] = "bm", [TOFU_PORT_C] = "c",
};

static const char * const tofu_port_counter_names[TOFU_PORT_COUNTERS] = {
	[TOFU_PORT_TX_PACKETS] = "tx_packets",
	[TOFU_PORT_TX_BYTES] = "tx_bytes",
	[TOFU_PORT_RX_PACKETS] = "rx_packets",
	[TOFU_PORT_RX_BYTES] = "rx_bytes",
	[TOFU_PORT_TX_WAIT_NS] = "tx_wait_ns",
};

static const char * const tofu_cq_counter_names[TOFU_CQ_COUNTERS] = {
	[TOFU_CQ_TX_COMMANDS] = "tx_commands",
	[TOFU_CQ_TX_BYTES] = "tx_bytes",
	[TOFU_CQ_RX_REQUESTS] = "rx_requests",
	[TOFU_CQ_RX_BYTES] = "rx_bytes",
	[TOFU_CQ_TCQ_ERRORS] = "tcq_errors",
	[TOFU_CQ_MRQ_ERRORS] = "mrq_errors",
	[TOFU_CQ_MRQ_LOST] = "mrq_lost",
};

static const char * const tofu_cq_stamp_names[TOFU_CQ_STAMPS] = {
	[TOFU_CQ_TX_DOORBELL] = "tx_doorbell",
	[TOFU_CQ_TX_ENGINE] = "tx_engine",
	[TOFU_CQ_TX_WIRE] = "tx_wire",
	[TOFU_CQ_RX_WIRE] = "rx_wire",
	[TOFU_CQ_RX_ENGINE] = "rx_engine",
	[TOFU_CQ_RX_NOTICE] = "rx_notice",
};

/**
 * struct tofu_counter - a file that reads a register
 * @attr: its attribute
 * @reg:  offset in TOFU_BAR_REGS
 */
struct tofu_counter {
	struct device_attribute attr;
	u32 reg;
};

/**
 * struct tofu_counters - consecutive registers
 * @reg:   offset of the first one
 * @names: names of their files
 * @count: number of registers
 */
struct tofu_counters {
	u32 reg;
	const char * const *names;
	unsigned int count;
};

static ssize_t tofu_counter_show(struct device *dev,
				 struct device_attribute *attr, char *buf)
{
	struct tofu_counter *counter =
		container_of(attr, struct tofu_counter, attr);

	return sysfs_emit(buf, "%llu\n",
			  tofu_read(tofu_dev_of(dev), counter->reg));
}

static struct attribute *tofu_counter_attr(struct tofu_counter *counter,
					   const char *name, u32 reg)
{
	sysfs_attr_init(&counter->attr.attr);
	counter->attr.attr.name = name;
	counter->attr.attr.mode = 0444;
	counter->attr.show = tofu_counter_show;
	counter->reg = reg;
	return &counter->attr.attr;
}

/* A folder with a file for each register of at most two runs of registers */
static const struct attribute_group *
tofu_counter_group(struct device *parent, const char *name,
		   const struct tofu_counters *runs, unsigned int nr_runs)
{
	struct attribute_group *group;
	struct tofu_counter *counters;
	unsigned int i, run, n = 0, count = 0;

	for (run = 0; run < nr_runs; run++)
		count += runs[run].count;
	group = devm_kzalloc(parent, sizeof(*group), GFP_KERNEL);
	counters = devm_kcalloc(parent, count, sizeof(*counters), GFP_KERNEL);
	if (!group || !counters || !name)
		return NULL;
	group->attrs = devm_kcalloc(parent, count + 1, sizeof(*group->attrs),
				    GFP_KERNEL);
	if (!group->attrs)
		return NULL;
	group->name = name;
	for (run = 0; run < nr_runs; run++)
		for (i = 0; i < runs[run].count; i++, n++)
			group->attrs[n] = tofu_counter_attr(
				&counters[n], runs[run].names[i],
				runs[run].reg + i * sizeof(u64));
	return group;
}

static const struct attribute_group *tofu_port_group(struct device *parent,
						     enum tofu_port port)
{
	const struct tofu_counters run = {
		TOFU_REG_PORT(port, 0), tofu_port_counter_names,
		TOFU_PORT_COUNTERS,
	};

	return tofu_counter_group(parent,
				  devm_kasprintf(parent, GFP_KERNEL, "port_%s",
						 tofu_port_names[port]),
				  &run, 1);
}

static const struct attribute_group *
tofu_cq_group(struct tofu_dev *tdev, unsigned int tni, unsigned int nr)
{
	struct device *parent = &tdev->pdev->dev;
	u32 regs = TOFU_CQ_REGS(tni, nr);
	const struct tofu_counters runs[] = {
		{ regs + TOFU_CQ_COUNTER(0), tofu_cq_counter_names,
		  TOFU_CQ_COUNTERS },
		{ regs + TOFU_CQ_STAMP(0), tofu_cq_stamp_names,
		  TOFU_CQ_STAMPS },
	};

	return tofu_counter_group(parent,
				  devm_kasprintf(parent, GFP_KERNEL,
						 "tni%u_cq%u", tni, nr),
				  runs, tdev->direct ? 2 : 1);
}

int tofu_sysfs_groups(struct tofu_dev *tdev)
{
	struct device *parent = &tdev->pdev->dev;
	unsigned int cqs = tdev->tnis * TOFU_CQS_PER_TNI;
	const struct attribute_group **groups;
	unsigned int i, n = 0;

	groups = devm_kcalloc(parent, 1 + TOFU_PORTS + cqs + 1,
			      sizeof(*groups), GFP_KERNEL);
	if (!groups)
		return -ENOMEM;
	groups[n++] = &tofu_group;
	for (i = 0; i < TOFU_PORTS; i++)
		groups[n++] = tofu_port_group(parent, i);
	for (i = 0; i < cqs; i++)
		groups[n++] = tofu_cq_group(tdev, i / TOFU_CQS_PER_TNI,
					    i % TOFU_CQS_PER_TNI);
	/* A group whose allocation failed would end the list too early. */
	for (i = 0; i < n; i++)
		if (!groups[i])
			return -ENOMEM;
	tdev->dev.groups = groups;
	return 0;
}
