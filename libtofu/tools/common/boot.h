/* SPDX-License-Identifier: MIT */
/*
 * How the processes of a program find each other with nothing but uTofu: one
 * process a node, each on CQ 0 of TNI 0, so that everybody can name everybody
 * by coordinates alone.
 *
 * Each registers a page under the same reserved STAG. Synchronisation is
 * words that others put into it: no notices, nothing to agree on before.
 */
#ifndef TOFU_TOOLS_BOOT_H
#define TOFU_TOOLS_BOOT_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* Kept from the tools' own use on TNI 0. */
#define TOFU_BOOT_STAG 255
#define TOFU_BOOT_CMP_ID 7

/* Words that a process can give to tofu_boot_allgather(). */
#define TOFU_BOOT_WORDS 16

struct tofu_boot;

/**
 * tofu_boot_join - meet the processes on all other nodes
 * @machine: copied
 * @timeout: seconds that this and every later wait may take
 * @why:     on failure a sentence for the user, to be freed, or NULL when
 *           there is no memory for it
 * @boot:    set on success
 *
 * Tries again while a node is not up yet.
 *
 * Return: 0; -ETIMEDOUT, @why names the nodes that are missing; -EINVAL where a
 * node has several processes; -EIO where uTofu failed; -ENOMEM.
 */
int tofu_boot_join(const struct tofu_machine *machine, unsigned int timeout,
		   char **why, struct tofu_boot **boot);

/**
 * tofu_boot_leave - wait for the others to come here too, then free all
 *
 * Nobody goes before everybody has come, so no process finds another gone
 * that it still has something to tell.
 *
 * Return: as tofu_boot_barrier(); @boot is gone in any case.
 */
int tofu_boot_leave(struct tofu_boot *boot, char **why);

/* tofu_boot_abandon - free all without waiting for anybody; NULL is nothing */
void tofu_boot_abandon(struct tofu_boot *boot);

/**
 * tofu_boot_barrier - wait until every process has come here
 * @why: as tofu_boot_join()'s
 *
 * Return: 0; -ETIMEDOUT; -EIO, also where a node has died.
 */
int tofu_boot_barrier(struct tofu_boot *boot, char **why);

/**
 * tofu_boot_check - whether the process on another node is still there
 *
 * Return: 0; -EIO where it has died.
 */
int tofu_boot_check(struct tofu_boot *boot, uint32_t node, char **why);

/**
 * tofu_boot_allgather - give some words to everybody, get everybody's
 * @mine:  @words words, at most TOFU_BOOT_WORDS, the same count everywhere
 * @all:   set to nodes times @words words, those of node 0 first; good until
 *         the next allgather
 *
 * Return: as tofu_boot_barrier().
 */
int tofu_boot_allgather(struct tofu_boot *boot, const uint64_t *mine,
			size_t words, const uint64_t **all, char **why);

/* The board of each process, on which others leave words for it. */
#define TOFU_BOOT_SLOTS 64
#define TOFU_BOOT_SLOT_WORDS 32

/**
 * tofu_boot_tell - leave TOFU_BOOT_SLOT_WORDS words on another node's board
 * @slot: below TOFU_BOOT_SLOTS; whose turn it is to fill it is the callers' affair
 *
 * They are there for tofu_boot_told() when both have passed the next barrier.
 *
 * Return: as tofu_boot_check().
 */
int tofu_boot_tell(struct tofu_boot *boot, uint32_t node, unsigned int slot,
		   const uint64_t *words, char **why);

/* tofu_boot_told - what was left in a slot; good until it is filled again */
const uint64_t *tofu_boot_told(const struct tofu_boot *boot, unsigned int slot);

#endif /* TOFU_TOOLS_BOOT_H */
