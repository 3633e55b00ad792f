/* SPDX-License-Identifier: MIT */
#ifndef TOFU_AGENT_PORT_H
#define TOFU_AGENT_PORT_H

#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/**
 * struct port - the way to the host
 * @fd: a virtio-serial port, or -1: a mailbox (uapi/tofu/mailbox.h), as in
 *    guests in virtual time
 * @regs: registers of the mailbox
 * @windows: its windows
 */
struct port {
	int fd;
	volatile uint64_t *regs;
	uint8_t *windows;
};

/**
 * port_open - open the guest's mailbox, or else the agent's virtio-serial port
 * @port: written on success
 *
 * Waits a few seconds for the virtio-serial port to appear.  Returns 0 or a
 * negative errno.
 */
int port_open(struct port *port);

/**
 * port_is_mailbox - whether a wait for the host stops the guest's clock
 * @port: the port
 *
 * It also stops that of the whole machine, once it is in common time.
 */
static inline int port_is_mailbox(const struct port *port)
{
	return port->fd < 0;
}

/**
 * port_receive - read one frame
 * @port: the port
 * @frame: its header
 * @payload: room for TOFU_AGENT_PAYLOAD_MAX bytes
 *
 * Returns 0 or a negative errno; -EPROTO for a frame that is too long.
 */
int port_receive(struct port *port, struct tofu_agent_frame *frame, void *payload);

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
int port_send(struct port *port, uint16_t type, uint16_t job, const void *payload, size_t length);

#endif
