/* SPDX-License-Identifier: MIT */
/*
 * Makes the descriptor of a transfer from the arguments of its function.
 */
#ifndef UTOFU_COMMAND_H
#define UTOFU_COMMAND_H

#include <utofu.h>

#include "utofu/instance.h"
#include "utofu/vcq_id.h"

/**
 * struct tofu_cmd - a command to be queued, or handed out as prepared
 * @slot: the descriptor without flip bit, and its second slot
 * @slots: 1 or 2
 */
struct tofu_cmd {
	union {
		struct tofu_toq_desc slot[2];
		struct {
			struct tofu_toq_desc desc;
			union {
				struct tofu_toq_data data;
				struct tofu_toq_stride stride;
			};
		};
	};
	size_t slots;
};

/**
 * struct tofu_transfer - arguments common to all transfers but NOP
 * @vcq:   the sender
 * @rmt:   VCQ ID of the target
 * @stadd: at the target
 * @edata: as given
 * @flags: as given
 * @path:  of the descriptor, and above it the session progress step. By
 *         default the target's own coordinates and 0; tofu_transfer_judge()
 *         sets others.
 */
struct tofu_transfer {
	const struct tofu_vcq *vcq;
	utofu_vcq_id_t rmt;
	utofu_stadd_t stadd;
	uint64_t edata;
	unsigned long flags;
	uint64_t path;
};

/* tofu_transfer_of - collect the arguments of a function; @vcq may be NULL */
static inline struct tofu_transfer
tofu_transfer_of(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		 utofu_stadd_t rmt_stadd, uint64_t edata, unsigned long flags)
{
	return (struct tofu_transfer){
		.vcq = tofu_vcq_find(vcq_hdl),
		.rmt = rmt_vcq_id,
		.stadd = rmt_stadd,
		.edata = edata,
		.flags = flags,
		.path = TOFU_GET(rmt_vcq_id, TOFU_VCQ_ID_ABC),
	};
}

/* Bytes of payload in a packet */
#define TOFU_MTU_MAX 1920

/**
 * struct tofu_putget - arguments of a put or get that utofu_put() does not have
 * @mtu, @gap: as given, or 0
 * @strided:   it is a strided one
 * @stride, @num_blocks: as given
 */
struct tofu_putget {
	size_t mtu;
	size_t gap;
	bool strided;
	size_t stride;
	size_t num_blocks;
};

/* tofu_transfer_judge - check unusual arguments and set the path */
int tofu_transfer_judge(struct tofu_transfer *transfer);

/*
 * Each of these checks its arguments and fills @cmd; the functions for commands
 * of one slot are in utofu/command-make.h.
 * Return: enum utofu_return_code.
 */

/* tofu_cmd_putget - @kind is TOFU_CMD_PUT or TOFU_CMD_GET */
int tofu_cmd_putget(struct tofu_cmd *cmd, struct tofu_transfer *transfer,
		    enum tofu_command kind, utofu_stadd_t lcl_stadd,
		    size_t length, const struct tofu_putget *more);

int tofu_cmd_piggyback(struct tofu_cmd *cmd,
		       struct tofu_transfer *transfer, const void *data,
		       size_t length);

/* tofu_cmd_cswap - @size is 4 or 8 */
int tofu_cmd_cswap(struct tofu_cmd *cmd, struct tofu_transfer *transfer,
		   unsigned int size, uint64_t old_value, uint64_t new_value);
int tofu_cmd_nop(struct tofu_cmd *cmd, unsigned long flags);

/* tofu_cmd_post - queue whole commands; @cmd needs no alignment */
int tofu_cmd_post(const struct tofu_vcq *vcq, const void *cmd, size_t slots,
		  void *cbdata);

/* tofu_cmd_post_one - queue one command, aligned */
int tofu_cmd_post_one(const struct tofu_vcq *vcq, const struct tofu_cmd *cmd,
		      void *cbdata);

/* tofu_desc_post_slowly - queue a command off the fast path, with @data in slot 2 */
int tofu_desc_post_slowly(const struct tofu_vcq *vcq, struct tofu_toq_desc desc,
			  unsigned int slots, const void *data, void *cbdata);

/* tofu_cmd_posted - turn @ret of a post into a code; kick the queue if due */
int tofu_cmd_posted(struct tofu_queue *queue, int ret);

#endif /* UTOFU_COMMAND_H */
