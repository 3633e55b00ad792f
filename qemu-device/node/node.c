/* SPDX-License-Identifier: MIT */
/*
 * A node: the services that the controller wants, by its home's memory and
 * the fabric.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that an ordered pull holds back when it cannot look at the source. */
#define BOUNCE 4096

/* ---- The node's memory ---- */

static void written(struct tofu_node *node, uint64_t addr, size_t len)
{
	if (node->ops->written)
		node->ops->written(node->home, addr, len);
}

/*
 * What is done with a piece of the node's memory that lies together: @at is
 * where it is, @done how many bytes came before. Returns 0 or a negative
 * errno.
 */
typedef int (*chunk_fn)(struct tofu_node *node, void *at, size_t len,
			size_t done, void *arg);

static int for_chunks(struct tofu_node *node, uint64_t addr, size_t len,
		      bool write, chunk_fn fn, void *arg)
{
	size_t done = 0;

	while (done < len) {
		size_t part = len - done;
		void *at =
			node->ops->map(node->home, addr + done, &part, write);
		int err;

		if (!at || !part)
			return -EFAULT;
		err = fn(node, at, part, done, arg);
		if (write)
			written(node, addr + done, part);
		if (err)
			return err;
		done += part;
	}
	return 0;
}

static int read_chunk(struct tofu_node *node, void *at, size_t len, size_t done,
		      void *buf)
{
	(void)node;
	memcpy((uint8_t *)buf + done, at, len);
	return 0;
}

static int host_read(void *host, uint64_t addr, void *buf, size_t len)
{
	return for_chunks(host, addr, len, false, read_chunk, buf);
}

static int write_chunk(struct tofu_node *node, void *at, size_t len,
		       size_t done, void *buf)
{
	(void)node;
	/* A loopback may name overlapping memory. */
	memmove(at, (const uint8_t *)buf + done, len);
	return 0;
}

static int host_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	return for_chunks(host, addr, len, true, write_chunk, (void *)buf);
}

/* Fewer than eight bytes, the largest aligned words first that there are. */
static void copy_short(uint8_t *to, const uint8_t *from, size_t len)
{
	while (len) {
		const uintptr_t at = (uintptr_t)to;
		size_t size = 1;

		if (len >= 4 && at % 4 == 0) {
			uint32_t word;

			size = sizeof(word);
			memcpy(&word, from, size);
			__atomic_store_n((uint32_t *)at, word,
					 __ATOMIC_RELEASE);
		} else if (len >= 2 && at % 2 == 0) {
			uint16_t word;

			size = sizeof(word);
			memcpy(&word, from, size);
			__atomic_store_n((uint16_t *)at, word,
					 __ATOMIC_RELEASE);
		} else {
			__atomic_store_n(to, *from, __ATOMIC_RELEASE);
		}
		to += size;
		from += size;
		len -= size;
	}
}

/*
 * A processor that sees a byte sees all those before it, and aligned words
 * whole: programs spin on the last one.
 */
static void copy_ascending(uint8_t *to, const uint8_t *from, size_t len)
{
	uint64_t word;
	size_t head = -(uintptr_t)to % sizeof(word);

	if (head > len)
		head = len;
	copy_short(to, from, head);
	to += head;
	from += head;
	len -= head;
	for (; len >= sizeof(word); len -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)to, word,
				 __ATOMIC_RELEASE);
		to += sizeof(word);
		from += sizeof(word);
	}
	copy_short(to, from, len);
}

static int write_chunk_ordered(struct tofu_node *node, void *at, size_t len,
			       size_t done, void *buf)
{
	(void)node;
	copy_ascending(at, (const uint8_t *)buf + done, len);
	return 0;
}

static int host_write_ordered(void *host, uint64_t addr, const void *buf,
			      size_t len)
{
	return for_chunks(host, addr, len, true, write_chunk_ordered,
			  (void *)buf);
}

/* A whole aligned word for an atomic access, or NULL. */
static void *map_word(struct tofu_node *node, uint64_t addr, size_t size)
{
	size_t len = size;
	void *at = node->ops->map(node->home, addr, &len, true);

	return at && len >= size && (uintptr_t)at % size == 0 ? at : NULL;
}

static int host_store64(void *host, uint64_t addr, uint64_t value)
{
	uint64_t *word = map_word(host, addr, sizeof(*word));

	if (!word)
		return -EFAULT;
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	written(host, addr, sizeof(*word));
	return 0;
}

/* Whether @op is known; if so it is done, and @old the value before. */
#define DEFINE_ARMW(name, type)                                              \
	static bool name(type *word, enum tofu_armw_op op, type operand,     \
			 type compare, uint64_t *old)                        \
	{                                                                    \
		switch (op) {                                                \
		case TOFU_ARMW_CSWAP:                                        \
			__atomic_compare_exchange_n(word, &compare, operand, \
						    false, __ATOMIC_SEQ_CST, \
						    __ATOMIC_SEQ_CST);       \
			*old = compare;                                      \
			return true;                                         \
		case TOFU_ARMW_SWAP:                                         \
			*old = __atomic_exchange_n(word, operand,            \
						   __ATOMIC_SEQ_CST);        \
			return true;                                         \
		case TOFU_ARMW_ADD:                                          \
			*old = __atomic_fetch_add(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_XOR:                                          \
			*old = __atomic_fetch_xor(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_AND:                                          \
			*old = __atomic_fetch_and(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_OR:                                           \
			*old = __atomic_fetch_or(word, operand,              \
						 __ATOMIC_SEQ_CST);          \
			return true;                                         \
		default:                                                     \
			return false;                                        \
		}                                                            \
	}

DEFINE_ARMW(armw32, uint32_t)
DEFINE_ARMW(armw64, uint64_t)

static int host_armw(void *host, uint64_t addr, unsigned int size,
		     enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		     uint64_t *old)
{
	void *word;
	bool known;

	if (size != sizeof(uint32_t) && size != sizeof(uint64_t))
		return -EINVAL;
	word = map_word(host, addr, size);
	if (!word)
		return -EFAULT;
	known = size == sizeof(uint32_t)
			? armw32(word, op, (uint32_t)operand, (uint32_t)compare,
				 old)
			: armw64(word, op, operand, compare, old);
	if (!known)
		return -EINVAL;
	written(host, addr, size);
	return 0;
}

/* ---- Another node's memory ---- */

struct pull {
	uint32_t node;
	uint64_t src;
};

/* The one memcpy of a transfer: from the peer's memory into the own. */
static int pull_chunk(struct tofu_node *node, void *at, size_t len, size_t done,
		      void *arg)
{
	const struct pull *pull = arg;

	return tofu_fabric_read(node->fabric, pull->node, pull->src + done, at,
				len);
}

/* Ordered, a process' memory is copied twice: the kernel promises no order. */
static int pull_chunk_ordered(struct tofu_node *node, void *at, size_t len,
			      size_t done, void *arg)
{
	const struct pull *pull = arg;
	uint8_t bounce[BOUNCE], *to = at;
	uint64_t src = pull->src + done;

	while (len) {
		size_t part = len;
		const void *from =
			tofu_fabric_peer_memory(node->fabric, pull->node, src, &part);
		int err;

		if (!from) {
			part = len < BOUNCE ? len : BOUNCE;
			err = tofu_fabric_read(node->fabric, pull->node, src,
					       bounce, part);
			if (err)
				return err;
			from = bounce;
		}
		copy_ascending(to, from, part);
		to += part;
		src += part;
		len -= part;
	}
	return 0;
}

/* The loopback way: both sides are the home's memory, a page or so a time. */
static int pull_own(struct tofu_node *node, uint64_t src, uint64_t dst,
		    size_t len, chunk_fn write_fn)
{
	while (len) {
		size_t part = len;
		void *from = node->ops->map(node->home, src, &part, false);
		int err;

		if (!from || !part)
			return -EFAULT;
		err = for_chunks(node, dst, part, true, write_fn, from);
		if (err)
			return err;
		src += part;
		dst += part;
		len -= part;
	}
	return 0;
}

static void misuse(void *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void misuse(void *host, const char *format, ...)
{
	struct tofu_node *node = host;
	va_list args;

	va_start(args, format);
	node->ops->misuse(node->home, format, args);
	va_end(args);
}

void tofu_node_misuse(struct tofu_node *node, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	node->ops->misuse(node->home, format, args);
	va_end(args);
}

static int pull_peer(struct tofu_node *node, struct pull *pull, uint64_t dst,
		     size_t len, chunk_fn fn)
{
	int err = for_chunks(node, dst, len, true, fn, pull);

	if (err != -EPERM)
		return err;
	misuse(node,
	       "the system forbids to read the memory of node %u: see "
	       "kernel.yama.ptrace_scope",
	       pull->node);
	return -EHOSTDOWN;
}

static int host_pull(void *host, uint32_t from, uint64_t src, uint64_t dst,
		     size_t len)
{
	struct tofu_node *node = host;
	struct pull pull = { from, src };

	if (from == tofu_fabric_endpoint(node->fabric))
		return pull_own(node, src, dst, len, write_chunk);
	return pull_peer(node, &pull, dst, len, pull_chunk);
}

static int host_pull_ordered(void *host, uint32_t from, uint64_t src,
			     uint64_t dst, size_t len)
{
	struct tofu_node *node = host;
	struct pull pull = { from, src };

	if (from == tofu_fabric_endpoint(node->fabric))
		return pull_own(node, src, dst, len, write_chunk_ordered);
	return pull_peer(node, &pull, dst, len, pull_chunk_ordered);
}

/* ---- The fabric and the home, as the controller sees them ---- */

static struct tofu_packet *host_tx_begin(void *host, uint32_t node,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	return tofu_fabric_tx_begin(((struct tofu_node *)host)->fabric, node,
				    class_, payload, err);
}

static void host_tx_commit(void *host)
{
	tofu_fabric_tx_commit(((struct tofu_node *)host)->fabric);
}

static bool host_tx_room(void *host, uint32_t node, enum tofu_class class_)
{
	return tofu_fabric_tx_room(((struct tofu_node *)host)->fabric, node,
				   class_);
}

static void host_fence_begin(void *host)
{
	tofu_fabric_fence_begin(((struct tofu_node *)host)->fabric);
}

static bool host_fence_done(void *host)
{
	return tofu_fabric_fence_done(((struct tofu_node *)host)->fabric);
}

static void host_irq(void *host, unsigned int vector)
{
	struct tofu_node *node = host;

	node->ops->irq(node->home, vector);
}

static int64_t host_owner(void *host, uint32_t node, enum tofu_share share,
			  unsigned int tni, unsigned int number)
{
	return tofu_fabric_owner(((struct tofu_node *)host)->fabric, node,
				 share, tni, number);
}

static const struct icc_host_ops host_ops = {
	.read = host_read,
	.write = host_write,
	.write_ordered = host_write_ordered,
	.store64 = host_store64,
	.armw = host_armw,
	.pull = host_pull,
	.pull_ordered = host_pull_ordered,
	.tx_begin = host_tx_begin,
	.tx_commit = host_tx_commit,
	.tx_room = host_tx_room,
	.owner = host_owner,
	.fence_begin = host_fence_begin,
	.fence_done = host_fence_done,
	.irq = host_irq,
	.misuse = misuse,
};

/* ---- The same with virtual time ---- */

static struct tofu_packet *virtual_tx_begin(void *host, uint32_t node,
					    enum tofu_class class_,
					    size_t payload, int *err)
{
	return tofu_virtual_tx_begin(host, node, class_, payload, err);
}

static void virtual_tx_commit(void *host)
{
	tofu_virtual_tx_commit(host);
}

static bool virtual_tx_room(void *host, uint32_t node, enum tofu_class class_)
{
	(void)host;
	(void)node;
	(void)class_;
	return true;
}

/*
 * No packet refers to memory, so there is nothing that a receiver would have to
 * take first; and when it takes what is in a ring is up to its host.
 */
static void virtual_fence_begin(void *host)
{
	(void)host;
}

static bool virtual_fence_done(void *host)
{
	(void)host;
	return true;
}

/* Who was asleep will see it, and can do something: from now on. */
static void virtual_irq(void *host, unsigned int vector)
{
	tofu_virtual_wake(host);
	host_irq(host, vector);
}

static uint64_t virtual_now(void *host)
{
	return tofu_virtual_now(host);
}

static void virtual_trace(void *host, const struct icc_trace *trace)
{
	tofu_virtual_trace(host, trace);
}

static const struct icc_host_ops virtual_ops = {
	.read = host_read,
	.write = host_write,
	.write_ordered = host_write_ordered,
	.store64 = host_store64,
	.armw = host_armw,
	.pull = host_pull,
	.pull_ordered = host_pull_ordered,
	.tx_begin = virtual_tx_begin,
	.tx_commit = virtual_tx_commit,
	.tx_room = virtual_tx_room,
	.fence_begin = virtual_fence_begin,
	.fence_done = virtual_fence_done,
	.irq = virtual_irq,
	.misuse = misuse,
	.now = virtual_now,
	.trace = virtual_trace,
};

/* ---- Life ---- */

static int create_icc(struct tofu_node *node,
		      const struct tofu_node_params *params)
{
	const struct icc_params icc = {
		.tnis = params->tnis,
		.shape = *tofu_fabric_shape(node->fabric),
		.node = tofu_fabric_endpoint(node->fabric) /
			tofu_fabric_ppn(node->fabric),
		.ppn = tofu_fabric_ppn(node->fabric),
		.pages = params->pages,
		.ram_pages = params->ram_pages,
		.inline_max = params->inline_max,
		.machine = params->machine,
		.ops = params->machine ? &virtual_ops : &host_ops,
		.host = node,
	};

	node->icc = icc_create(&icc);
	if (!node->icc)
		return -errno;
	/* With a machine stores are seen as they come. */
	icc_need_kick(node->icc, params->machine ? 0 :
						   tofu_node_kicks(node, true));
	return 0;
}

static int check_whole(const struct tofu_node *node,
		       const struct tofu_node_params *params, char **why)
{
	const uint32_t ppn = tofu_fabric_ppn(node->fabric);

	if (ppn == 1 || !params->whole)
		return 0;
	if (why && asprintf(why,
			    "the machine of %s has up to %u processes a node, "
			    "and this is a whole node; make one without --ppn",
			    params->fabric, ppn) < 0)
		*why = NULL;
	return -EINVAL;
}

int tofu_node_create(const struct tofu_node_params *params, char **why,
		     struct tofu_node **node)
{
	struct tofu_node *new = calloc(1, sizeof(*new));
	int err;

	if (!new) {
		err = -ENOMEM;
		goto err_why;
	}
	new->ops = params->ops;
	new->home = params->home;
	new->assist = params->assist;
	err = tofu_fabric_attach(params->fabric, params->node, why,
				 &new->fabric);
	if (err)
		goto err_free;
	err = check_whole(new, params, why);
	if (err)
		goto err_detach;
	if (params->machine)
		err = tofu_virtual_create(new, params);
	if (err)
		goto err_fabric;
	err = create_icc(new, params);
	if (err)
		goto err_virtual;
	pthread_mutex_init(&new->lock, NULL);
	pthread_mutex_init(&new->door, NULL);
	*node = new;
	return 0;

err_virtual:
	tofu_virtual_destroy(new);
err_fabric:
	tofu_fabric_detach(new->fabric);
	free(new);
err_why:
	if (why &&
	    asprintf(why, "cannot make a controller: %s", strerror(-err)) < 0)
		*why = NULL;
	return err;
err_detach:
	tofu_fabric_detach(new->fabric);
err_free:
	free(new);
	return err;
}

void tofu_node_destroy(struct tofu_node *node)
{
	icc_destroy(node->icc);
	tofu_virtual_destroy(node);
	tofu_fabric_detach(node->fabric);
	pthread_mutex_destroy(&node->lock);
	pthread_mutex_destroy(&node->door);
	free(node);
}

struct icc *tofu_node_icc(struct tofu_node *node)
{
	return node->icc;
}

struct tofu_fabric *tofu_node_fabric(struct tofu_node *node)
{
	return node->fabric;
}

int tofu_node_fd(const struct tofu_node *node)
{
	return tofu_fabric_fd(node->fabric);
}

void tofu_node_channel(struct tofu_node *node, unsigned int tni,
		       unsigned int channel)
{
	if (!node->virtual || tofu_node_joined(node))
		icc_channel_start(node->icc, tni, channel);
}
