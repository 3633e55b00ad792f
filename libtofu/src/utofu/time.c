/* SPDX-License-Identifier: MIT */
#include <tofu/time.h>

#include <string.h>

#include "utofu/instance.h"
#include "utofu/time.h"

/* Stamps have the numbers of their registers. */
#define SAME(stamp) \
	TOFU_ASSERT((int)TOFU_STAMP_##stamp == (int)TOFU_CQ_##stamp, #stamp)

SAME(TX_DOORBELL);
SAME(TX_ENGINE);
SAME(TX_WIRE);
SAME(RX_WIRE);
SAME(RX_ENGINE);
SAME(RX_NOTICE);
TOFU_ASSERT((int)TOFU_STAMPS == (int)TOFU_CQ_STAMPS, "all have a register");

/* The clock that all nodes share; false: there is none */
static bool shared_locked(struct tofu_port_dev *port, uint64_t *now)
{
	if (port->ops->shared)
		return port->ops->shared(port, now);
	*now = port->ops->now(port);
	return port->machine;
}

int tofu_query_time(struct tofu_time_info *info)
{
	struct tofu_port_dev *port;
	uint64_t now;
	int code;

	if (!info)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	port = tofu_instance()->port;
	*info = (struct tofu_time_info){ .in_calls = port->ops->spend != NULL };
	tofu_instance_lock();
	info->is_virtual = shared_locked(port, &now);
	if (info->is_virtual)
		strncpy(info->machine, port->machine,
			sizeof(info->machine) - 1);
	tofu_instance_unlock();
	return UTOFU_SUCCESS;
}

uint64_t tofu_time(void)
{
	struct tofu_port_dev *port;
	uint64_t now;

	if (tofu_instance_open())
		return 0;
	port = tofu_instance()->port;
	tofu_instance_lock();
	if (!shared_locked(port, &now))
		now = port->ops->now(port);
	tofu_instance_unlock();
	return now;
}

int tofu_compute(uint64_t ns)
{
	struct tofu_port_dev *port;
	uint64_t began;
	int code = tofu_instance_open();

	if (code)
		return code;
	port = tofu_instance()->port;
	if (port->ops->spend) {
		port->ops->spend(port, ns);
		return UTOFU_SUCCESS;
	}
	began = port->ops->now(port);
	while (port->ops->now(port) - began < ns)
		;
	return UTOFU_SUCCESS;
}

int tofu_query_stamps(utofu_vcq_hdl_t vcq_hdl, uint64_t stamp[])
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	struct tofu_port_cq *cq;

	if (!vcq)
		return tofu_error_no_vcq();
	if (!stamp)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	cq = vcq->queue->cq;
	if (!cq->port->machine || !cq->port->ops->stamps)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	cq->port->ops->stamps(cq, stamp);
	return UTOFU_SUCCESS;
}
