// SPDX-License-Identifier: MIT
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "utofu-machine.h"

uint8_t in[SIZE] __attribute__((aligned(4096)));
uint8_t out[SIZE] __attribute__((aligned(4096)));
uint64_t words[32] __attribute__((aligned(256)));

void node_fail(int line, const char *what, long long want, long long got)
{
	fprintf(stderr, "# line %d: %s: expected %lld, got %lld\n", line, what,
		want, got);
	_exit(1);
}

time_t node_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

void node_wait(time_t since, int line)
{
	if (node_now() - since > WAIT_SECONDS)
		node_fail(line, "seconds waited", WAIT_SECONDS, node_now() - since);
	sched_yield();
}

void meet(struct node *n)
{
	struct machine *m = n->m;
	int turn = m->turn;

	if (atomic_fetch_add(&m->here, 1) + 1 == m->living) {
		m->here = 0;
		m->turn++;
	}
	WAIT_WHILE(m->turn == turn);
}

static void node_open(struct node *n)
{
	struct machine *m = n->m;
	int me = n->me;

	OK(utofu_create_vcq_with_cmp_id(0, 0, 0, &n->vcq));
	OK(utofu_query_vcq_id(n->vcq, &m->id[me]));
	OK(utofu_reg_mem(n->vcq, in, sizeof(in), 0, &m->in[me]));
	OK(utofu_reg_mem(n->vcq, out, sizeof(out), 0, &m->out[me]));
	OK(utofu_reg_mem(n->vcq, words, sizeof(words), 0, &m->words[me]));
	OK(utofu_query_my_coords(m->coords[me]));
	meet(n);
}

/* What the environment of the test must not say of its nodes */
static const char *const foreign[] = {
	"TOFU_FABRIC", "TOFU_NODE", "TOFU_SHAPE", "TOFU_TNIS", "TOFU_TOQ_CODE",
	"TOFU_MRQ_CODE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	"PMI_RANK", "PMI_SIZE", "SLURM_PROCID", "SLURM_NTASKS",
};

static void node_run(struct machine *m, int me, int nodes,
		     void (*body)(struct node *))
{
	struct node n = { .m = m, .me = me };
	char text[12];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("TOFU_PORT", "emu", 1);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		unsetenv(foreign[i]);
	if (nodes == 4)
		setenv("TOFU_SHAPE", "1x1x1x2x1x2", 1);
	if (nodes > 1) {
		snprintf(text, sizeof(text), "%d", me);
		setenv("PMI_RANK", text, 1);
		snprintf(text, sizeof(text), "%d", nodes);
		setenv("PMI_SIZE", text, 1);
	}
	node_open(&n);
	body(&n);
	meet(&n);
	OK(utofu_free_vcq(n.vcq));
	exit(0);
}

/* Whether all nodes came to a good end; one that did not ends the others. */
static bool machine_wait(struct machine *m, const pid_t pid[], int nodes)
{
	bool good = true;

	for (int left = nodes; left; left--) {
		int status;
		pid_t done = wait(&status);
		int doomed = m->doomed;

		if (doomed >= 0 && done == pid[doomed] &&
		    WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
			m->doomed = -1;
			m->living--;
			continue;
		}
		if (status && good) {
			good = false;
			for (int i = 0; i < nodes; i++)
				if (pid[i] != done)
					kill(pid[i], SIGKILL);
		}
	}
	return good;
}

bool machine_run(int nodes, void (*body)(struct node *))
{
	struct machine *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid[NODES_MAX];
	bool good;

	if (m == MAP_FAILED)
		return false;
	m->living = nodes;
	m->doomed = -1;
	for (int i = 0; i < nodes; i++) {
		pid[i] = fork();
		if (!pid[i])
			node_run(m, i, nodes, body);
	}
	good = machine_wait(m, pid, nodes);
	munmap(m, sizeof(*m));
	return good;
}

static uint8_t pattern(size_t i, unsigned int seed)
{
	return (i * 5 + (i >> 7) + seed * 41) % 127 + 1;
}

void fill(size_t from, size_t length, unsigned int seed)
{
	for (size_t i = 0; i < length; i++)
		out[from + i] = pattern(i, seed);
}

size_t mismatch(const uint8_t *p, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (p[i] != pattern(i, seed))
			break;
	return i;
}

size_t changed(const uint8_t *p, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += p[i] != MARK;
	return count;
}

void put(struct node *n, int to, size_t at, size_t length, unsigned int edata,
	 unsigned long flags)
{
	OK(utofu_put(n->vcq, n->m->id[to], n->m->out[n->me] + at,
		     n->m->in[to] + at, length, edata, flags, NULL));
}

void put_word(struct node *n, int to, int index, uint64_t value,
	      unsigned int edata, unsigned long flags)
{
	OK(utofu_put_piggyback8(n->vcq, n->m->id[to], value,
				n->m->words[to] + index * 8, 8, edata, flags,
				NULL));
}

struct utofu_mrq_notice expect(struct node *n, int type, int peer,
			       unsigned int edata)
{
	struct utofu_mrq_notice notice;

	OK(tofu_wait_mrq(n->vcq, &notice));
	IS(type, notice.notice_type);
	IS(n->m->id[peer], notice.vcq_id);
	IS(edata, notice.edata);
	return notice;
}

void expect_report(struct node *n, uintptr_t cbdata)
{
	void *got;

	OK(tofu_wait_tcq(n->vcq, &got));
	IS(cbdata, (uintptr_t)got);
}

void expect_empty(struct node *n)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	IS(UTOFU_ERR_NOT_FOUND, utofu_poll_tcq(n->vcq, 0, &cbdata));
	IS(UTOFU_ERR_NOT_FOUND, utofu_poll_mrq(n->vcq, 0, &notice));
}

uint64_t peek(struct node *n, int at, int index)
{
	OK(utofu_armw8(n->vcq, n->m->id[at], UTOFU_ARMW_OP_ADD, 0,
		       n->m->words[at] + index * 8, 9, LCL, NULL));
	return expect(n, UTOFU_MRQ_TYPE_LCL_ARMW, at, 9).rmt_value;
}
