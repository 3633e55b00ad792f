/* SPDX-License-Identifier: MIT */
/*
 * A node: an ICC on the fabric, with the lock and the sleeping protocol that
 * every home needs. The QEMU device and the emu port are two thin homes above
 * it: they bring memory, interrupts, and a thread that sleeps in poll().
 *
 * Who makes progress: the node's own thread while there is work, and any
 * thread of the program that kicks (QEMU: a vCPU that writes the kick page;
 * emu: a caller of post or poll). With assist, a poll that finds nothing kicks
 * too and so lends its processor to the engine; while that goes on the node's
 * thread stays asleep, and nobody pays to wake it.
 */
#ifndef FABRIC_NODE_H
#define FABRIC_NODE_H

#include <stdarg.h>

#include "fabric/fabric.h"
#include "icc/icc.h"


struct tofu_node;

/**
 * struct tofu_node_ops - what the home brings; contracts of icc_host_ops
 * @map: a pointer to the node's memory at bus address @addr, or NULL; in @len
 *       how many bytes are wanted, out how many of them (at least one) the
 *       pointer is good for, until the lock is released
 * @written: bytes at a pointer that map() gave for writing have been written
 *           (dirty tracking); may be NULL
 */
struct tofu_node_ops {
	void *(*map)(void *home, uint64_t addr, size_t *len, bool write);
	void (*written)(void *home, uint64_t addr, size_t len);
	void (*irq)(void *home, unsigned int vector);
	void (*misuse)(void *home, const char *format, va_list args);
};

/**
 * struct tofu_node_params
 * @fabric: path as of tofu_fabric_attach()
 * @node:   likewise
 * @tnis, @pages, @ram_pages: as of struct icc_params
 * @inline_max: likewise
 * @assist: whether polls that find nothing shall kick
 */
struct tofu_node_params {
	const char *fabric;
	int node;
	unsigned int tnis;
	void *pages;
	bool ram_pages;
	size_t inline_max;
	bool assist;
	const struct tofu_node_ops *ops;
	void *home;
};

/* tofu_node_create - attach and make the controller; @why as fabric.h's */
int tofu_node_create(const struct tofu_node_params *params, char **why,
		     struct tofu_node **node);
void tofu_node_destroy(struct tofu_node *node);

/* The lock serialises everything below but what says otherwise. */
void tofu_node_lock(struct tofu_node *node);
void tofu_node_unlock(struct tofu_node *node);

struct icc *tofu_node_icc(struct tofu_node *node);
struct tofu_fabric *tofu_node_fabric(struct tofu_node *node);

/* tofu_node_progress - fabric and engine, bounded; true when there was work */
bool tofu_node_progress(struct tofu_node *node);

/**
 * tofu_node_kick - a program's thread lends its processor; takes the lock
 * @poll: a poll found nothing (TOFU_KICK_POLL), else TOFU_KICK_TAIL
 *
 * Return: true when there was work. Does not wait for another thread that is
 * making progress already, unless that thread could miss the kick.
 */
bool tofu_node_kick(struct tofu_node *node, bool poll);

/**
 * tofu_node_sleep - get ready to sleep on tofu_node_fd(); takes the lock
 *
 * Return: milliseconds to sleep at most (-1: until readable), or 0: there is
 * work, do not sleep.
 */
int tofu_node_sleep(struct tofu_node *node);

/* tofu_node_awake - the thread is back and polls; takes the lock */
void tofu_node_awake(struct tofu_node *node);

/* tofu_node_fd - for poll(2), any thread */
int tofu_node_fd(const struct tofu_node *node);

#endif /* FABRIC_NODE_H */
