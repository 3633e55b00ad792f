/* SPDX-License-Identifier: MIT */
/*
 * Barrier gates: allocation, links and IDs.
 */
#include <stdlib.h>

#include "utofu/instance.h"
#include "utofu/path.h"

int tofu_error_no_vbg(void)
{
	return tofu_error(tofu_instance()->forked ? UTOFU_ERR_NOT_AVAILABLE :
						UTOFU_ERR_INVALID_VBG_ID);
}

void tofu_vbg_forked(void)
{
	for (unsigned int i = 0; i < TOFU_TNIS_MAX * TOFU_GATES; i++)
		tofu_instance()->vbg[i / TOFU_GATES][i % TOFU_GATES].owned = 0;
}

/* ---- Allocations; instance locked ---- */

static void group_publish(struct tofu_vbg_group *group, utofu_vbg_id_t ids[])
{
	const struct tofu_port_gates *gates = group->gates;

	for (unsigned int i = 0; i < gates->count; i++) {
		struct tofu_vbg *vbg =
			&tofu_instance()->vbg[gates->tni][gates->gate[i]];

		ids[i] = tofu_vbg_id_of(tofu_instance()->port->info.coords,
					gates->tni, gates->gate[i]);
		vbg->group = group;
		vbg->index = i;
		__atomic_store_n(&vbg->owned, ids[i] + 1, __ATOMIC_RELEASE);
	}
}

static int group_create_locked(unsigned int tni, unsigned int count,
			       unsigned long flags, utofu_vbg_id_t ids[])
{
	struct tofu_port_dev *port = tofu_instance()->port;
	struct tofu_vbg_group *group = calloc(1, sizeof(*group));
	int err;

	if (!group)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	err = tofu_lock_init(&group->lock);
	if (err)
		goto err_group;
	err = port->ops->gates_create(port, tni, count, &group->gates);
	if (err)
		goto err_lock;
	group->locked = flags & UTOFU_VBG_FLAG_THREAD_SAFE;
	group_publish(group, ids);
	return UTOFU_SUCCESS;

err_lock:
	pthread_mutex_destroy(&group->lock);
err_group:
	free(group);
	return tofu_code_of_errno(err);
}

static void group_unpublish(const struct tofu_vbg_group *group)
{
	const struct tofu_port_gates *gates = group->gates;
	struct tofu_vbg *vbg = tofu_instance()->vbg[gates->tni];

	for (unsigned int i = 0; i < gates->count; i++)
		__atomic_store_n(&vbg[gates->gate[i]].owned, 0,
				 __ATOMIC_RELEASE);
}

/* Frees a group that is out of the tables; instance not locked */
static void group_destroy(struct tofu_vbg_group *group)
{
	group->gates->port->ops->gates_destroy(group->gates);
	pthread_mutex_destroy(&group->lock);
	free(group);
}

/* Whether these are the gates of one allocation, each given once. */
static int group_whole(const utofu_vbg_id_t ids[], size_t count,
		       struct tofu_vbg_group **group)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < count; i++) {
		const struct tofu_vbg *vbg = tofu_vbg_find(ids[i]);

		if (!vbg)
			return tofu_error_no_vbg();
		if (i && vbg->group != *group)
			return tofu_error(UTOFU_ERR_INVALID_VBG_ID);
		if (seen & 1ULL << vbg->index)
			return tofu_error(UTOFU_ERR_INVALID_NUMBER);
		seen |= 1ULL << vbg->index;
		*group = vbg->group;
	}
	if (count != (*group)->gates->count)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	return UTOFU_SUCCESS;
}

int utofu_alloc_vbg(utofu_tni_id_t tni_id, size_t num_vbgs,
		    unsigned long int flags, utofu_vbg_id_t vbg_ids[])
{
	int code;

	if (!vbg_ids)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!num_vbgs)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (flags & ~UTOFU_VBG_FLAG_THREAD_SAFE)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	code = tofu_instance_open();
	if (code)
		return code;
	if (tni_id >= tofu_barrier_tnis())
		return tofu_error(UTOFU_ERR_INVALID_TNI_ID);
	if (num_vbgs > TOFU_GATES)
		return tofu_error(UTOFU_ERR_FULL);
	tofu_instance_lock();
	code = group_create_locked(tni_id, (unsigned int)num_vbgs, flags,
				   vbg_ids);
	tofu_instance_unlock();
	return code;
}

int utofu_free_vbg(utofu_vbg_id_t vbg_ids[], size_t num_vbgs)
{
	struct tofu_vbg_group *group = NULL;
	int code;

	if (!vbg_ids)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!num_vbgs)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (tofu_instance()->forked)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	tofu_instance_lock();
	code = group_whole(vbg_ids, num_vbgs, &group);
	if (!code)
		group_unpublish(group);
	tofu_instance_unlock();
	if (!code)
		group_destroy(group);
	return code;
}

void tofu_vbg_free_all(void)
{
	for (unsigned int i = 0; i < TOFU_TNIS_MAX * TOFU_GATES; i++) {
		const struct tofu_vbg *vbg =
			&tofu_instance()->vbg[i / TOFU_GATES][i % TOFU_GATES];

		if (vbg->owned) {
			group_unpublish(vbg->group);
			group_destroy(vbg->group);
		}
	}
}

/* ---- Links; instance locked ---- */

static bool is_lcl_link(utofu_vbg_id_t id, utofu_vbg_id_t link)
{
	return link == UTOFU_VBG_ID_NULL ||
	       (!((id ^ link) & ~TOFU_FIELD(TOFU_VBG_ID_GATE)) &&
		tofu_vbg_id_gate(link) < TOFU_GATES);
}

static bool is_rmt_link(utofu_vbg_id_t link)
{
	struct tofu_coords at;

	if (link == UTOFU_VBG_ID_NULL)
		return true;
	if (!tofu_vbg_id_valid(link) || tofu_vbg_id_gate(link) >= TOFU_GATES ||
	    tofu_vbg_id_tni(link) >= tofu_barrier_tnis())
		return false;
	at = tofu_coords_unpack(tofu_vbg_id_route(link));
	return tofu_node_at(&tofu_instance()->shape, &at) >= 0;
}

/* For a setting with a remote destination; -1: the machine has no such path. */
static int path_id(const struct utofu_vbg_setting *setting)
{
	return tofu_path_id_to(tofu_vbg_id_route(setting->dst_rmt_vbg_id),
			       setting->dst_path_coords);
}

static int setting_check(const struct utofu_vbg_setting *setting)
{
	const utofu_vbg_id_t dst = setting->dst_rmt_vbg_id;

	if (!tofu_vbg_find(setting->vbg_id))
		return tofu_error_no_vbg();
	if (!is_lcl_link(setting->vbg_id, setting->src_lcl_vbg_id) ||
	    !is_lcl_link(setting->vbg_id, setting->dst_lcl_vbg_id) ||
	    !is_rmt_link(setting->src_rmt_vbg_id) || !is_rmt_link(dst))
		return tofu_error(UTOFU_ERR_INVALID_VBG_ID);
	if (dst != UTOFU_VBG_ID_NULL && path_id(setting) < 0)
		return tofu_error(UTOFU_ERR_INVALID_PATH);
	return UTOFU_SUCCESS;
}

static int settings_check(const struct utofu_vbg_setting settings[],
			  size_t count)
{
	int code = UTOFU_SUCCESS;

	for (size_t i = 0; i < count && !code; i++)
		code = setting_check(&settings[i]);
	return code;
}

/*
 * Keeps barriers from being started until settings_release(), so that none
 * begins between the check of all groups and the change of the last one.
 */
static int settings_hold(const struct utofu_vbg_setting settings[],
			 size_t count)
{
	int code = UTOFU_SUCCESS;

	for (size_t i = 0; i < count; i++) {
		struct tofu_vbg_group *group =
			tofu_vbg_find(settings[i].vbg_id)->group;

		if (!group->held)
			tofu_vbg_lock(group);
		group->held = true;
		if (group->begun)
			code = UTOFU_ERR_BUSY;
	}
	return code;
}

static void settings_release(const struct utofu_vbg_setting settings[],
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct tofu_vbg_group *group =
			tofu_vbg_find(settings[i].vbg_id)->group;

		if (group->held) {
			group->held = false;
			tofu_vbg_unlock(group);
		}
	}
}

/* A local link names only a gate, of the same TNI. */
static uint64_t lcl_word(utofu_vbg_id_t link)
{
	return link == UTOFU_VBG_ID_NULL ?
		       0 :
		       TOFU_SET(TOFU_LINK_VALID, 1) |
			       TOFU_SET(TOFU_LINK_GATE, tofu_vbg_id_gate(link));
}

static uint64_t rmt_word(utofu_vbg_id_t link)
{
	if (link == UTOFU_VBG_ID_NULL)
		return 0;
	return TOFU_SET(TOFU_LINK_VALID, 1) |
	       TOFU_SET(TOFU_LINK_GATE, tofu_vbg_id_gate(link)) |
	       TOFU_SET(TOFU_LINK_TNI, tofu_vbg_id_tni(link)) |
	       TOFU_SET(TOFU_LINK_COORDS, TOFU_GET(link, TOFU_VBG_ID_COORDS));
}

static uint64_t path_word(const struct utofu_vbg_setting *setting)
{
	if (setting->dst_rmt_vbg_id == UTOFU_VBG_ID_NULL)
		return 0;
	/* A path ID is a path plus one. */
	return TOFU_SET(TOFU_LINK_PATH, path_id(setting) - 1);
}

static int setting_apply(const struct utofu_vbg_setting *setting)
{
	const struct tofu_port_links links = {
		.src_lcl = lcl_word(setting->src_lcl_vbg_id),
		.src_rmt = rmt_word(setting->src_rmt_vbg_id),
		.dst_lcl = lcl_word(setting->dst_lcl_vbg_id),
		.dst_rmt = rmt_word(setting->dst_rmt_vbg_id) |
			   path_word(setting),
	};
	const struct tofu_vbg *vbg = tofu_vbg_find(setting->vbg_id);
	struct tofu_vbg_group *group = vbg->group;
	struct tofu_port_gates *gates = group->gates;
	int err = gates->port->ops->gate_set(gates, vbg->index, &links);

	if (!vbg->index) {
		group->linked = !err;
		group->started = 0;
		/* The device counts from 0 again; no barrier is under way. */
		tofu_block_write(&gates->channel->done, 0);
	}
	/* All errors that a program can make have been checked. */
	return err ? tofu_error(UTOFU_ERR_FATAL) : UTOFU_SUCCESS;
}

static int settings_apply(const struct utofu_vbg_setting settings[],
			  size_t count)
{
	int code = UTOFU_SUCCESS;

	for (size_t i = 0; i < count && !code; i++)
		code = setting_apply(&settings[i]);
	return code;
}

int utofu_set_vbg(struct utofu_vbg_setting vbg_settings[],
		  size_t num_vbg_settings)
{
	int code;

	if (!vbg_settings)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!num_vbg_settings)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (tofu_instance()->forked)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	tofu_instance_lock();
	code = settings_check(vbg_settings, num_vbg_settings);
	if (!code) {
		code = settings_hold(vbg_settings, num_vbg_settings);
		if (!code)
			code = settings_apply(vbg_settings, num_vbg_settings);
		settings_release(vbg_settings, num_vbg_settings);
	}
	tofu_instance_unlock();
	return code;
}

/* ---- VBG IDs ---- */

int utofu_query_vbg_info(utofu_vbg_id_t id, uint8_t coords[],
			 utofu_tni_id_t *tni_id, utofu_bg_id_t *bg_id,
			 uint16_t *extra_val)
{
	struct tofu_coords at;

	if (!coords || !tni_id || !bg_id || !extra_val)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vbg_id_valid(id))
		return tofu_error(UTOFU_ERR_INVALID_VBG_ID);
	if (tofu_vbg_id_gate(id) >= TOFU_GATES)
		return tofu_error(UTOFU_ERR_INVALID_BG_ID);
	at = tofu_coords_unpack(tofu_vbg_id_route(id));
	for (int i = 0; i < TOFU_AXES; i++)
		coords[i] = at.c[i];
	*tni_id = (utofu_tni_id_t)tofu_vbg_id_tni(id);
	*bg_id = (utofu_bg_id_t)tofu_vbg_id_gate(id);
	*extra_val = 0;
	return UTOFU_SUCCESS;
}
