/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "utofu-util.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "fabric/fabric.h"

static bool late(time_t since)
{
	sched_yield();
	return time(NULL) - since > WAIT_SECONDS;
}

int tofu_wait_tcq(utofu_vcq_hdl_t vcq, void **cbdata)
{
	time_t since = time(NULL);
	int code;

	do {
		code = utofu_poll_tcq(vcq, 0, cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND && !late(since));
	return code;
}

int tofu_wait_mrq(utofu_vcq_hdl_t vcq, struct utofu_mrq_notice *notice)
{
	time_t since = time(NULL);
	int code;

	do {
		code = utofu_poll_mrq(vcq, 0, notice);
	} while (code == UTOFU_ERR_NOT_FOUND && !late(since));
	return code;
}

int tofu_wait_barrier(utofu_vbg_id_t vbg)
{
	time_t since = time(NULL);
	int code;

	do {
		code = utofu_poll_barrier(vbg, 0);
	} while (code == UTOFU_ERR_NOT_COMPLETED && !late(since));
	return code;
}

int tofu_wait_uint64(utofu_vbg_id_t vbg, uint64_t data[])
{
	time_t since = time(NULL);
	int code;

	do {
		code = utofu_poll_reduce_uint64(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && !late(since));
	return code;
}

int tofu_wait_double(utofu_vbg_id_t vbg, double data[])
{
	time_t since = time(NULL);
	int code;

	do {
		code = utofu_poll_reduce_double(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && !late(since));
	return code;
}

int tofu_wait_word(const uint64_t *word, uint64_t value)
{
	time_t since = time(NULL);

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		if (late(since))
			return -1;
	return 0;
}

const char *tofu_last_error(const char *text)
{
	static char line[200];
	int out = dup(STDERR_FILENO), file = memfd_create("stderr", 0);
	ssize_t length;

	dup2(file, STDERR_FILENO);
	utofu_get_last_error(text);
	dup2(out, STDERR_FILENO);
	length = pread(file, line, sizeof(line) - 1, 0);
	line[length < 0 ? 0 : length] = 0;
	close(file);
	close(out);
	return line;
}

void tofu_nodes_meet(struct tofu_nodes *nodes)
{
	time_t since = time(NULL);
	unsigned int all;

	all = __atomic_fetch_add(&nodes->arrived, 1, __ATOMIC_SEQ_CST);
	all = (all / nodes->count + 1) * nodes->count;
	while (__atomic_load_n(&nodes->arrived, __ATOMIC_SEQ_CST) < all)
		CHECK(!late(since));
}

static void node_start(int fabric, unsigned int node)
{
	char text[64];

	snprintf(text, sizeof(text), "/proc/self/fd/%d", fabric);
	setenv("TOFU_FABRIC", text, 1);
	snprintf(text, sizeof(text), "%u", node);
	setenv("TOFU_NODE", text, 1);
}

int tofu_nodes_run(unsigned int count,
		   void (*main)(struct tofu_nodes *nodes, unsigned int node),
		   int killed)
{
	return tofu_processes_run(count, 1, main, killed);
}

int tofu_processes_run(unsigned int count, unsigned int ppn,
		       void (*main)(struct tofu_nodes *nodes,
				    unsigned int process),
		       int killed)
{
	struct tofu_shape shape = { { (uint16_t)((count + ppn - 1) / ppn), 1, 1,
				      1, 1, 1 } };
	struct tofu_nodes *nodes;
	pid_t pid[NODES_MAX];
	int fabric, failed = 0;

	nodes = mmap(NULL, sizeof(*nodes), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fabric = memfd_create("fabric", MFD_ALLOW_SEALING);
	if (nodes == MAP_FAILED || fabric < 0 ||
	    tofu_fabric_format(fabric, &shape, ppn))
		return (int)count;
	nodes->count = count;
	for (unsigned int i = 0; i < count; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		alarm(2 * WAIT_SECONDS);
		node_start(fabric, i / ppn);
		main(nodes, i);
		_exit(0);
	}
	for (unsigned int i = 0; i < count; i++) {
		int status = -1;

		waitpid(pid[i], &status, 0);
		if ((int)i == killed)
			failed += !WIFSIGNALED(status) ||
				  WTERMSIG(status) != SIGKILL;
		else
			failed += !WIFEXITED(status) || WEXITSTATUS(status);
	}
	munmap(nodes, sizeof(*nodes));
	close(fabric);
	return failed;
}
