/* SPDX-License-Identifier: MIT */
/*
 * A port is a way to a controller: the kernel's device, or the model in this
 * process. It makes command queues and barrier gates, registers memory, wakes
 * the engine, and knows the clock and how to wait; nothing here is on the data
 * path but the pointers of struct tofu_port_cq and struct tofu_port_gates, and
 * port/kick.h.
 *
 * Any thread may call, also while others do. Only what destroys or closes
 * something must be the last call with it.
 *
 * May include: fabric/, node/, net/, uapi/
 */
#ifndef PORT_PORT_H
#define PORT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/desc.h>
#include <tofu/ioctl.h>
#include <tofu/regs.h>

struct tofu_port_ops;

/**
 * struct tofu_port_dev - an open port; the first member of each port's own
 * @ops:  how it is used
 * @info: the controller; @info.size and .flags mean nothing
 */
struct tofu_port_dev {
	const struct tofu_port_ops *ops;
	struct tofu_ioc_info info;
};

/**
 * struct tofu_port_cq - a command queue as it is seen in this process
 * @port: that made it
 * @tni:  number of the TNI
 * @cq:   number of the queue in the TNI
 * @page: its page
 * @toq, @tcq, @mrq: its rings, zero when it was made
 * @kick: the mapped kick page; NULL: struct tofu_port_ops has functions instead
 * @mark: where marks are stored, or NULL: there is no trace
 * @poll_patience: how many polls in a row find nothing before one kicks
 * @direct: as TOFU_INFO_DIRECT. Then the page's words are registers.
 */
struct tofu_port_cq {
	struct tofu_port_dev *port;
	unsigned int tni;
	unsigned int cq;
	struct tofu_cq_page *page;
	struct tofu_toq_desc *toq;
	__le64 *tcq;
	struct tofu_mrq_entry *mrq;
	void *kick;
	uint64_t *mark;
	unsigned int poll_patience;
	bool direct;
};

/**
 * struct tofu_port_gates - barrier gates of a TNI, as seen in this process
 * @port:  that made them
 * @tni:   number of the TNI
 * @count: how many
 * @gate:  their numbers; the first one has the channel of its number
 * @channel: the channel's block
 * @kick:  the mapped page of the channel, or NULL as of struct tofu_port_cq
 * @poll_patience: as of struct tofu_port_cq
 */
struct tofu_port_gates {
	struct tofu_port_dev *port;
	unsigned int tni;
	unsigned int count;
	uint8_t gate[TOFU_GATES];
	struct tofu_channel *channel;
	void *kick;
	unsigned int poll_patience;
};

/**
 * struct tofu_port_links - a gate's link words, TOFU_LINK_*
 */
struct tofu_port_links {
	uint64_t src_lcl;
	uint64_t src_rmt;
	uint64_t dst_lcl;
	uint64_t dst_rmt;
};

/**
 * struct tofu_port_ops
 * @cq_create:  make the lowest free CQ of @tni with rings of these size codes;
 *              @flags: TOFU_CQ_SESSION_MODE
 * @cq_destroy: with all that is registered; returns when nothing under way
 *              can touch the process's memory through it
 * @mem_reg:    register memory; @stag in: number or TOFU_STAG_ANY, out:
 *              number; @offset out: of @addr in the region
 * @mem_dereg:  returns as @cq_destroy
 * @gates_create: take gates of @tni, 1 … TOFU_GATES; they are not linked
 * @gates_destroy: on return nothing is written to the channel's block any more
 * @gate_set:   link the gate of this index, and forget what had arrived at it;
 *              the channel's next barrier is its first one
 * @doorbell:   wake the engine, which asked for it; only where queues have no
 *              @kick, as @poll and @channel. See port/kick.h.
 * @poll:       lend the processor to the engine; true when it may have done
 *              something
 * @channel:    start what the channel's block says
 * @now:        nanoseconds of the node's time, of any origin
 * @wait:       give way to other threads and processes, since one of them may
 *              bring what is waited for; @turn: calls in a row before this one.
 *              Returns about how many polls it took as long as, at least 1.
 * @leave:      the process exits; other threads may still poll. May be NULL.
 * @close:      undo tofu_port_open(); no queues and gates are left
 *
 * Those that return int return 0 or a negative errno as of tofu/ioctl.h. Only
 * @cq_destroy, @mem_dereg and @wait wait for others: the caller holds no lock.
 */
struct tofu_port_ops {
	int (*cq_create)(struct tofu_port_dev *port, unsigned int tni,
			 uint32_t flags, unsigned int toq_code,
			 unsigned int mrq_code, struct tofu_port_cq **cq);
	void (*cq_destroy)(struct tofu_port_cq *cq);
	int (*mem_reg)(struct tofu_port_cq *cq, void *addr, size_t length,
		       uint32_t flags, uint32_t *stag, uint64_t *offset);
	int (*mem_dereg)(struct tofu_port_cq *cq, uint32_t stag);
	int (*gates_create)(struct tofu_port_dev *port, unsigned int tni,
			    unsigned int count, struct tofu_port_gates **gates);
	void (*gates_destroy)(struct tofu_port_gates *gates);
	int (*gate_set)(struct tofu_port_gates *gates, unsigned int index,
			const struct tofu_port_links *links);
	void (*doorbell)(struct tofu_port_cq *cq);
	bool (*poll)(struct tofu_port_dev *port);
	void (*channel)(struct tofu_port_gates *gates);
	uint64_t (*now)(struct tofu_port_dev *port);
	unsigned int (*wait)(struct tofu_port_dev *port, unsigned int turn);
	void (*leave)(struct tofu_port_dev *port);
	void (*close)(struct tofu_port_dev *port);
};

/**
 * tofu_port_open - open the port that TOFU_PORT names, or the best there is
 *
 * The kernel's where /dev/tofu0 exists, else emu.
 *
 * Return: 0 or a negative errno.
 */
int tofu_port_open(struct tofu_port_dev **port);

/* The single ports, for tofu_port_open() */
int tofu_kernel_open(struct tofu_port_dev **port);
int tofu_emu_open(struct tofu_port_dev **port);

#define TOFU_KERNEL_DEVICE "/dev/tofu0"

#endif /* PORT_PORT_H */
