/* SPDX-License-Identifier: MIT */
/*
 * The controller's access to memory: that of its node and, by way of the
 * fabric, that of other nodes.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <errno.h>
#include <string.h>

#include "icc/word.h"

/* ---- The node's memory ---- */

static void written(struct tofu_node *node, uint64_t addr, size_t len)
{
	if (node->ops->written)
		node->ops->written(node->home, addr, len);
}

/*
 * Handles a contiguous piece of the node's memory at @at; @done bytes came
 * before it. Returns 0 or a negative errno.
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

int tofu_memory_read(void *host, uint64_t addr, void *buf, size_t len)
{
	return for_chunks(host, addr, len, false, read_chunk, buf);
}

static int write_chunk(struct tofu_node *node, void *at, size_t len,
		       size_t done, void *buf)
{
	(void)node;
	/* The buffers of a loopback may overlap. */
	memmove(at, (const uint8_t *)buf + done, len);
	return 0;
}

int tofu_memory_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	return for_chunks(host, addr, len, true, write_chunk, (void *)buf);
}

/* Copy fewer than eight bytes, by the largest aligned words. */
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
 * Copy in ascending order. A processor that sees a byte sees all bytes before
 * it, and sees aligned words whole: programs spin on the last one.
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

int tofu_memory_write_ordered(void *host, uint64_t addr, const void *buf,
			      size_t len)
{
	return for_chunks(host, addr, len, true, write_chunk_ordered,
			  (void *)buf);
}

/* Map an aligned word for an atomic access, or return NULL. */
static void *map_word(struct tofu_node *node, uint64_t addr, size_t size)
{
	size_t len = size;
	void *at = node->ops->map(node->home, addr, &len, true);

	return at && len >= size && (uintptr_t)at % size == 0 ? at : NULL;
}

int tofu_memory_store64(void *host, uint64_t addr, uint64_t value)
{
	uint64_t *word = map_word(host, addr, sizeof(*word));

	if (!word)
		return -EFAULT;
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	written(host, addr, sizeof(*word));
	return 0;
}

int tofu_memory_armw(void *host, uint64_t addr, unsigned int size,
		     enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		     uint64_t *old)
{
	void *word;
	int err;

	if (size != sizeof(uint32_t) && size != sizeof(uint64_t))
		return -EINVAL;
	word = map_word(host, addr, size);
	if (!word)
		return -EFAULT;
	err = icc_word_armw(word, size, op, operand, compare, old);
	if (!err)
		written(host, addr, size);
	return err;
}

/* ---- Another node's memory ---- */

struct pull {
	uint32_t node;
	uint64_t src;
};

/* The one memcpy of a transfer: from the peer's memory to this node's. */
static int pull_chunk(struct tofu_node *node, void *at, size_t len, size_t done,
		      void *arg)
{
	const struct pull *pull = arg;

	return tofu_fabric_read(node->fabric, pull->node, pull->src + done, at,
				len);
}

/* Goes through the bounce buffer: the kernel's copy guarantees no order. */
static int pull_chunk_ordered(struct tofu_node *node, void *at, size_t len,
			      size_t done, void *arg)
{
	const struct pull *pull = arg;
	uint64_t src = pull->src + done;
	uint8_t *to = at;

	while (len) {
		size_t part = len;
		const void *from =
			tofu_fabric_peer_memory(node->fabric, pull->node, src,
						&part);
		int err;

		if (!from) {
			part = len < TOFU_BOUNCE ? len : TOFU_BOUNCE;
			err = tofu_fabric_read(node->fabric, pull->node, src,
					       node->bounce, part);
			if (err)
				return err;
			from = node->bounce;
		}
		copy_ascending(to, from, part);
		to += part;
		src += part;
		len -= part;
	}
	return 0;
}

/* Loopback: source and destination are the home's memory, pulled in pieces. */
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

static int pull_peer(struct tofu_node *node, struct pull *pull, uint64_t dst,
		     size_t len, chunk_fn fn)
{
	int err = for_chunks(node, dst, len, true, fn, pull);

	if (err != -EPERM)
		return err;
	tofu_node_misuse(node,
			 "the system forbids to read the memory of node %u: "
			 "see kernel.yama.ptrace_scope",
			 pull->node);
	return -EHOSTDOWN;
}

int tofu_memory_pull(void *host, uint32_t from, uint64_t src, uint64_t dst,
		     size_t len)
{
	struct tofu_node *node = host;
	struct pull pull = { from, src };

	if (from == tofu_fabric_endpoint(node->fabric))
		return pull_own(node, src, dst, len, write_chunk);
	return pull_peer(node, &pull, dst, len, pull_chunk);
}

int tofu_memory_pull_ordered(void *host, uint32_t from, uint64_t src,
			     uint64_t dst, size_t len)
{
	struct tofu_node *node = host;
	struct pull pull = { from, src };

	if (from == tofu_fabric_endpoint(node->fabric))
		return pull_own(node, src, dst, len, write_chunk_ordered);
	return pull_peer(node, &pull, dst, len, pull_chunk_ordered);
}
