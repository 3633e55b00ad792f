/* SPDX-License-Identifier: MIT */
#ifndef TOFU_AGENT_PORT_H
#define TOFU_AGENT_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/**
 * port_open - open the agent's virtio-serial port
 *
 * Waits a few seconds for the port to appear.  Returns a file descriptor or a
 * negative errno.
 */
int port_open(void);

/**
 * port_receive - read one frame
 * @port: the port
 * @frame: its header
 * @payload: room for TOFU_AGENT_PAYLOAD_MAX bytes
 *
 * Returns 0 or a negative errno; -EPROTO for a frame that is too long.
 */
int port_receive(int port, struct tofu_agent_frame *frame, void *payload);

/**
 * port_send - write one frame, waiting for room
 * @port: the port
 * @type: enum tofu_agent_type
 * @job: the job it is about
 * @payload: its bytes
 * @length: how many, at most TOFU_AGENT_PAYLOAD_MAX
 *
 * Returns 0 or a negative errno.
 */
int port_send(int port, uint16_t type, uint16_t job, const void *payload, size_t length);

#endif
