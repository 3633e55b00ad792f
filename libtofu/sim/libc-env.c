// SPDX-License-Identifier: MIT
/*
 * The environment of a node: its own changes, then what the simulator says,
 * then the variables of the process.
 */

#include "sim/libc-node.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

/*
 * Values that hooks have said. A program may keep a pointer to one, and many
 * nodes have the same.
 */
static void *values;

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static char *keep_value(const char *value)
{
	char **found = tfind(value, &values, compare_text);
	char *copy;

	if (found)
		return *found;
	copy = strdup(value);
	if (copy && !tsearch(copy, &values, compare_text)) {
		free(copy);
		copy = NULL;
	}
	return copy;
}

void sim_values_free(void)
{
	tdestroy(values, free);
	values = NULL;
}

void sim_variables_free(struct sim_node *node)
{
	while (node->variables) {
		struct sim_variable *variable = node->variables;

		node->variables = variable->next;
		if (variable->owned)
			free(variable->text);
		free(variable);
	}
}

static char *value_in(char *text, const char *name, size_t len)
{
	if (strncmp(text, name, len) || text[len] != '=')
		return NULL;
	return text + len + 1;
}

static char *process_value(const char *name)
{
	size_t len = strlen(name);

	for (char **at = environ; at && *at && len; at++) {
		char *value = value_in(*at, name, len);

		if (value)
			return value;
	}
	return NULL;
}

static char *node_value(struct sim_node *node, const char *name)
{
	size_t len = strlen(name);
	const char *value;

	for (struct sim_variable *at = node->variables; at; at = at->next) {
		if (at->name_len == len && !memcmp(at->text, name, len))
			return value_in(at->text, name, len);
	}
	if (node->cleared)
		return NULL;
	value = sim_hooks.variable ? sim_hooks.variable(name) : NULL;
	return value ? keep_value(value) : process_value(name);
}

char *getenv(const char *name)
{
	struct sim_node *node = sim_running_node();

	return node ? node_value(node, name) : process_value(name);
}

char *secure_getenv(const char *name)
{
	return sim_running_node() ? getenv(name) : REAL(secure_getenv)(name);
}

/* What was there before stays, since the program may have a pointer to it. */
static int add_variable(struct sim_node *node, char *text, size_t name_len,
			bool owned)
{
	struct sim_variable *variable = malloc(sizeof(*variable));

	if (!variable) {
		if (owned)
			free(text);
		errno = ENOMEM;
		return -1;
	}
	*variable = (struct sim_variable){
		.next = node->variables,
		.text = text,
		.name_len = name_len,
		.owned = owned,
	};
	node->variables = variable;
	return 0;
}

static bool is_name(const char *name)
{
	return name && *name && !strchr(name, '=');
}

int setenv(const char *name, const char *value, int overwrite)
{
	struct sim_node *node = sim_running_node();
	size_t len;
	char *text;

	if (!node)
		return REAL(setenv)(name, value, overwrite);
	if (!is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	if (!overwrite && node_value(node, name))
		return 0;
	len = strlen(name);
	text = malloc(len + strlen(value) + 2);
	if (!text)
		return -1;
	memcpy(text, name, len);
	text[len] = '=';
	strcpy(text + len + 1, value);
	return add_variable(node, text, len, true);
}

int unsetenv(const char *name)
{
	struct sim_node *node = sim_running_node();
	char *text;

	if (!node)
		return REAL(unsetenv)(name);
	if (!is_name(name)) {
		errno = EINVAL;
		return -1;
	}
	text = strdup(name);
	return text ? add_variable(node, text, strlen(name), true) : -1;
}

int putenv(char *text)
{
	struct sim_node *node = sim_running_node();
	const char *equal = strchr(text, '=');

	if (!node)
		return REAL(putenv)(text);
	if (!equal)
		return unsetenv(text);
	return add_variable(node, text, equal - text, false);
}

int clearenv(void)
{
	struct sim_node *node = sim_running_node();

	if (!node)
		return REAL(clearenv)();
	sim_variables_free(node);
	node->cleared = true;
	return 0;
}

#pragma GCC visibility pop
