/* SPDX-License-Identifier: MIT */
/*
 * The emu port's thread: serves the other nodes while the program does not
 * poll, and sleeps while it does.
 */
#ifndef PORT_EMU_HELPER_H
#define PORT_EMU_HELPER_H

#include <pthread.h>
#include <stdbool.h>

#include "node/node.h"

/**
 * struct tofu_emu_helper
 * @node:    the node that it serves
 * @thread:  the thread itself
 * @stopped: the thread shall end
 */
struct tofu_emu_helper {
	struct tofu_node *node;
	pthread_t thread;
	bool stopped;
};

/* tofu_emu_helper_start - @helper is zeroed; Return: 0 or a negative errno */
int tofu_emu_helper_start(struct tofu_emu_helper *helper,
			  struct tofu_node *node);

/* tofu_emu_helper_stop - end the thread and join it; no lock is held */
void tofu_emu_helper_stop(struct tofu_emu_helper *helper);

#endif /* PORT_EMU_HELPER_H */
