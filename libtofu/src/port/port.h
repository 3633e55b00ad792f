/* SPDX-License-Identifier: MIT */
/*
 * A port is a way to a controller: the kernel's device, or the model in this
 * process. It makes command queues and barrier gates, registers memory, wakes
 * the engine, and provides the clock and the waiting. On the data path are
 * only the pointers of struct tofu_port_cq and struct tofu_port_gates, and
 * port/kick.h.
 *
 * All functions are thread-safe. A call that destroys or closes an object must
 * be the last one that uses it.
 *
 * May include: fabric/, node/, icc/, net/, uapi/
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

/*
 * Beside TOFU_MEM_*, a flag of the port's mem_reg: a blank region
 * (TOFU_STEERING_BLANK) where the controller knows them, else one like others.
 */
#define TOFU_MEM_BLANK (1U << 31)

/*
 * TOFU_MEM_WATCH is for all ports. Where a region consists of addresses of the
 * process, and not of pages, it can not become stale.
 */

/**
 * struct tofu_port_dev - an open port; first member of each port's own struct
 * @ops:  its functions
 * @info: the controller; @info.size and .flags are unused
 * @machine: the machine whose times the node's clock keeps, in virtual time; ""
 *        where it has no name, NULL: there is no virtual time
 * @store_ns: how long the library waits after a store that starts a command or a
 *        barrier, since such a store held up the machine's processor, and does
 *        not hold up that of a virtual machine
 */
struct tofu_port_dev {
	const struct tofu_port_ops *ops;
	struct tofu_ioc_info info;
	const char *machine;
	uint32_t store_ns;
};

/**
 * struct tofu_port_cq - a command queue as mapped into this process
 * @port: the port that made it
 * @tni:  number of the TNI
 * @cq:   number of the queue in the TNI
 * @page: its page
 * @toq, @tcq, @mrq: its rings, zeroed at creation
 * @kick: the mapped kick page; NULL: struct tofu_port_ops has functions instead
 * @mark: where marks are stored, or NULL without a trace
 * @watch: tells which regions with TOFU_MEM_WATCH are stale; may be NULL before
 *        the first such registration
 * @poll_patience: empty polls in a row before one kicks
 * @direct: TOFU_INFO_DIRECT is set: the page's words are registers
 * @kicks:  a post has to look whether the engine asks for a kick. Otherwise the
 *          store into the page is all.
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
	const struct tofu_watch *watch;
	unsigned int poll_patience;
	bool direct;
	bool kicks;
};

/**
 * struct tofu_port_gates - barrier gates of a TNI, as mapped into this process
 * @port:  the port that made them
 * @tni:   number of the TNI
 * @count: number of gates
 * @gate:  their numbers; the first one has the channel of its number
 * @channel: the channel's block
 * @kick:  the mapped page of the channel; NULL: struct tofu_port_ops has
 *         functions instead
 * @poll_patience: empty polls in a row before one kicks
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
 * @cq_destroy: destroy it and deregister its memory; returns when no transfer
 *              under way can touch the process's memory through it
 * @mem_reg:    register memory; @stag in: number or TOFU_STAG_ANY, out:
 *              number; @offset out: of @addr in the region. -EOPNOTSUPP: the
 *              port knows no TOFU_MEM_WATCH. The instance is locked.
 * @mem_dereg:  deregister memory; returns when no transfer under way can touch
 *              it
 * @gates_create: take gates of @tni, 1 … TOFU_GATES; they are not linked
 * @gates_destroy: on return the channel's block is not written any more
 * @gate_set:   link the gate of this index and drop the signals that it holds;
 *              the channel counts its barriers from 0 again
 * @doorbell:   wake the engine, which asked for it. @doorbell, @poll, @channel
 *              and @channel_poll exist only where queues have no @kick:
 *              port/kick.h.
 * @poll:       lend the processor to the engine after an empty poll; true when
 *              it may have done something
 * @channel_poll: the same for a barrier, which may also ask other nodes whether
 *              it can still end
 * @channel:    start the barrier that the channel's block describes
 * @stamps:     read the stamps of a queue, by enum tofu_cq_stamp. May be NULL.
 * @now:        nanoseconds of the node's time, from any origin; where the port
 *              has a machine, from one origin for all nodes
 * @shared:     where @now is not the clock that all nodes share in virtual
 *              time: read that clock and set @machine; false: there is none.
 *              The instance is locked. May be NULL.
 * @spend:      let the program compute for so many nanoseconds. NULL: time
 *              passes by itself. Otherwise it passes only in calls that wait,
 *              poll or spend it.
 * @wait:       yield to other threads and processes, on which the caller may
 *              depend; @turn: calls in a row before this one. Returns the time
 *              it took, counted in polls, at least 1.
 * @leave:      the process exits; other threads may still poll. It may exit in
 *              a signal handler that has interrupted any other call. Does not
 *              block for ever. May be NULL.
 * @forked:     called in a forked child, which is not the node: it keeps nothing
 *              by which others see that the process lives. May be NULL.
 * @close:      undo tofu_port_open(); no queues or gates are left
 *
 * Functions that return int return 0 or a negative errno of tofu/ioctl.h. Only
 * @cq_destroy, @mem_dereg, @wait and @spend block: the caller holds no lock.
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
	bool (*poll)(struct tofu_port_cq *cq);
	bool (*channel_poll)(struct tofu_port_gates *gates);
	void (*channel)(struct tofu_port_gates *gates);
	void (*stamps)(struct tofu_port_cq *cq,
		       uint64_t stamp[TOFU_CQ_STAMPS]);
	uint64_t (*now)(struct tofu_port_dev *port);
	bool (*shared)(struct tofu_port_dev *port, uint64_t *now);
	void (*spend)(struct tofu_port_dev *port, uint64_t ns);
	unsigned int (*wait)(struct tofu_port_dev *port, unsigned int turn);
	void (*leave)(struct tofu_port_dev *port);
	void (*forked)(struct tofu_port_dev *port);
	void (*close)(struct tofu_port_dev *port);
};

/**
 * tofu_port_open - open the port that TOFU_PORT names
 *
 * By default the kernel's where /dev/tofu0 exists, else emu.
 *
 * Return: 0 or a negative errno.
 */
int tofu_port_open(struct tofu_port_dev **port);

/*
 * tofu_port_home - opens the port of a home that contains this library and its
 * nodes, whatever TOFU_PORT names; NULL elsewhere
 */
extern int (*tofu_port_home)(struct tofu_port_dev **port)
	__attribute__((visibility("hidden")));

/* The individual ports, for tofu_port_open() */
int tofu_kernel_open(struct tofu_port_dev **port);
int tofu_emu_open(struct tofu_port_dev **port);

#define TOFU_KERNEL_DEVICE "/dev/tofu0"

#endif /* PORT_PORT_H */
