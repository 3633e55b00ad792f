/* SPDX-License-Identifier: MIT */
/*
 * The processes of a tool, one on each node of the machine: <tofu/boot.h> in
 * the tools' terms, with nodes for ranks, words for bytes, and sentences for
 * codes.
 */
#ifndef TOFU_TOOLS_WORLD_H
#define TOFU_TOOLS_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/boot.h>

#include "common/machine.h"

/* Words that a process can give to tofu_world_gather(). */
#define TOFU_WORLD_WORDS 16

/**
 * struct tofu_world
 * @boot:  of the processes
 * @all:   what was gathered last
 * @said:  what the boot says of its failures
 */
struct tofu_world {
	struct tofu_boot *boot;
	uint64_t *all;
	char said[TOFU_BOOT_WHY];
};

/**
 * tofu_world_join - meet the processes on all other nodes
 * @timeout: seconds that this and every later wait may take
 * @why:     on failure a sentence for the user, to be freed, or NULL when
 *           there is no memory for it
 * @world:   set on success
 *
 * Return: 0; -ETIMEDOUT, @why names the nodes that are missing; -EINVAL where
 * not each node has one process; -EIO where uTofu failed; -ENOMEM.
 */
int tofu_world_join(const struct tofu_machine *machine, unsigned int timeout,
		    char **why, struct tofu_world **world);

/**
 * tofu_world_meet - meet the processes of all ranks, any number on a node
 *
 * As tofu_world_join(), but what it says of nodes goes for ranks.
 */
int tofu_world_meet(const struct tofu_machine *machine, unsigned int timeout,
		    char **why, struct tofu_world **world);

/* tofu_world_leave - as tofu_boot_leave(); Return: as tofu_world_barrier() */
int tofu_world_leave(struct tofu_world *world, char **why);

/* tofu_world_abandon - free all without waiting for anybody; NULL is nothing */
void tofu_world_abandon(struct tofu_world *world);

/**
 * tofu_world_barrier - wait until every process has come here
 * @why: as tofu_world_join()'s
 *
 * Return: 0; -ETIMEDOUT; -EIO, also where a node has died.
 */
int tofu_world_barrier(struct tofu_world *world, char **why);

/* tofu_world_check - whether a node's process is there; Return: 0 or -EIO */
int tofu_world_check(struct tofu_world *world, uint32_t node, char **why);

/**
 * tofu_world_gather - give some words to everybody, get everybody's
 * @mine:  @words words, at most TOFU_WORLD_WORDS, the same count everywhere
 * @all:   set to nodes times @words words, those of node 0 first; good until
 *         the next time
 *
 * Return: as tofu_world_barrier().
 */
int tofu_world_gather(struct tofu_world *world, const uint64_t *mine,
		      size_t words, const uint64_t **all, char **why);

/* tofu_world_errno - a failure of the boot in the tools' terms; 0 for none */
int tofu_world_errno(const struct tofu_world *world, int code, char **why);

#endif /* TOFU_TOOLS_WORLD_H */
