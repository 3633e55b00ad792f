// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits on what a user can have of each TNI, so that something is left for
 * other users. They are the real user's, as the account of locked memory is.
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
