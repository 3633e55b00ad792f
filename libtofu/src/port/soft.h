/* SPDX-License-Identifier: MIT */
/*
 * What ports to a controller in this process have in common: they do what the
 * driver does, by the same registers. Queues with their rings and translation
 * tables, memory, barrier gates. A bus address is a virtual address of the
 * process.
 *
 * The home above provides struct tofu_soft_ops.
 */
#ifndef PORT_SOFT_H
#define PORT_SOFT_H

#include "icc/icc.h"
#include "port/port.h"

struct tofu_soft;

/**
 * struct tofu_soft_ops - services of the home
 * @lock, @unlock: serialise calls into the controller; all others but @check,
 *           @alloc and @free are called with the lock held, and may drop it
 * @turn:    let the engine and the other nodes make progress; @turn counts the
 *           calls in a row without work
 * @drain:   let the engine take what has arrived; bounded
 * @taken:   queues or gates of a TNI that the node's processes have, a bit each
 * @take:    take the lowest of them by @pick, which gets what is taken and
 *           returns what it takes, or 0. Not locked. 0, -ENOSPC or another
 *           negative errno.
 * @give:    give them back; not locked
 * @check:   whether the process may access a range: 0 or a negative errno
 * @alloc:   zeroed memory for rings and tables, aligned to a page, or NULL;
 *           untouched parts should take no memory
 * @free:    undo @alloc
 */
struct tofu_soft_ops {
	void (*lock)(struct tofu_soft *soft);
	void (*unlock)(struct tofu_soft *soft);
	void (*turn)(struct tofu_soft *soft, unsigned int *turn);
	void (*drain)(struct tofu_soft *soft);
	int (*take)(struct tofu_soft *soft, enum tofu_share share,
		    unsigned int tni,
		    uint64_t (*pick)(void *ctx, uint64_t taken), void *ctx);
	void (*give)(struct tofu_soft *soft, enum tofu_share share,
		     unsigned int tni, uint64_t mask);
	int (*check)(const void *addr, size_t length, int write);
	void *(*alloc)(struct tofu_soft *soft, size_t size);
	void (*free)(struct tofu_soft *soft, void *at, size_t size);
};

/**
 * struct tofu_soft - a port to a controller in this process; the home's own
 * struct begins with it
 * @dev:   the public part; the home sets @dev.ops and, in virtual time,
 *         @dev.machine, and calls tofu_soft_info()
 * @ops:   the home
 * @icc:   the controller
 * @pages: its CQ pages
 * @used:  queues of this port by TNI, a bit each; locked
 * @stags: of each queue, above TOFU_STAG_AUTO, up to 2^TOFU_STAG_BITS_MAX
 * @direct: the controller takes direct commands
 * @blank: the controller knows blank regions
 * @changes: how often translation tables have changed; locked
 */
struct tofu_soft {
	struct tofu_port_dev dev;
	const struct tofu_soft_ops *ops;
	struct icc *icc;
	char *pages;
	uint32_t used[TOFU_TNIS_MAX];
	uint32_t stags;
	bool direct;
	bool blank;
	uint64_t changes;
};

/* tofu_soft_info - fill in @dev.info from the controller's registers */
void tofu_soft_info(struct tofu_soft *soft);

/* ---- Functions for struct tofu_port_ops ---- */

int tofu_soft_cq_create(struct tofu_port_dev *dev, unsigned int tni,
			uint32_t flags, unsigned int toq_code,
			unsigned int mrq_code, struct tofu_port_cq **cq);
void tofu_soft_cq_destroy(struct tofu_port_cq *cq);
int tofu_soft_mem_reg(struct tofu_port_cq *cq, void *addr, size_t length,
		      uint32_t flags, uint32_t *stag, uint64_t *offset);
int tofu_soft_mem_dereg(struct tofu_port_cq *cq, uint32_t stag);
void tofu_soft_stamps(struct tofu_port_cq *cq, uint64_t stamp[TOFU_CQ_STAMPS]);

int tofu_soft_gates_create(struct tofu_port_dev *dev, unsigned int tni,
			   unsigned int count, struct tofu_port_gates **gates);
void tofu_soft_gates_destroy(struct tofu_port_gates *gates);
int tofu_soft_gate_set(struct tofu_port_gates *gates, unsigned int index,
		       const struct tofu_port_links *links);

/* ---- For the home's own end ---- */

/**
 * tofu_soft_leave_locked - disable the port's queues, and wait until nothing
 * touches memory through them
 * @late: whether it has taken too long
 */
void tofu_soft_leave_locked(struct tofu_soft *soft,
			    bool (*late)(struct tofu_soft *soft));

/* ---- Among the files of the port ---- */

/* tofu_soft_group - the group that the driver would assign */
unsigned int tofu_soft_group(void);

#endif /* PORT_SOFT_H */
