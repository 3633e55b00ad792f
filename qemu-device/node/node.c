/* SPDX-License-Identifier: MIT */
/*
 * A node's life: its controller on a fabric.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int create_icc(struct tofu_node *node,
		      const struct tofu_node_params *params)
{
	const struct icc_params icc = {
		.tnis = params->tnis,
		.shape = *tofu_fabric_shape(node->fabric),
		.node = tofu_fabric_endpoint(node->fabric) /
			tofu_fabric_ppn(node->fabric),
		.ppn = tofu_fabric_ppn(node->fabric),
		.pages = params->pages,
		.ram_pages = params->ram_pages,
		.inline_max = params->inline_max,
		.mtu = params->machine ? params->machine->mtu : params->mtu,
		.doorbells = params->machine != NULL,
		.armw = params->armw,
		.changes = params->changes,
		.machine = params->machine,
		.quiet_ns = params->quiet_ns,
		.ops = params->machine ? &tofu_virtual_host_ops :
					 &tofu_host_ops,
		.host = node,
	};

	node->icc = icc_create(&icc);
	if (!node->icc)
		return -errno;
	node->kicked = true;
	/* In virtual time every store is a doorbell: no kicks are needed. */
	icc_set_need_kick(node->icc, params->machine ?
					     0 :
					     tofu_node_kicks(node, true));
	return 0;
}

static int check_whole(const struct tofu_node *node,
		       const struct tofu_node_params *params, char **why)
{
	const uint32_t ppn = tofu_fabric_ppn(node->fabric);

	if (ppn == 1 || !params->whole)
		return 0;
	if (why && asprintf(why,
			    "the machine of %s has up to %u processes a node, "
			    "and this is a whole node; make one without --ppn",
			    params->fabric, ppn) < 0)
		*why = NULL;
	return -EINVAL;
}

/* A thread that holds a mutex learns that when it waits with a limit. */
static void locks_init(struct tofu_node *node)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&node->lock, &attr);
	pthread_mutex_init(&node->door, &attr);
	pthread_mutexattr_destroy(&attr);
}

int tofu_node_create(const struct tofu_node_params *params, char **why,
		     struct tofu_node **node)
{
	struct tofu_node *new = calloc(1, sizeof(*new));
	int err;

	if (!new) {
		err = -ENOMEM;
		goto err_why;
	}
	new->ops = params->ops;
	new->home = params->home;
	new->assist = params->assist;
	err = tofu_fabric_attach(params->fabric, params->node, why,
				 &new->fabric);
	if (err)
		goto err_free;
	err = check_whole(new, params, why);
	if (err)
		goto err_detach;
	if (params->machine)
		err = tofu_virtual_create(new, params);
	if (err)
		goto err_fabric;
	err = create_icc(new, params);
	if (err)
		goto err_virtual;
	locks_init(new);
	*node = new;
	return 0;

err_virtual:
	tofu_virtual_destroy(new);
err_fabric:
	tofu_fabric_detach(new->fabric);
	free(new);
err_why:
	if (why && asprintf(why, "cannot make a controller: %s",
			    err == -ENOSPC ? TOFU_FABRIC_FULL :
					     strerror(-err)) < 0)
		*why = NULL;
	return err;
err_detach:
	tofu_fabric_detach(new->fabric);
err_free:
	free(new);
	return err;
}

void tofu_node_destroy(struct tofu_node *node)
{
	icc_destroy(node->icc);
	tofu_virtual_destroy(node);
	tofu_fabric_detach(node->fabric);
	pthread_mutex_destroy(&node->lock);
	pthread_mutex_destroy(&node->door);
	free(node);
}

struct icc *tofu_node_icc(struct tofu_node *node)
{
	return node->icc;
}

struct tofu_fabric *tofu_node_fabric(struct tofu_node *node)
{
	return node->fabric;
}

int tofu_node_fd(const struct tofu_node *node)
{
	return tofu_fabric_fd(node->fabric);
}

void tofu_node_channel(struct tofu_node *node, unsigned int tni,
		       unsigned int channel)
{
	if (!node->virtual || tofu_node_joined(node))
		icc_channel_start(node->icc, tni, channel);
}
