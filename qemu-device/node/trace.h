/* SPDX-License-Identifier: MIT */
/*
 * The file of a node's trace.
 */
#ifndef NODE_TRACE_H
#define NODE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "icc/trace.h"
#include "net/machine.h"
#include "net/topology.h"

struct tofu_trace;

/**
 * tofu_trace_create - a file of records (icc/trace.h)
 * @path: is replaced if it exists
 *
 * Return: 0 or a negative errno.
 */
int tofu_trace_create(const char *path, const struct tofu_shape *shape,
		      uint32_t node, const struct tofu_preset *machine,
		      struct tofu_trace **trace);

/* tofu_trace_destroy - cut the file behind the last record; accepts NULL */
void tofu_trace_destroy(struct tofu_trace *trace);

/* tofu_trace_add - add a record, which is in the file even if the process is
 * killed; false: the file cannot grow and the record is lost, which the file's
 * header says
 */
bool tofu_trace_add(struct tofu_trace *trace, const struct icc_trace *record);

#endif /* NODE_TRACE_H */
