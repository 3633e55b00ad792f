/* SPDX-License-Identifier: MIT */
#ifndef TOFU_AGENT_MAILBOX_H
#define TOFU_AGENT_MAILBOX_H

#include "port.h"

/* The port of a guest in virtual time; contracts as in port.h. */

/** mailbox_open - map the mailbox; -ENODEV where there is none */
int mailbox_open(struct port *port);

/** mailbox_wait - wait for the host; the guest may be saved here */
void mailbox_wait(struct port *port);
int mailbox_receive(struct port *port, struct tofu_agent_frame *frame, void *payload);
int mailbox_send(struct port *port, const struct tofu_agent_frame *frame, const void *payload);

#endif
