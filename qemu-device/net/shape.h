/* SPDX-License-Identifier: MIT */
#ifndef NET_SHAPE_H
#define NET_SHAPE_H

#include "net/topology.h"

/**
 * tofu_shape_of_count - the most cubic X × Y × Z of @nodes nodes
 *
 * Return: 0, or -EINVAL where no torus has that count.
 */
int tofu_shape_of_count(uint32_t nodes, struct tofu_shape *shape);

#endif /* NET_SHAPE_H */
