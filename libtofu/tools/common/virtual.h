/* SPDX-License-Identifier: MIT */
/*
 * Virtual time, as a tool sees it: the clock that all nodes share, and the
 * stamps of a command queue on it.
 */
#ifndef TOFU_TOOLS_VIRTUAL_H
#define TOFU_TOOLS_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include <tofu/regs.h>
#include <tofu/time.h>

/**
 * tofu_virtual_find - make tofu_now() show the time that all nodes share
 *
 * Call it once, after tofu_machine_find().
 *
 * Return: false where there is no virtual time; tofu_now() stays what it was.
 */
bool tofu_virtual_find(void);

/* tofu_virtual - what tofu_virtual_find() has returned; false before */
bool tofu_virtual(void);

/**
 * tofu_virtual_runs - whether virtual time passes while a program runs
 *
 * It does on virtual machines, where an instruction takes a nanosecond. On
 * nodes of tofu-sim it passes only in calls of the library: memory that is
 * awaited changes in no other.
 */
bool tofu_virtual_runs(void);

/**
 * tofu_virtual_machine - the machine whose times the interconnect keeps
 * @name: set to the machine's name, as <tofu/rsched.h> and others know it
 *
 * Return: false where there is no virtual time.
 */
#define TOFU_VIRTUAL_MACHINE TOFU_TIME_MACHINE
bool tofu_virtual_machine(char name[TOFU_VIRTUAL_MACHINE]);

/**
 * struct tofu_stamps - the stamps of a queue, from the library or as the
 * driver's files
 * @vcq: of that queue
 * @fd:  by enum tofu_cq_stamp; -1 where it is not open
 */
struct tofu_stamps {
	utofu_vcq_hdl_t vcq;
	int fd[TOFU_CQ_STAMPS];
};

/**
 * tofu_stamps_open - of a queue of the first controller
 * @tni, @cq: numbers of @vcq
 * @why: on failure a sentence for the user, to be freed, or NULL
 *
 * Return: 0 or a negative errno; closed with tofu_stamps_close() in any case.
 */
int tofu_stamps_open(struct tofu_stamps *stamps, utofu_vcq_hdl_t vcq,
		     unsigned int tni, unsigned int cq, char **why);
void tofu_stamps_close(struct tofu_stamps *stamps);

/* tofu_stamp - its value now, or 0 where it cannot be read */
uint64_t tofu_stamp(const struct tofu_stamps *stamps, enum tofu_cq_stamp stamp);

#endif /* TOFU_TOOLS_VIRTUAL_H */
