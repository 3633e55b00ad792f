// SPDX-License-Identifier: MIT
/* The fabric's functions, with less room than it has. */
#define _GNU_SOURCE
#include "virtual-rings.h"

#include <errno.h>

#include "fabric/shm/internal.h"
#include "node/virtual.h"

struct virtual_rings virtual_rings;

bool __real_tofu_shm_tx_room(struct tofu_fabric *fabric, uint32_t node,
			     enum tofu_class class_);
bool __wrap_tofu_shm_tx_room(struct tofu_fabric *fabric, uint32_t node,
			     enum tofu_class class_);
struct tofu_packet *__real_tofu_shm_tx_begin(struct tofu_fabric *fabric,
					     uint32_t node,
					     enum tofu_class class_,
					     size_t payload, int *err);
struct tofu_packet *__wrap_tofu_shm_tx_begin(struct tofu_fabric *fabric,
					     uint32_t node,
					     enum tofu_class class_,
					     size_t payload, int *err);
void __real_tofu_node_wait(struct tofu_node *node, unsigned int turn);
void __wrap_tofu_node_wait(struct tofu_node *node, unsigned int turn);

static bool fits(struct tofu_fabric *fabric, uint32_t node,
		 enum tofu_class class_, uint64_t payload)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_tx *tx = &shm->peers[node].tx[class_];
	uint64_t head;

	if (!virtual_rings.bytes || !shm->peers[node].life)
		return true;
	head = tx->head;
	if (tofu_load_acquire(&tx->ring->head_conn) == tx->conn)
		head = tofu_load_acquire(&tx->ring->head);
	return tx->tail - head + TOFU_SHM_RECORD(payload) <=
	       virtual_rings.bytes;
}

bool __wrap_tofu_shm_tx_room(struct tofu_fabric *fabric, uint32_t node,
			     enum tofu_class class_)
{
	return fits(fabric, node, class_, TOFU_PKT_MTU_MAX) &&
	       __real_tofu_shm_tx_room(fabric, node, class_);
}

struct tofu_packet *__wrap_tofu_shm_tx_begin(struct tofu_fabric *fabric,
					     uint32_t node,
					     enum tofu_class class_,
					     size_t payload, int *err)
{
	if (fits(fabric, node, class_, payload))
		return __real_tofu_shm_tx_begin(fabric, node, class_, payload,
						err);
	*err = -EAGAIN;
	return NULL;
}

void __wrap_tofu_node_wait(struct tofu_node *node, unsigned int turn)
{
	virtual_rings.inside += node->virtual->inside;
	virtual_rings.held += node->virtual->held_up;
	__real_tofu_node_wait(node, turn);
}
