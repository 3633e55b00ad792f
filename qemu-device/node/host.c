/* SPDX-License-Identifier: MIT */
/*
 * The services of a node for its controller, from memory (memory.c), the fabric
 * and the home.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <errno.h>
#include <stdarg.h>

void tofu_node_misuse(void *host, const char *format, ...)
{
	struct tofu_node *node = host;
	va_list args;

	va_start(args, format);
	node->ops->misuse(node->home, format, args);
	va_end(args);
}

struct tofu_packet *tofu_node_tx_begin(struct tofu_node *node, uint32_t dst,
				       enum tofu_class class_, size_t payload,
				       int *err)
{
	struct tofu_packet *pkt = tofu_fabric_tx_begin(
		node->fabric, dst, class_, payload, err);
	char lack[TOFU_FABRIC_LACK_TEXT];

	if (pkt || !tofu_fabric_lack(node->fabric, *err, lack))
		return pkt;
	tofu_node_misuse(node, "cannot connect to node %u: %s", dst, lack);
	*err = -EHOSTDOWN;
	return NULL;
}

static struct tofu_packet *host_tx_begin(void *host, uint32_t node,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	return tofu_node_tx_begin(host, node, class_, payload, err);
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

/*
 * While this node polls it can fill a ring as fast as its reader empties it. But a
 * ring is small: if its reader waits for this processor, which others want, or if
 * this node has to be woken for the rest, the reader gets it by itself.
 */
#define PATIENCE 16

static unsigned int host_patience(void *host)
{
	const struct tofu_node *node = host;

	if (__atomic_load_n(&node->crowded, __ATOMIC_RELAXED))
		return 0;
	return node->polling ? ICC_PATIENT : PATIENCE;
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

const struct icc_host_ops tofu_host_ops = {
	.read = tofu_memory_read,
	.write = tofu_memory_write,
	.write_ordered = tofu_memory_write_ordered,
	.store64 = tofu_memory_store64,
	.armw = tofu_memory_armw,
	.pull = tofu_memory_pull,
	.pull_ordered = tofu_memory_pull_ordered,
	.tx_begin = host_tx_begin,
	.tx_commit = host_tx_commit,
	.tx_room = host_tx_room,
	.patience = host_patience,
	.owner = host_owner,
	.fence_begin = host_fence_begin,
	.fence_done = host_fence_done,
	.irq = host_irq,
	.misuse = tofu_node_misuse,
};
