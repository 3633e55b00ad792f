/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests: a CQ driven through its mapped rings, without the
 * library in between, and a check that nothing is left afterwards.
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
/* For tests that repeat, on one or two processors, beside other tests */
#define TK_TIMEOUT_S 120

/**
 * struct tk_cq - a CQ
 * @dev:    /dev/tofu0
 * @fd:     its file
 * @create: as filled in by the kernel
 * @info:   the node
 * @map:    mappings, by TOFU_MAP_*
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
 * @stadd:  STADD of the first byte
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

/* tk_cq_create - create a CQ of TNI 0, with nothing mapped */
int tk_cq_create(struct tk_cq *cq);
/* tk_cq_create_as - create a CQ that @arg describes; sets its size */
int tk_cq_create_as(struct tk_cq *cq, struct tofu_ioc_cq_create arg);
/* tk_cq_open - create a CQ of TNI 0, with everything mapped */
int tk_cq_open(struct tk_cq *cq);
int tk_cq_map(struct tk_cq *cq);
void tk_cq_unmap(struct tk_cq *cq);
void tk_cq_close(struct tk_cq *cq);

/* tk_mem_reg - register memory; tk_mem_new - map it first, zeroed */
int tk_mem_reg(struct tk_cq *cq, void *addr, size_t length, uint32_t flags,
	       struct tk_mem *mem);
int tk_mem_new(struct tk_cq *cq, size_t length, struct tk_mem *mem);
int tk_mem_dereg(struct tk_cq *cq, const struct tk_mem *mem);
void tk_mem_free(struct tk_cq *cq, struct tk_mem *mem);

/* tk_page - get the CQ page */
static inline struct tofu_cq_page *tk_page(struct tk_cq *cq)
{
	return cq->map[TOFU_MAP_PAGE];
}

/**
 * tk_desc - make a descriptor
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

/* tk_armw - make the descriptor of an atomic operation */
struct tofu_toq_desc tk_armw(const struct tk_cq *cq, const struct tk_cq *peer,
			     enum tofu_armw_op op, unsigned int size,
			     uint64_t rmt, uint64_t operand);

/**
 * tk_post - write a command and ring the doorbell
 * @desc: command; its flip bit is set here
 * @data: second slot, or NULL
 */
void tk_post(struct tk_cq *cq, struct tofu_toq_desc desc,
	     const struct tofu_toq_data *data);

/* tk_kick_poll - lend the processor to the engine, if it asks for it */
void tk_kick_poll(struct tk_cq *cq);

/* tk_gone - whether the device is gone, by the CQ's page */
bool tk_gone(struct tk_cq *cq);

/* tk_tcq, tk_mrq - wait for an entry; -ETIMEDOUT */
int tk_tcq(struct tk_cq *cq, uint64_t *entry);
int tk_mrq(struct tk_cq *cq, struct tofu_mrq_entry *entry);
/* tk_mrq_try - look once; -EAGAIN */
int tk_mrq_try(struct tk_cq *cq, struct tofu_mrq_entry *entry);

/* tk_put - run a put to its end; returns its notice's status, or an errno */
int tk_put(struct tk_cq *cq, const struct tk_cq *peer, uint64_t rmt,
	   uint64_t lcl, uint64_t length);

/* ---- Gates ---- */

/**
 * struct tk_gates - gates of a TNI
 * @dev:    /dev/tofu0
 * @fd:     their file
 * @create: as filled in by the kernel
 * @info:   the node
 * @map:    mappings, by TOFU_GATES_MAP_*
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

/* tk_gates_create - create gates; tk_gates_open - and map everything */
int tk_gates_create(struct tk_gates *gates, uint32_t tni, uint32_t count);
int tk_gates_open(struct tk_gates *gates, uint32_t tni, uint32_t count);
int tk_gates_map(struct tk_gates *gates);
void tk_gates_unmap(struct tk_gates *gates);
void tk_gates_close(struct tk_gates *gates);

/* tk_channel - get the channel's block */
static inline struct tofu_channel *tk_channel(struct tk_gates *gates)
{
	return gates->map[TOFU_GATES_MAP_CHANNEL];
}

/* tk_link, tk_link_rmt - make a link to a gate, within its TNI or remote */
uint64_t tk_link(const struct tk_gates *gates, unsigned int index);
uint64_t tk_link_rmt(const struct tk_gates *gates, unsigned int index);

/* tk_gate_set - set a gate's links from @arg; fills in its other fields */
int tk_gate_set(struct tk_gates *gates, unsigned int index,
		struct tofu_ioc_gate_set arg);

/* tk_gates_start - start an operation; @operand may be NULL if @count is 0 */
void tk_gates_start(struct tk_gates *gates, enum tofu_reduce_op op,
		    unsigned int count, const uint64_t *operand);

/* tk_gates_wait - wait for its end; returns TOFU_BARRIER_* or -ETIMEDOUT */
int tk_gates_wait(struct tk_gates *gates);

/* tk_gates_ended - check once whether it has ended */
bool tk_gates_ended(struct tk_gates *gates);

/* ---- The rest ---- */

/* tk_function - get the name of the driver's PCI function; "" for none */
void tk_function(char *name, size_t size);

/* tk_touch - read a byte; returns 0, or the resulting signal */
int tk_touch(volatile char *addr);

/**
 * tk_count - read one of the driver's debugfs counters
 * @name: cqs, gates, regions, pinned_pages, deferred
 *
 * Return: the count, or a negative errno.
 */
int tk_count(const char *name);

/* tk_pinned_kb - read VmPin of this process */
long tk_pinned_kb(void);

/* tk_log_begin - remember the end of the kernel's log */
int tk_log_begin(void);

/**
 * tk_left_over - check what a test has left behind
 * @log: from tk_log_begin(); closed
 *
 * Return: NULL, or a text that describes it.
 */
const char *tk_left_over(int log);

/**
 * tk_leaks - let the kernel look for memory that nothing refers to
 * @text: its first reports, or NULL
 *
 * Takes seconds: what is younger than that is not looked at.
 *
 * Return: 0, or a negative errno if the kernel has no kmemleak.
 */
int tk_leaks(const char **text);

/* TK_EXPECT_NO_LEAKS - a test's body: tk_leaks() finds none, or is skipped */
#define TK_EXPECT_NO_LEAKS() do {					\
	const char *leaks;						\
	int ret = tk_leaks(&leaks);					\
									\
	if (ret == -ENOENT)						\
		SKIP(return, "a kernel without kmemleak");		\
	ASSERT_EQ(0, ret);						\
	EXPECT_EQ(NULL, leaks)						\
		TH_LOG("%s", leaks);					\
} while (0)

/* tk_param - read a parameter of the module, a number */
int tk_param(const char *name);

/* tk_module_place - find the module's first address and its size */
int tk_module_place(unsigned long *start, unsigned long *size);

/*
 * tk_become - continue as another user, without capabilities but with root as
 * the saved user; 0: as root again
 */
int tk_become(unsigned int uid);

/* tk_write - write text to a file of sysfs */
int tk_write(const char *path, const char *text);

#endif /* TK_H */
