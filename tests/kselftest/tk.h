/* SPDX-License-Identifier: MIT */
/*
 * What the tests share: a CQ driven through its mapped rings, with nothing of
 * the library in between, and a check that nothing is left afterwards.
 *
 * Functions return 0 or a negative errno, and wait at most TK_LIMIT_S.
 */
#ifndef TK_H
#define TK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/desc.h>
#include <tofu/ioctl.h>
#include <tofu/regs.h>

#define TK_DRIVER "/sys/bus/pci/drivers/tofu"
#define TK_DEVICE "/dev/tofu0"
#define TK_LIMIT_S 20
/* On one or two processors, next to others: for tests that repeat. */
#define TK_TIMEOUT_S 120

/**
 * struct tk_cq - a CQ
 * @dev:    /dev/tofu0
 * @fd:     its file
 * @create: as the kernel has filled it in
 * @info:   the node
 * @map:    what was mapped, by TOFU_MAP_*
 * @toq_tail: slots written
 * @tcq_head: TCQ entries read
 * @mrq_head: MRQ entries read
 */
struct tk_cq {
	int dev;
	int fd;
	struct tofu_ioc_cq_create create;
	struct tofu_ioc_info info;
	void *map[TOFU_MAPS];
	uint64_t toq_tail;
	uint64_t tcq_head;
	uint64_t mrq_head;
};

/**
 * struct tk_mem - a registered region
 * @addr:   first byte
 * @length: bytes
 * @stag:   STAG
 * @stadd:  of the first byte
 */
struct tk_mem {
	void *addr;
	size_t length;
	uint32_t stag;
	uint64_t stadd;
};

/* tk_open - open the device, waiting for it after a rebind */
int tk_open(void);

/* tk_ioctl - ioctl(2) with the error as its result */
int tk_ioctl(int fd, unsigned long cmd, void *arg);

/* tk_cq_create - a CQ of TNI 0, nothing mapped */
int tk_cq_create(struct tk_cq *cq);
/* tk_cq_create_as - one that @arg describes; its size is set here */
int tk_cq_create_as(struct tk_cq *cq, struct tofu_ioc_cq_create arg);
/* tk_cq_open - the same, all mapped */
int tk_cq_open(struct tk_cq *cq);
int tk_cq_map(struct tk_cq *cq);
void tk_cq_unmap(struct tk_cq *cq);
void tk_cq_close(struct tk_cq *cq);

/* tk_mem_reg - register memory; tk_mem_new - and map it first, zeroed */
int tk_mem_reg(struct tk_cq *cq, void *addr, size_t length, uint32_t flags,
	       struct tk_mem *mem);
int tk_mem_new(struct tk_cq *cq, size_t length, struct tk_mem *mem);
int tk_mem_dereg(struct tk_cq *cq, const struct tk_mem *mem);
void tk_mem_free(struct tk_cq *cq, struct tk_mem *mem);

/* tk_page - the CQ page */
static inline struct tofu_cq_page *tk_page(struct tk_cq *cq)
{
	return cq->map[TOFU_MAP_PAGE];
}

/**
 * tk_desc - a descriptor
 * @cq:     sender
 * @peer:   target, of this node
 * @cmd:    TOFU_CMD_*
 * @flags:  TOFU_TOQ_F_*
 * @rmt:    STADD at the target
 * @lcl:    STADD or datum here
 * @length: bytes
 */
struct tofu_toq_desc tk_desc(const struct tk_cq *cq, const struct tk_cq *peer,
			     enum tofu_command cmd, unsigned int flags,
			     uint64_t rmt, uint64_t lcl, uint64_t length);

/* tk_armw - the same, of an atomic operation */
struct tofu_toq_desc tk_armw(const struct tk_cq *cq, const struct tk_cq *peer,
			     enum tofu_armw_op op, unsigned int size,
			     uint64_t rmt, uint64_t operand);

/**
 * tk_post - write a command and ring the doorbell
 * @desc: its flip bit is set here
 * @data: second slot, or NULL
 */
void tk_post(struct tk_cq *cq, struct tofu_toq_desc desc,
	     const struct tofu_toq_data *data);

/* tk_tcq, tk_mrq - wait for an entry; -ETIMEDOUT */
int tk_tcq(struct tk_cq *cq, uint64_t *entry);
int tk_mrq(struct tk_cq *cq, struct tofu_mrq_entry *entry);
/* tk_mrq_try - look once; -EAGAIN */
int tk_mrq_try(struct tk_cq *cq, struct tofu_mrq_entry *entry);

/* tk_put - a put from start to end; the status of its notice, or an errno */
int tk_put(struct tk_cq *cq, const struct tk_cq *peer, uint64_t rmt,
	   uint64_t lcl, uint64_t length);

/* ---- Gates ---- */

/**
 * struct tk_gates - gates of a TNI
 * @dev:    /dev/tofu0
 * @fd:     their file
 * @create: as the kernel has filled it in
 * @info:   the node
 * @map:    what was mapped, by TOFU_GATES_MAP_*
 * @ended:  barriers of the channel whose end was seen
 */
struct tk_gates {
	int dev;
	int fd;
	struct tofu_ioc_gates_create create;
	struct tofu_ioc_info info;
	void *map[TOFU_GATES_MAPS];
	uint32_t ended;
};

/* tk_gates_create - gates, nothing mapped; tk_gates_open - all mapped */
int tk_gates_create(struct tk_gates *gates, uint32_t tni, uint32_t count);
int tk_gates_open(struct tk_gates *gates, uint32_t tni, uint32_t count);
int tk_gates_map(struct tk_gates *gates);
void tk_gates_unmap(struct tk_gates *gates);
void tk_gates_close(struct tk_gates *gates);

/* tk_channel - the channel's block */
static inline struct tofu_channel *tk_channel(struct tk_gates *gates)
{
	return gates->map[TOFU_GATES_MAP_CHANNEL];
}

/* tk_link, tk_link_rmt - a link to a gate, within its TNI and from anywhere */
uint64_t tk_link(const struct tk_gates *gates, unsigned int index);
uint64_t tk_link_rmt(const struct tk_gates *gates, unsigned int index);

/* tk_gate_set - the links of @arg for a gate; its other fields are set here */
int tk_gate_set(struct tk_gates *gates, unsigned int index,
		struct tofu_ioc_gate_set arg);

/* tk_gates_start - begin an operation; @operand may be NULL when @count is 0 */
void tk_gates_start(struct tk_gates *gates, enum tofu_reduce_op op,
		    unsigned int count, const uint64_t *operand);

/* tk_gates_wait - its end: the status, TOFU_BARRIER_*, or -ETIMEDOUT */
int tk_gates_wait(struct tk_gates *gates);

/* tk_gates_ended - whether it has ended; looks once */
bool tk_gates_ended(struct tk_gates *gates);

/* ---- The rest ---- */

/* tk_function - name of the PCI function that the driver has; "" for none */
void tk_function(char *name, size_t size);

/* tk_touch - 0, or the signal that reading it gives */
int tk_touch(volatile char *addr);

/**
 * tk_count - one of the driver's debugfs counters
 * @name: cqs, gates, regions, pinned_pages, deferred
 *
 * Return: the count, or a negative errno.
 */
int tk_count(const char *name);

/* tk_pinned_kb - VmPin of this process */
long tk_pinned_kb(void);

/* tk_log_begin - remember the end of the kernel's log */
int tk_log_begin(void);

/**
 * tk_left_over - what a test should not have left
 * @log: from tk_log_begin(); closed
 *
 * Return: NULL, or a text that says what was found.
 */
const char *tk_left_over(int log);

/* tk_write - write a text to a file of sysfs */
int tk_write(const char *path, const char *text);

#endif /* TK_H */
