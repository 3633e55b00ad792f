/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the cluster's supervisor and the agent in a guest, over
 * a virtio-serial port, or in virtual time through a mailbox.
 * scripts/tofucluster/agent.py is the other side.
 *
 * A frame is a header and a payload. The supervisor chooses job numbers; that
 * of an ended job may be reused. Numbers are little-endian. The supervisor does
 * not trust the guest: it ends a node that sends anything else.
 *
 * The first frames are HELLO, NAME and NAMED. Before NAME all guests are alike:
 * one that waits for it can be saved, and go on as any of them.
 *
 * In virtual time a guest reads from the host only before its clock counts:
 * NAME, files, then EXEC or REST. With either it loads the interconnect's
 * driver, by which it joins the machine's common time, sends STARTED, and reads
 * no more.
 */
#ifndef TOFU_AGENT_PROTOCOL_H
#define TOFU_AGENT_PROTOCOL_H

#include <stdint.h>

#define TOFU_AGENT_VERSION 3
#define TOFU_AGENT_PORT_NAME "tofu.agent"
#define TOFU_AGENT_PAYLOAD_MAX (256u << 10)

/**
 * struct tofu_agent_frame - header of every frame
 * @length: bytes of payload that follow, at most TOFU_AGENT_PAYLOAD_MAX
 * @type: enum tofu_agent_type
 * @job: the job or file that the frame is about, or 0
 */
struct tofu_agent_frame {
	uint32_t length;
	uint16_t type;
	uint16_t job;
};

/**
 * enum tofu_agent_type - kinds of frames
 * @TOFU_AGENT_EXEC: start a program; payload struct tofu_agent_exec
 * @TOFU_AGENT_STDIN: bytes for the program's input; none: end of input
 * @TOFU_AGENT_RESIZE: new size of the terminal; payload two u16 rows, columns
 * @TOFU_AGENT_SIGNAL: signal to the program's process group; payload u32
 * @TOFU_AGENT_FILE_OPEN: begin a file; payload u32 mode, then its path
 * @TOFU_AGENT_FILE_DATA: bytes of the file
 * @TOFU_AGENT_FILE_CLOSE: the file is complete; answered by FILE_DONE
 * @TOFU_AGENT_PING: answered by PONG with the same payload
 * @TOFU_AGENT_REST: virtual time: no program comes
 * @TOFU_AGENT_NAME: the guest's host name; answered by NAMED
 * @TOFU_AGENT_HELLO: the agent is up; payload u32 version, then text: errors
 *    while the guest booted, or empty
 * @TOFU_AGENT_STDOUT: output of the program
 * @TOFU_AGENT_STDERR: error output of the program
 * @TOFU_AGENT_EXIT: the program has ended; payload u32, a wait(2) status
 * @TOFU_AGENT_FILE_DONE: payload u32 errno of the transfer, 0 for success
 * @TOFU_AGENT_PONG: answer to PING
 * @TOFU_AGENT_STARTED: virtual time: EXEC or REST is under way; payload as for
 *    HELLO: with a text, the program was not started
 * @TOFU_AGENT_NAMED: payload u32 errno, 0 for success
 */
enum tofu_agent_type {
	TOFU_AGENT_EXEC = 1,
	TOFU_AGENT_STDIN = 2,
	TOFU_AGENT_RESIZE = 3,
	TOFU_AGENT_SIGNAL = 4,
	TOFU_AGENT_FILE_OPEN = 5,
	TOFU_AGENT_FILE_DATA = 6,
	TOFU_AGENT_FILE_CLOSE = 7,
	TOFU_AGENT_PING = 8,
	TOFU_AGENT_REST = 9,
	TOFU_AGENT_NAME = 10,
	TOFU_AGENT_HELLO = 64,
	TOFU_AGENT_STDOUT = 65,
	TOFU_AGENT_STDERR = 66,
	TOFU_AGENT_EXIT = 67,
	TOFU_AGENT_FILE_DONE = 68,
	TOFU_AGENT_PONG = 69,
	TOFU_AGENT_STARTED = 70,
	TOFU_AGENT_NAMED = 71,
};

/**
 * struct tofu_agent_exec - payload of EXEC
 * @flags: TOFU_AGENT_EXEC_PTY or 0
 * @rows: size of the terminal
 * @columns: size of the terminal
 * @argc: number of arguments, at least 1
 * @envc: number of NAME=VALUE strings, added to the agent's environment
 * @strings: working directory, then the arguments, then the environment, each
 *	ended by a NUL
 */
struct tofu_agent_exec {
	uint32_t flags;
	uint16_t rows;
	uint16_t columns;
	uint32_t argc;
	uint32_t envc;
	char strings[];
};

#define TOFU_AGENT_EXEC_PTY 1u

#endif
