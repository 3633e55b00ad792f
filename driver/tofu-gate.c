// SPDX-License-Identifier: GPL-2.0-only
/*
 * Barrier gates of a TNI as a file: the first one with a channel, the others
 * relays.
 *
 * A gate cannot disturb other users' gates: a target drops what comes from
 * another group, or from a gate that it does not name as its source. So a link
 * may name any gate.
 */
#include <linux/bitmap.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "tofu.h"
#include "tofu-trace.h"

#define TOFU_LINK_LCL_FIELDS \
	(TOFU_FIELD(TOFU_LINK_GATE) | TOFU_FIELD(TOFU_LINK_VALID))
#define TOFU_LINK_SRC_FIELDS \
	(TOFU_LINK_LCL_FIELDS | TOFU_FIELD(TOFU_LINK_COORDS) | \
	 TOFU_FIELD(TOFU_LINK_TNI))
#define TOFU_LINK_DST_FIELDS \
	(TOFU_LINK_SRC_FIELDS | TOFU_FIELD(TOFU_LINK_PATH))

static const struct tofu_handle_ops tofu_gates_handle_ops;

static struct tofu_gates *tofu_gates_of_handle(struct tofu_handle *handle)
{
	return container_of(handle, struct tofu_gates, handle);
}

/* ---- Registers ---- */

static void __iomem *tofu_gate_regs(struct tofu_gates *gates,
				    unsigned int index)
{
	return gates->handle.tdev->regs +
	       TOFU_GATE_REGS(gates->tni, gates->nr[index]);
}

/*
 * The read completes after the write was carried out: from then on the device
 * does not touch the channel's block.
 */
static bool tofu_gate_disable(struct tofu_gates *gates, unsigned int index)
{
	void __iomem *regs = tofu_gate_regs(gates, index);

	writeq(0, regs + TOFU_GATE_CTRL);
	return !readq(regs + TOFU_GATE_CTRL);
}

/* Return: whether all gates are disabled. */
static bool tofu_gates_disable(struct tofu_gates *gates)
{
	bool disabled = true;
	unsigned int i;

	for (i = 0; i < gates->count; i++)
		disabled &= tofu_gate_disable(gates, i);
	return disabled;
}

/*
 * The device restarts its count at zero, but stores it only when a barrier
 * ends.
 */
static void tofu_channel_clear(struct tofu_gates *gates)
{
	struct tofu_channel *channel = gates->channel.addr;

	WRITE_ONCE(channel->done, 0);
	memset(channel->result, 0, sizeof(channel->result));
}

static int tofu_gate_enable(struct tofu_gates *gates,
			    const struct tofu_ioc_gate_set *arg)
{
	void __iomem *regs = tofu_gate_regs(gates, arg->index);
	struct tofu_dev *tdev = gates->handle.tdev;

	tofu_gate_disable(gates, arg->index);
	if (!arg->index)
		tofu_channel_clear(gates);
	writeq(arg->src_lcl, regs + TOFU_GATE_SRC_LCL);
	writeq(arg->src_rmt, regs + TOFU_GATE_SRC_RMT);
	writeq(arg->dst_lcl, regs + TOFU_GATE_DST_LCL);
	writeq(arg->dst_rmt, regs + TOFU_GATE_DST_RMT);
	writeq(gates->handle.gpid, regs + TOFU_GATE_GPID);
	writeq(arg->index ? 0 : gates->channel.dma, regs + TOFU_GATE_CHANNEL);
	writeq(TOFU_GATE_CTRL_ENABLE, regs + TOFU_GATE_CTRL);
	if (readq(regs + TOFU_GATE_CTRL) != TOFU_GATE_CTRL_ENABLE) {
		dev_err(&tdev->dev, "gate %u of TNI %u refuses its settings\n",
			gates->nr[arg->index], gates->tni);
		return -EIO;
	}
	return 0;
}

/* ---- TOFU_IOC_GATE_SET ---- */

static bool tofu_coords_exist(struct tofu_dev *tdev, u64 coords)
{
	const u64 at[] = {
		TOFU_GET(coords, TOFU_ROUTE_X), TOFU_GET(coords, TOFU_ROUTE_Y),
		TOFU_GET(coords, TOFU_ROUTE_Z), TOFU_GET(coords, TOFU_ROUTE_A),
		TOFU_GET(coords, TOFU_ROUTE_B), TOFU_GET(coords, TOFU_ROUTE_C),
	};
	u64 shape = tofu_read(tdev, TOFU_REG_SHAPE);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(at); i++, shape >>= TOFU_SHAPE_AXIS_BITS)
		if (at[i] >= (shape & TOFU_MASK(TOFU_SHAPE_AXIS_BITS)))
			return false;
	return true;
}

/* 0 is no link; other links must not have any fields but these. */
static bool tofu_link_check(struct tofu_dev *tdev, u64 link, u64 fields)
{
	u64 path = TOFU_GET(link, TOFU_LINK_PATH);

	if (!TOFU_GET(link, TOFU_LINK_VALID))
		return !link;
	return !(link & ~fields) &&
	       TOFU_GET(link, TOFU_LINK_GATE) < TOFU_GATES &&
	       TOFU_GET(link, TOFU_LINK_TNI) < TOFU_TNIS_MAX &&
	       tofu_coords_exist(tdev, TOFU_GET(link, TOFU_LINK_COORDS)) &&
	       TOFU_GET(path, TOFU_PATH_B) != TOFU_MASK(TOFU_PATH_B_BITS);
}

static int tofu_gate_check(struct tofu_gates *gates,
			   const struct tofu_ioc_gate_set *arg)
{
	struct tofu_dev *tdev = gates->handle.tdev;

	if (arg->flags || arg->reserved || arg->index >= gates->count)
		return -EINVAL;
	if (!tofu_link_check(tdev, arg->src_lcl, TOFU_LINK_LCL_FIELDS) ||
	    !tofu_link_check(tdev, arg->dst_lcl, TOFU_LINK_LCL_FIELDS) ||
	    !tofu_link_check(tdev, arg->src_rmt, TOFU_LINK_SRC_FIELDS) ||
	    !tofu_link_check(tdev, arg->dst_rmt, TOFU_LINK_DST_FIELDS))
		return -EINVAL;
	return 0;
}

static int tofu_gate_set(struct tofu_ucmd *ucmd)
{
	struct tofu_gates *gates = tofu_gates_of_handle(ucmd->handle);
	const struct tofu_ioc_gate_set *arg = ucmd->cmd;
	int ret;

	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	ret = tofu_gate_check(gates, arg);
	if (!ret) {
		mutex_lock(&gates->set_lock);
		ret = tofu_gate_enable(gates, arg);
		mutex_unlock(&gates->set_lock);
	}
	tofu_ucmd_leave(ucmd);
	return ret;
}

/* ---- Free gates ---- */

/* Return: the number of a free relay. Gates with a channel are used last. */
static int tofu_relay_choose(const unsigned long *used)
{
	unsigned int nr = find_next_zero_bit(used, TOFU_GATES, TOFU_CHANNELS);

	if (nr < TOFU_GATES)
		return nr;
	for (nr = TOFU_CHANNELS; nr > 0; nr--)
		if (!test_bit(nr - 1, used))
			return nr - 1;
	return -ENOSPC;
}

static int tofu_channel_choose(const unsigned long *used)
{
	unsigned int nr = find_first_zero_bit(used, TOFU_CHANNELS);

	return nr < TOFU_CHANNELS ? nr : -ENOSPC;
}

static int tofu_gates_take(struct tofu_gates *gates)
{
	struct tofu_dev *tdev = gates->handle.tdev;
	DECLARE_BITMAP(used, TOFU_GATES);
	unsigned int i;
	int nr = 0;

	mutex_lock(&tdev->lock);
	if (!tofu_limit_gates_locked(tdev, gates->tni, gates->count))
		nr = -ENOSPC;
	if (!tofu_limit_group_locked(tdev, &gates->handle))
		nr = -EUSERS;
	bitmap_copy(used, tdev->gates_used[gates->tni], TOFU_GATES);
	for (i = 0; i < gates->count && nr >= 0; i++) {
		nr = i ? tofu_relay_choose(used) : tofu_channel_choose(used);
		if (nr < 0)
			break;
		gates->nr[i] = nr;
		__set_bit(nr, used);
	}
	if (nr >= 0) {
		bitmap_copy(tdev->gates_used[gates->tni], used, TOFU_GATES);
		list_add_tail(&gates->link, &tdev->gates_list);
		atomic_add(gates->count, &tdev->nr_gates);
	}
	mutex_unlock(&tdev->lock);
	return nr < 0 ? nr : 0;
}

static void tofu_gates_give_back_locked(struct tofu_gates *gates)
{
	struct tofu_dev *tdev = gates->handle.tdev;
	unsigned int i;

	for (i = 0; i < gates->count; i++)
		__clear_bit(gates->nr[i], tdev->gates_used[gates->tni]);
	list_del(&gates->link);
	atomic_sub(gates->count, &tdev->nr_gates);
}

/* ---- Destruction ---- */

static void tofu_gates_free(struct tofu_gates *gates)
{
	tofu_handle_put(&gates->handle);
	tofu_ring_free(&gates->channel);
	kfree(gates);
}

/*
 * Frees everything but the structure itself and the channel's block, which user
 * space may still read. No other node knows that block, so disabled gates are
 * quiet, whatever the network does.
 */
static void tofu_gates_drop_locked(struct tofu_gates *gates)
{
	struct tofu_dev *tdev = gates->handle.tdev;

	trace_tofu_gates_destroy(gates);
	if (tofu_gates_disable(gates)) {
		tofu_ring_detach(tdev, &gates->channel);
	} else {
		dev_err(&tdev->pdev->dev,
			"gate %u of TNI %u never became quiet: its channel's page is lost until the next boot\n",
			gates->nr[0], gates->tni);
		gates->channel.addr = NULL;
	}
	tofu_gates_give_back_locked(gates);
}

void tofu_gates_revoke(struct tofu_dev *tdev)
{
	struct tofu_gates *gates;

	mutex_lock(&tdev->lock);
	list_for_each_entry(gates, &tdev->gates_list, link) {
		struct tofu_channel *channel = gates->channel.addr;

		tofu_gates_disable(gates);
		tofu_handle_revoke(&gates->handle);
		WRITE_ONCE(channel->done, cpu_to_le64(TOFU_CHANNEL_GONE));
	}
	mutex_unlock(&tdev->lock);
}

void tofu_gates_drop_all(struct tofu_dev *tdev)
{
	struct tofu_gates *gates, *next;

	mutex_lock(&tdev->lock);
	/* The release of the files frees them. */
	list_for_each_entry_safe(gates, next, &tdev->gates_list, link)
		tofu_gates_drop_locked(gates);
	mutex_unlock(&tdev->lock);
}

/* ---- The file ---- */

static const struct tofu_ioctl_op tofu_gates_ops[] = {
	TOFU_IOCTL(TOFU_IOC_GATE_SET, struct tofu_ioc_gate_set, tofu_gate_set),
};

static const struct file_operations tofu_gates_fops = {
	.owner = THIS_MODULE,
	.release = tofu_handle_release,
	.mmap = tofu_handle_mmap,
	.unlocked_ioctl = tofu_handle_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static bool tofu_gates_handle_destroy(struct tofu_handle *handle)
{
	mutex_lock(&handle->tdev->lock);
	tofu_gates_drop_locked(tofu_gates_of_handle(handle));
	mutex_unlock(&handle->tdev->lock);
	return true;
}

static void tofu_gates_handle_free(struct tofu_handle *handle)
{
	tofu_gates_free(tofu_gates_of_handle(handle));
}

static const struct tofu_handle_ops tofu_gates_handle_ops = {
	.name = "[tofu-gates]",
	.fops = &tofu_gates_fops,
	.ioctls = tofu_gates_ops,
	.nr_ioctls = ARRAY_SIZE(tofu_gates_ops),
	.destroy = tofu_gates_handle_destroy,
	.free = tofu_gates_handle_free,
};

/* ---- TOFU_IOC_GATES_CREATE ---- */

static int tofu_gates_check(struct tofu_dev *tdev,
			    const struct tofu_ioc_gates_create *arg)
{
	if (arg->flags || arg->reserved || arg->tni >= tdev->tnis ||
	    !arg->count || arg->count > TOFU_GATES ||
	    memchr_inv(arg->gate, 0, sizeof(arg->gate)))
		return -EINVAL;
	return tdev->gates ? 0 : -ENOSPC;
}

static struct tofu_gates *
tofu_gates_alloc(struct tofu_dev *tdev, const struct tofu_ioc_gates_create *arg)
{
	struct tofu_gates *gates;

	gates = kzalloc(sizeof(*gates), GFP_KERNEL_ACCOUNT);
	if (!gates)
		return NULL;
	if (tofu_handle_init(&gates->handle, tdev, &tofu_gates_handle_ops)) {
		kfree(gates);
		return NULL;
	}
	gates->tni = arg->tni;
	gates->count = arg->count;
	mutex_init(&gates->set_lock);
	return gates;
}

static void tofu_gates_set_areas(struct tofu_gates *gates)
{
	struct tofu_area *areas = gates->handle.areas;

	areas[TOFU_GATES_MAP_CHANNEL] = tofu_area_of_ring(&gates->channel);
	areas[TOFU_GATES_MAP_START] = tofu_area_of_bar(
		gates->handle.tdev,
		TOFU_CHANNEL_PAGE(gates->tni, gates->nr[0]), false);
}

static struct tofu_gates *
tofu_gates_build(struct tofu_dev *tdev, const struct tofu_ioc_gates_create *arg)
{
	struct tofu_gates *gates;
	int ret;

	gates = tofu_gates_alloc(tdev, arg);
	if (!gates)
		return ERR_PTR(-ENOMEM);
	ret = tofu_ring_alloc(tdev, &gates->channel,
			      sizeof(struct tofu_channel));
	if (ret)
		goto err_free;
	ret = tofu_gates_take(gates);
	if (ret)
		goto err_detach_ring;
	tofu_gates_set_areas(gates);
	trace_tofu_gates_create(gates);
	return gates;

err_detach_ring:
	tofu_ring_detach(tdev, &gates->channel);
err_free:
	tofu_gates_free(gates);
	return ERR_PTR(ret);
}

static struct file *tofu_gates_file(struct tofu_dev *tdev,
				    struct tofu_ioc_gates_create *arg)
{
	struct tofu_gates *gates = tofu_gates_build(tdev, arg);

	if (IS_ERR(gates))
		return ERR_CAST(gates);
	memcpy(arg->gate, gates->nr, sizeof(arg->gate));
	tofu_handle_describe_maps(&gates->handle, arg->map, TOFU_GATES_MAPS);
	return tofu_handle_file(&gates->handle);
}

int tofu_gates_create(struct tofu_ucmd *ucmd)
{
	struct tofu_ioc_gates_create *arg = ucmd->cmd;
	struct file *file;
	int ret;

	ret = tofu_gates_check(ucmd->tdev, arg);
	if (ret)
		return ret;
	ret = tofu_ucmd_enter(ucmd);
	if (ret)
		return ret;
	file = tofu_gates_file(ucmd->tdev, arg);
	tofu_ucmd_leave(ucmd);
	if (IS_ERR(file))
		return PTR_ERR(file);
	return tofu_handle_install(file, ucmd, &arg->fd);
}
