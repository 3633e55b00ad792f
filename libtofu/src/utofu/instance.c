/* SPDX-License-Identifier: MIT */
#include "utofu/instance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "port/debug.h"
#include "utofu/mark.h"

/*
 * The smallest TOQ is enough for the programs seen so far. The MRQ is larger,
 * since notices come from all nodes, and a lost one is an error.
 */
#define TOFU_TOQ_CODE_DEFAULT 0
#define TOFU_MRQ_CODE_DEFAULT 1

static struct tofu_instance of_process = {
	.mark = &of_process.nowhere,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

void tofu_instance_init(struct tofu_instance *instance)
{
	instance->mark = &instance->nowhere;
	pthread_mutex_init(&instance->lock, NULL);
}

struct tofu_instance *tofu_instance_current = &of_process;

/*
 * The child has the parent's rings or mappings, but no thread to serve them, so
 * it must not touch anything. No lock is taken here, since the child never
 * enters this file again.
 */
static void instance_forked(void)
{
	struct tofu_instance *instance = tofu_instance();
	struct tofu_port_dev *port = instance->port;

	/* A child's child has done so before. */
	if (port && port->ops->forked && !instance->forked)
		port->ops->forked(port);
	instance->forked = true;
	tofu_mark_forked();
	tofu_vbg_forked();
	/* No handle of entry i has the number i + 1; 0 would find entry 0. */
	for (unsigned int i = 0; i < TOFU_HANDLES; i++)
		instance->handle[i].hdl = i + 1;
}

static unsigned int ring_code(const struct tofu_ioc_info *info,
			      const char *name, unsigned int code)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text)
		return code;
	value = strtoul(text, &end, 10);
	if (end == text || *end || value > info->ring_code_max) {
		tofu_debug("%s=%s: not a ring size code, 0 to %u", name, text,
			   info->ring_code_max);
		return code;
	}
	return (unsigned int)value;
}

/* Done once per instance, however often it is opened */
static int forks_tell(struct tofu_instance *instance)
{
	int err;

	if (instance->forks)
		return 0;
	err = -pthread_atfork(NULL, NULL, instance_forked);
	instance->forks = !err;
	return err;
}

static int open_locked(struct tofu_instance *instance)
{
	struct tofu_port_dev *port;
	int err = tofu_port_open(&port);

	if (err)
		return err;
	err = tofu_shape_unpack(port->info.shape, &instance->shape);
	if (!err && port->info.tnis > TOFU_TNIS_MAX)
		err = -EINVAL;
	if (!err)
		err = forks_tell(instance);
	if (err) {
		tofu_debug("the controller cannot be used: %s",
			   strerror(-err));
		port->ops->close(port);
		return err;
	}
	instance->toq_code = ring_code(&port->info, "TOFU_TOQ_CODE",
				       TOFU_TOQ_CODE_DEFAULT);
	instance->mrq_code = ring_code(&port->info, "TOFU_MRQ_CODE",
				       TOFU_MRQ_CODE_DEFAULT);
	instance->fetched = getenv("TOFU_DIRECT") &&
			    !strcmp(getenv("TOFU_DIRECT"), "0");
	instance->port = port;
	return 0;
}

int tofu_instance_open(void)
{
	struct tofu_instance *instance = tofu_instance();
	int err = 0;

	if (instance->forked)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	tofu_instance_lock();
	if (!instance->port)
		err = open_locked(instance);
	tofu_instance_unlock();
	return err ? tofu_error(UTOFU_ERR_NOT_AVAILABLE) : UTOFU_SUCCESS;
}

void tofu_instance_close(void)
{
	struct tofu_instance *instance = tofu_instance();
	struct tofu_port_dev *port = instance->port;

	if (!port || instance->forked)
		return;
	for (unsigned int i = 0; i < TOFU_HANDLES; i++)
		if (instance->handle[i].hdl)
			utofu_free_vcq(instance->handle[i].hdl);
	tofu_vbg_free_all();
	instance->port = NULL;
	port->ops->close(port);
}

void tofu_instance_lock(void)
{
	pthread_mutex_lock(&tofu_instance()->lock);
}

void tofu_instance_unlock(void)
{
	pthread_mutex_unlock(&tofu_instance()->lock);
}

int tofu_error_no_vcq(void)
{
	return tofu_error(tofu_instance()->forked ? UTOFU_ERR_NOT_AVAILABLE :
						UTOFU_ERR_INVALID_VCQ_HDL);
}

static int code_of_errno(int err)
{
	switch (-err) {
	case 0:
		return UTOFU_SUCCESS;
	case EBUSY:
	case EAGAIN:
		return UTOFU_ERR_BUSY;
	case EEXIST:
		return UTOFU_ERR_USED;
	case ENOSPC:
	case EUSERS:
		return UTOFU_ERR_FULL;
	case ENOMEM:
		return UTOFU_ERR_OUT_OF_MEMORY;
	case EMFILE:
	case ENFILE:
		return UTOFU_ERR_OUT_OF_RESOURCE;
	case EFAULT:
		return UTOFU_ERR_INVALID_ADDRESS;
	case EOPNOTSUPP:
		return UTOFU_ERR_NOT_SUPPORTED;
	case EINVAL:
		return UTOFU_ERR_INVALID_ARG;
	default:
		return UTOFU_ERR_FATAL;
	}
}

int tofu_code_of_errno(int err)
{
	return tofu_error(code_of_errno(err));
}

/*
 * When the process exits other threads may still poll, so nothing is freed or
 * unmapped.
 */
__attribute__((destructor)) static void instance_leave(void)
{
	const struct tofu_instance *instance = tofu_instance();
	struct tofu_port_dev *port = instance->port;

	if (port && !instance->forked && port->ops->leave)
		port->ops->leave(port);
}
