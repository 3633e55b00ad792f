/* SPDX-License-Identifier: MIT */
/*
 * Barrier gates of the emu port: their allocation, which follows the driver's,
 * and their registers.
 */
#ifndef PORT_EMU_GATE_H
#define PORT_EMU_GATE_H

#include "node/node.h"
#include "port/port.h"

/* tofu_emu_gates_count - gates of a TNI; 0 without a barrier interface */
unsigned int tofu_emu_gates_count(struct tofu_node *node);

/*
 * The gates_create of struct tofu_port_ops. @node owns the gates, and all its
 * processes share them. The caller sets struct tofu_port_gates.port.
 */
int tofu_emu_gates_create(struct tofu_node *node, unsigned int tni,
			  unsigned int count, struct tofu_port_gates **gates);
void tofu_emu_gates_destroy(struct tofu_node *node,
			    struct tofu_port_gates *gates);

/* tofu_emu_gate_set - the gate_set of struct tofu_port_ops; @group: GPID */
int tofu_emu_gate_set(struct tofu_node *node, struct tofu_port_gates *gates,
		      unsigned int index, const struct tofu_port_links *links,
		      unsigned int group);

#endif /* PORT_EMU_GATE_H */
