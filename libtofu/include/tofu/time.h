/* SPDX-License-Identifier: MIT */
/*
 * The clock of a node, time that a program computes, and when a command passed
 * the stages of its way. In virtual time all nodes have one clock, which shows
 * the times of a machine.
 */
#ifndef TOFU_TIME_H
#define TOFU_TIME_H

#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Time ---- */

#define TOFU_TIME_MACHINE 16

/**
 * struct tofu_time_info - the clock of a node
 * @is_virtual: 1: virtual time: all nodes share the clock of tofu_time(), and
 *              two runs of a program take the same time; 0: the host's clock
 * @in_calls:   1: time passes only in calls of the library that wait, poll or
 *              compute. A loop that looks at memory or at the clock and makes
 *              no such call never ends.
 * @machine:    the machine whose times the interconnect keeps, as
 *              <tofu/rsched.h> names it; empty without virtual time, and where
 *              the machine has no name
 */
struct tofu_time_info {
	int is_virtual;
	int in_calls;
	char machine[TOFU_TIME_MACHINE];
};

/**
 * tofu_query_time - find out which clock this node has
 * @info: filled
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_AVAILABLE
 * where there is no interconnect.
 */
int tofu_query_time(struct tofu_time_info *info);

/**
 * tofu_time - read the node's clock
 *
 * In virtual time all nodes have the same origin, so the times of two nodes can
 * be compared; otherwise the origin is any. In a virtual machine in virtual
 * time this is a system call, which takes time itself.
 *
 * Return: nanoseconds; 0 where there is no interconnect.
 */
uint64_t tofu_time(void);

/**
 * tofu_compute - compute for a time
 * @ns: nanoseconds
 *
 * Stands for work that a program would do: the processor is busy, and nothing
 * is polled. Where struct tofu_time_info.in_calls is set, the node's clock is
 * moved on by so much; elsewhere the call returns when the time is over.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_AVAILABLE where there is no
 * interconnect.
 */
int tofu_compute(uint64_t ns);

/* ---- Stamps ---- */

/**
 * enum tofu_time_stamp - the stages of a command, in tofu_query_stamps()
 * @TOFU_STAMP_TX_DOORBELL: the doorbell of the last command that was sent
 * @TOFU_STAMP_TX_ENGINE: the engine began with it
 * @TOFU_STAMP_TX_WIRE: its last packet entered the first link
 * @TOFU_STAMP_RX_WIRE: the last request that ended with a notice here entered
 *     its first link
 * @TOFU_STAMP_RX_ENGINE: its engine had taken its last byte
 * @TOFU_STAMP_RX_NOTICE: its notice could be seen
 * @TOFU_STAMPS: number of stamps
 */
enum tofu_time_stamp {
	TOFU_STAMP_TX_DOORBELL = 0,
	TOFU_STAMP_TX_ENGINE = 1,
	TOFU_STAMP_TX_WIRE = 2,
	TOFU_STAMP_RX_WIRE = 3,
	TOFU_STAMP_RX_ENGINE = 4,
	TOFU_STAMP_RX_NOTICE = 5,
	TOFU_STAMPS = 6
};

/**
 * tofu_query_stamps - find out when the last commands passed their stages
 * @vcq_hdl: VCQ
 * @stamp:   set to TOFU_STAMPS times, by enum tofu_time_stamp, of the clock of
 *           tofu_time(); 0: there was no such command yet
 *
 * The stamps are those of the command queue, which VCQs of the process can
 * share. Programs in virtual machines find them in files of the driver instead.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_HDL; UTOFU_ERR_INVALID_POINTER;
 * UTOFU_ERR_NOT_AVAILABLE where there is no virtual time, and in virtual
 * machines.
 */
int tofu_query_stamps(utofu_vcq_hdl_t vcq_hdl, uint64_t stamp[]);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_TIME_H */
