/* SPDX-License-Identifier: MIT */
#include "utofu/instance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "port/debug.h"
#include "utofu/mark.h"

/*
 * Of programs seen so far the TOQ's smallest size is enough; notices come from
 * everywhere, and one that is lost is an error.
 */
#define TOFU_TOQ_CODE_DEFAULT 0
#define TOFU_MRQ_CODE_DEFAULT 1

struct tofu_instance tofu_context = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

/*
 * The child has the parent's rings or mappings, and no thread to serve them:
 * it must not touch anything. Nothing is locked here, since nothing of this
 * file is reached again in the child.
 */
static void instance_forked(void)
{
	tofu_context.forked = true;
	tofu_mark_forked();
	tofu_vbg_forked();
	/* No handle of entry i has the number i + 1; 0 would find entry 0. */
	for (unsigned int i = 0; i < TOFU_HANDLES; i++)
		tofu_context.handle[i].hdl = i + 1;
}

static unsigned int ring_code(const char *name, unsigned int code)
{
	const char *text = getenv(name);
	unsigned long value;
	char *end;

	if (!text)
		return code;
	value = strtoul(text, &end, 10);
	if (end == text || *end || value > tofu_context.port->info.ring_code_max) {
		tofu_debug("%s=%s: not a ring size code, 0 to %u", name, text,
			   tofu_context.port->info.ring_code_max);
		return code;
	}
	return (unsigned int)value;
}

static int instance_open_locked(void)
{
	int err = tofu_port_open(&tofu_context.port);

	if (err)
		return err;
	err = tofu_shape_unpack(tofu_context.port->info.shape,
				&tofu_context.shape);
	if (!err && tofu_context.port->info.tnis > TOFU_TNIS_MAX)
		err = -EINVAL;
	if (!err)
		err = -pthread_atfork(NULL, NULL, instance_forked);
	if (err) {
		tofu_debug("the controller cannot be used: %s",
			   strerror(-err));
		tofu_context.port = NULL;
		return err;
	}
	tofu_context.toq_code = ring_code("TOFU_TOQ_CODE",
					  TOFU_TOQ_CODE_DEFAULT);
	tofu_context.mrq_code = ring_code("TOFU_MRQ_CODE",
					  TOFU_MRQ_CODE_DEFAULT);
	return 0;
}

int tofu_instance_open(void)
{
	int err = 0;

	if (tofu_context.forked)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	tofu_instance_lock();
	if (!tofu_context.port)
		err = instance_open_locked();
	tofu_instance_unlock();
	return err ? tofu_error(UTOFU_ERR_NOT_AVAILABLE) : UTOFU_SUCCESS;
}

void tofu_instance_lock(void)
{
	pthread_mutex_lock(&tofu_context.lock);
}

void tofu_instance_unlock(void)
{
	pthread_mutex_unlock(&tofu_context.lock);
}

int tofu_error_no_vcq(void)
{
	return tofu_error(tofu_context.forked ? UTOFU_ERR_NOT_AVAILABLE :
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
		return UTOFU_ERR_FULL;
	case ENOMEM:
		return UTOFU_ERR_OUT_OF_MEMORY;
	case EMFILE:
	case ENFILE:
		return UTOFU_ERR_OUT_OF_RESOURCE;
	case EFAULT:
		return UTOFU_ERR_INVALID_ADDRESS;
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
 * At the end of the process other threads may still poll, so nothing is freed
 * and nothing unmapped.
 */
__attribute__((destructor)) static void instance_leave(void)
{
	struct tofu_port_dev *port = tofu_context.port;

	if (port && !tofu_context.forked && port->ops->leave)
		port->ops->leave(port);
}
