/* SPDX-License-Identifier: MIT */
/*
 * Barrier gates of the emu port: who has which, and their registers. They are
 * given out as the driver does it.
 */
#ifndef PORT_EMU_GATE_H
#define PORT_EMU_GATE_H

#include "node/node.h"
#include "port/port.h"

/* tofu_emu_gates_count - gates of a TNI; 0: there is no barrier interface */
unsigned int tofu_emu_gates_count(struct tofu_node *node);

/*
 * As of struct tofu_port_ops; @node: whose gates they are. All its processes
 * share them. The caller sets struct tofu_port_gates.port.
 */
int tofu_emu_gates_create(struct tofu_node *node, unsigned int tni,
			  unsigned int count, struct tofu_port_gates **gates);
void tofu_emu_gates_destroy(struct tofu_node *node,
			    struct tofu_port_gates *gates);

/* tofu_emu_gate_set - the same; @group: GPID */
int tofu_emu_gate_set(struct tofu_node *node, struct tofu_port_gates *gates,
		      unsigned int index, const struct tofu_port_links *links,
		      unsigned int group);

#endif /* PORT_EMU_GATE_H */
