/* SPDX-License-Identifier: MIT */
/*
 * Barriers and reductions: the data path of barrier gates. No system call, no
 * allocation.
 */
#include <string.h>

#include "port/kick.h"
#include "port/work.h"
#include "utofu/instance.h"

TOFU_ASSERT((int)UTOFU_REDUCE_OP_BARRIER == TOFU_REDUCE_BARRIER &&
		    (int)UTOFU_REDUCE_OP_BAND == TOFU_REDUCE_BAND &&
		    (int)UTOFU_REDUCE_OP_BOR == TOFU_REDUCE_BOR &&
		    (int)UTOFU_REDUCE_OP_BXOR == TOFU_REDUCE_BXOR &&
		    (int)UTOFU_REDUCE_OP_MAX == TOFU_REDUCE_MAX &&
		    (int)UTOFU_REDUCE_OP_MAXLOC == TOFU_REDUCE_MAXLOC &&
		    (int)UTOFU_REDUCE_OP_SUM == TOFU_REDUCE_SUM &&
		    (int)UTOFU_REDUCE_OP_BFPSUM == TOFU_REDUCE_BFPSUM,
	    "operations are the device's");

/* A start and its poll must be of the same kind. */
enum kind { KIND_BARRIER,
	    KIND_UINT64,
	    KIND_DOUBLE };

static enum kind kind_of(unsigned int op)
{
	switch (op) {
	case TOFU_REDUCE_BARRIER:
		return KIND_BARRIER;
	case TOFU_REDUCE_BFPSUM:
		return KIND_DOUBLE;
	default:
		return KIND_UINT64;
	}
}

/* Return: the group whose start and end gate this is, or NULL. */
static struct tofu_vbg_group *group_of(utofu_vbg_id_t id)
{
	const struct tofu_vbg *vbg = tofu_vbg_find(id);

	return vbg && !vbg->index ? vbg->group : NULL;
}

/* ---- Start ---- */

static void block_fill(struct tofu_channel *channel, unsigned int op,
		       const void *data, unsigned int count)
{
	uint64_t word;

	for (unsigned int i = 0; i < count; i++) {
		memcpy(&word, (const char *)data + i * sizeof(word),
		       sizeof(word));
		tofu_block_write(&channel->operand[i], word);
	}
	tofu_block_write(&channel->command,
			 TOFU_SET(TOFU_CHANNEL_OP, op) |
				 TOFU_SET(TOFU_CHANNEL_COUNT, count));
}

static int begin_locked(struct tofu_vbg_group *group, unsigned int op,
			const void *data, unsigned int count)
{
	if (!group->linked)
		return tofu_error(UTOFU_ERR_INVALID_VBG_ID);
	if (group->begun)
		return UTOFU_ERR_BUSY;
	block_fill(group->gates->channel, op, data, count);
	group->begun = true;
	group->op = op;
	group->count = count;
	group->started++;
	return UTOFU_SUCCESS;
}

/* The arguments have been checked. */
static int start(struct tofu_vbg_group *group, unsigned int op,
		 const void *data, size_t count)
{
	int code;

	tofu_vbg_lock(group);
	code = begin_locked(group, op, data, (unsigned int)count);
	tofu_vbg_unlock(group);
	if (code)
		return code;
	tofu_work(TOFU_WORK_BARRIER_START);
	tofu_port_channel(group->gates);
	tofu_work(TOFU_WORK_BARRIER_STARTED);
	return UTOFU_SUCCESS;
}

int utofu_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags)
{
	struct tofu_vbg_group *group = group_of(vbg_id);

	if (!group)
		return tofu_error_no_vbg();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	return start(group, TOFU_REDUCE_BARRIER, NULL, 0);
}

/* Return: the error in @op, if any, for a function of @kind. */
static int op_check(unsigned int op, enum kind kind)
{
	if (op < TOFU_REDUCE_BARRIER || op >= TOFU_REDUCE_OPS)
		return tofu_error(UTOFU_ERR_INVALID_OP);
	if (kind_of(op) != kind)
		return tofu_error(UTOFU_ERR_NOT_SUPPORTED);
	return UTOFU_SUCCESS;
}

int utofu_reduce_uint64(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			uint64_t data[], size_t num_data,
			unsigned long int flags)
{
	struct tofu_vbg_group *group = group_of(vbg_id);
	int code;

	if (!group)
		return tofu_error_no_vbg();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	code = op_check(reduce_op, KIND_UINT64);
	if (code)
		return code;
	if (!num_data || num_data > TOFU_REDUCE_WORDS ||
	    (reduce_op == UTOFU_REDUCE_OP_MAXLOC && num_data % 2))
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (!data)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	return start(group, reduce_op, data, num_data);
}

#define DOUBLE_EXPONENT 0x7ff0000000000000ULL

/* Checks the bits, so that no operation rounds or traps. */
static bool is_finite(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (bits & DOUBLE_EXPONENT) != DOUBLE_EXPONENT;
}

int utofu_reduce_double(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			double data[], size_t num_data,
			unsigned long int flags)
{
	struct tofu_vbg_group *group = group_of(vbg_id);
	double copy[TOFU_REDUCE_DOUBLES];
	int code;

	if (!group)
		return tofu_error_no_vbg();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	code = op_check(reduce_op, KIND_DOUBLE);
	if (code)
		return code;
	if (!num_data || num_data > TOFU_REDUCE_DOUBLES)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	if (!data)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	memcpy(copy, data, num_data * sizeof(*data));
	for (size_t i = 0; i < num_data; i++)
		if (!is_finite(copy[i]))
			return tofu_error(UTOFU_ERR_INVALID_DATA);
	return start(group, reduce_op, copy, num_data);
}

/* ---- Poll ---- */

static int barrier_code(uint64_t status)
{
	switch (status) {
	case TOFU_BARRIER_OK:
		return UTOFU_SUCCESS;
	case TOFU_BARRIER_MISMATCH:
		return UTOFU_ERR_BARRIER_MISMATCH;
	/* The device is gone, which looks like the end of barrier 2^32 - 1. */
	case TOFU_GET(TOFU_CHANNEL_GONE, TOFU_CHANNEL_STATUS):
		return UTOFU_ERR_FATAL;
	default:
		return UTOFU_ERR_BARRIER_OTHER;
	}
}

static void block_take(const struct tofu_channel *channel, void *data,
		       unsigned int count)
{
	uint64_t word;

	for (unsigned int i = 0; i < count; i++) {
		word = tofu_block_read(&channel->result[i]);
		memcpy((char *)data + i * sizeof(word), &word, sizeof(word));
	}
}

static int end_locked(struct tofu_vbg_group *group, enum kind kind, void *data)
{
	const struct tofu_channel *channel = group->gates->channel;
	uint64_t done;
	int code;

	if (!group->begun)
		return tofu_error(UTOFU_ERR_NOT_PROCESSED);
	if (kind_of(group->op) != kind)
		return tofu_error(UTOFU_ERR_INVALID_OP);
	done = tofu_done_acquire(&channel->done);
	if (TOFU_GET(done, TOFU_CHANNEL_ENDED) != group->started)
		return UTOFU_ERR_NOT_COMPLETED;
	tofu_work_found(TOFU_WORK_BARRIER_ENDED);
	group->begun = false;
	code = barrier_code(TOFU_GET(done, TOFU_CHANNEL_STATUS));
	if (code)
		return tofu_error(code);
	block_take(channel, data, group->count);
	return UTOFU_SUCCESS;
}

static int look(struct tofu_vbg_group *group, enum kind kind, void *data)
{
	int code;

	tofu_vbg_lock(group);
	code = end_locked(group, kind, data);
	tofu_vbg_unlock(group);
	return code;
}

/* Called after an empty poll; as tofu_queue_idle() */
static bool idle(struct tofu_vbg_group *group)
{
	unsigned int polls =
		__atomic_load_n(&group->empty_polls, __ATOMIC_RELAXED) + 1;
	bool enough = polls >= group->gates->poll_patience;

	__atomic_store_n(&group->empty_polls, enough ? 0 : polls,
			 __ATOMIC_RELAXED);
	return enough && tofu_port_channel_poll(group->gates);
}

/* A barrier that has begun is over when the device is gone. */
static bool gone(struct tofu_vbg_group *group)
{
	bool gone;

	tofu_vbg_lock(group);
	gone = tofu_done_acquire(&group->gates->channel->done) ==
	       TOFU_CHANNEL_GONE;
	if (gone)
		group->begun = false;
	tofu_vbg_unlock(group);
	return gone;
}

/* The processor was lent to the engine. */
static int look_again(struct tofu_vbg_group *group, enum kind kind, void *data)
{
	int code = look(group, kind, data);

	return code == UTOFU_ERR_NOT_COMPLETED && gone(group) ?
		       tofu_error(UTOFU_ERR_FATAL) : code;
}

static int poll(utofu_vbg_id_t vbg_id, unsigned long flags, enum kind kind,
		void *data)
{
	struct tofu_vbg_group *group = group_of(vbg_id);
	int code;

	if (!group)
		return tofu_error_no_vbg();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!data && kind != KIND_BARRIER)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	tofu_work(TOFU_WORK_BARRIER_LOOK);
	code = look(group, kind, data);
	if (code == UTOFU_ERR_NOT_COMPLETED && idle(group))
		code = look_again(group, kind, data);
	if (code == UTOFU_ERR_NOT_COMPLETED) {
		tofu_work(TOFU_WORK_BARRIER_EMPTY);
		tofu_work_pass();
	}
	return code;
}

int utofu_poll_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags)
{
	return poll(vbg_id, flags, KIND_BARRIER, NULL);
}

int utofu_poll_reduce_uint64(utofu_vbg_id_t vbg_id, unsigned long int flags,
			     uint64_t data[])
{
	return poll(vbg_id, flags, KIND_UINT64, data);
}

int utofu_poll_reduce_double(utofu_vbg_id_t vbg_id, unsigned long int flags,
			     double data[])
{
	return poll(vbg_id, flags, KIND_DOUBLE, data);
}
