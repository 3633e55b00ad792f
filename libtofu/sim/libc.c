// SPDX-License-Identifier: MIT

#include "sim/libc-node.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct sim_libc_hooks sim_hooks;
struct sim_owner sim_owner;

static struct sim_node *nodes;
static uint32_t node_count;

void sim_libc_hooks_set(const struct sim_libc_hooks *hooks)
{
	sim_hooks = hooks ? *hooks : (struct sim_libc_hooks){ 0 };
}

int sim_libc_open(uint32_t count, const struct sim_owner *owner)
{
	nodes = calloc(count ? count : 1, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	node_count = count;
	sim_owner = *owner;
	sim_getopt_reset();
	return 0;
}

static void free_handlers(struct sim_handler *handler)
{
	while (handler) {
		struct sim_handler *next = handler->next;

		free(handler);
		handler = next;
	}
}

void sim_libc_close(void)
{
	for (uint32_t i = 0; i < node_count; i++) {
		free_handlers(nodes[i].exits);
		free_handlers(nodes[i].quick);
		free_handlers(nodes[i].threads);
		sim_variables_free(&nodes[i]);
	}
	sim_values_free();
	free(nodes);
	nodes = NULL;
	node_count = 0;
	sim_owner = (struct sim_owner){ 0 };
}

int64_t sim_running(void)
{
	return sim_hooks.node ? sim_hooks.node() : -1;
}

struct sim_node *sim_node_of(uint32_t number)
{
	return &nodes[number];
}

struct sim_node *sim_running_node(void)
{
	int64_t node = sim_running();

	return node >= 0 && node < node_count ? &nodes[node] : NULL;
}

bool sim_refuse(const char *function)
{
	int64_t node = sim_running();

	if (node < 0)
		return false;
	if (sim_hooks.refused)
		sim_hooks.refused(node, function);
	return true;
}

/* ---- Crashes ---- */

static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

/* The instruction is executed again, and abort() raises its signal again. */
static void crash(int sig, siginfo_t *info, void __attribute__((unused)) *at)
{
	int64_t node = sim_running();

	if (node >= 0 && sim_hooks.crashed)
		sim_hooks.crashed(node, sig,
				  sig == SIGABRT ? NULL : info->si_addr);
	signal(sig, SIG_DFL);
	if (info->si_code <= 0)
		raise(sig);
}

/* A stack that has overflowed cannot take the handler. */
int sim_libc_catch(void)
{
	struct sigaction action = {
		.sa_sigaction = crash,
		.sa_flags = SA_SIGINFO | SA_ONSTACK,
	};
	stack_t stack = { .ss_size = 256u << 10 };

	stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		return -ENOMEM;
	if (sigaltstack(&stack, NULL))
		return -errno;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++) {
		if (sigaction(crashes[i], &action, NULL))
			return -errno;
	}
	return 0;
}
