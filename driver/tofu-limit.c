// SPDX-License-Identifier: GPL-2.0-only
/*
 * What users can have: limits of each TNI, so that something is left for others,
 * and groups, which keep users apart. The limits are the real user's, as the
 * account of locked memory is; the group is that of the effective user.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/module.h>

#include "tofu.h"

static unsigned int tofu_cqs_per_user = TOFU_CQ_KERNEL - 1;
module_param_named(cqs_per_user, tofu_cqs_per_user, uint, 0644);
MODULE_PARM_DESC(cqs_per_user, "CQs of a TNI that a user can have");

static unsigned int tofu_channels_per_user = TOFU_CHANNELS - 1;
module_param_named(channels_per_user, tofu_channels_per_user, uint, 0644);
MODULE_PARM_DESC(channels_per_user,
		 "gates with a channel of a TNI that a user can have");

/* Relays take gates with a channel last, so one of those is left. */
static unsigned int tofu_gates_per_user = TOFU_GATES - 4;
module_param_named(gates_per_user, tofu_gates_per_user, uint, 0644);
MODULE_PARM_DESC(gates_per_user, "gates of a TNI that a user can have");

/* 2^16 by the golden ratio, odd: a range of users gives another one */
#define TOFU_GPID_FACTOR 40503

/*
 * The low half of the number, moved by the high half. User namespaces get ranges
 * that begin 65536 apart, in which everybody's root would be of one group.
 */
u64 tofu_gpid(kuid_t user)
{
	u32 uid = from_kuid(&init_user_ns, user);

	return (uid + (uid >> 16) * TOFU_GPID_FACTOR) & 0xffff;
}

static bool tofu_handle_intrudes(const struct tofu_handle *handle,
				 const struct tofu_handle *other)
{
	return handle->gpid == other->gpid &&
	       !uid_eq(handle->member, other->member);
}

bool tofu_limit_group_locked(struct tofu_dev *tdev,
			     const struct tofu_handle *handle)
{
	struct tofu_gates *gates;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tdev->cqs); i++)
		if (tdev->cqs[i] &&
		    tofu_handle_intrudes(handle, &tdev->cqs[i]->handle))
			return false;
	list_for_each_entry(gates, &tdev->gates_list, link)
		if (tofu_handle_intrudes(handle, &gates->handle))
			return false;
	return true;
}

static bool tofu_handle_ours(const struct tofu_handle *handle)
{
	return uid_eq(handle->owner, current_uid());
}

bool tofu_limit_cqs_locked(struct tofu_dev *tdev, unsigned int tni)
{
	struct tofu_cq **cqs = &tdev->cqs[tni * TOFU_CQS_PER_TNI];
	unsigned int nr, have = 0;

	for (nr = 0; nr < TOFU_CQS_PER_TNI; nr++)
		have += cqs[nr] && tofu_handle_ours(&cqs[nr]->handle);
	return have < READ_ONCE(tofu_cqs_per_user) || capable(CAP_SYS_RESOURCE);
}

bool tofu_limit_gates_locked(struct tofu_dev *tdev, unsigned int tni,
			     unsigned int count)
{
	unsigned int channels = 1, have = count;
	struct tofu_gates *gates;

	list_for_each_entry(gates, &tdev->gates_list, link) {
		if (gates->tni != tni || !tofu_handle_ours(&gates->handle))
			continue;
		channels++;
		have += gates->count;
	}
	return (channels <= READ_ONCE(tofu_channels_per_user) &&
		have <= READ_ONCE(tofu_gates_per_user)) ||
	       capable(CAP_SYS_RESOURCE);
}
