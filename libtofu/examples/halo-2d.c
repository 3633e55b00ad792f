// SPDX-License-Identifier: MIT
/*
 * Halo exchange in 2-D: the nodes are a grid, as wide and high as the machine's
 * X and Y axes. Each has N x N cells of a periodic field and a halo one cell
 * wide around them, into which its four neighbours put their edges. Rows are
 * contiguous; columns are not, and go in one strided put each.
 *
 *	tofu-run --shape 2x3 ./halo-2d
 */
#include <stdio.h>
#include <stdlib.h>

#include <tofu/boot.h>
#include <tofu/job.h>
#include <utofu.h>

#define N 8
#define STEPS 50
#define TIMEOUT 60 /* seconds, for a process that never comes */
#define NOTICES (2 + 2 * N) /* a step: of two rows, and each cell of two columns */
#define FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

enum { WEST, EAST, SOUTH, NORTH, SIDES };

/*
 * Two fields, used in turn. No neighbour overwrites what we still read: it
 * sends for step t + 2 when it has our edge of t + 1, which we sent when we had
 * finished t.
 */
static _Alignas(256) uint64_t cell[2][N + 2][N + 2];
static unsigned int arrived[2]; /* notices for each of them */

static utofu_vcq_hdl_t vcq;
static utofu_stadd_t stadd; /* of cell, here and on all other nodes */
static utofu_vcq_id_t neighbor[SIDES];
static unsigned int at[2], grid[2];
static char why[TOFU_BOOT_WHY]; /* what is wrong with a process */

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d %s\n", what, code, why);
	exit(EXIT_FAILURE);
}

static utofu_stadd_t stadd_of(unsigned int field, int i, int j)
{
	return stadd + (utofu_stadd_t)((char *)&cell[field][i][j] - (char *)cell);
}

/* Take a notice, if there is one; those of edges that came are counted. */
static int notice_poll(struct utofu_mrq_notice *notice)
{
	int code = utofu_poll_mrq(vcq, 0, notice);

	if (code == UTOFU_SUCCESS && notice->notice_type == UTOFU_MRQ_TYPE_RMT_PUT)
		arrived[notice->edata]++;
	return code;
}

/* An edge, in blocks that are a row of the field apart, from cell to cell */
static void edge_put(int side, unsigned int f, utofu_stadd_t from, utofu_stadd_t to,
		     size_t length, size_t blocks)
{
	check(utofu_put_stride(vcq, neighbor[side], from, to, length, sizeof(cell[f][0]),
			       blocks, f, FLAGS, NULL), "utofu_put_stride");
}

static void exchange(unsigned int f)
{
	struct utofu_mrq_notice notice;
	int code, reports = 0;
	void *cbdata;

	edge_put(WEST, f, stadd_of(f, 1, 1), stadd_of(f, N + 1, 1), 8 * N, 1);
	edge_put(EAST, f, stadd_of(f, N, 1), stadd_of(f, 0, 1), 8 * N, 1);
	edge_put(SOUTH, f, stadd_of(f, 1, 1), stadd_of(f, 1, N + 1), 8, N);
	edge_put(NORTH, f, stadd_of(f, 1, N), stadd_of(f, 1, 0), 8, N);
	/* A report: our edge is there. A notice: something of a neighbour's is here. */
	while (reports < SIDES || arrived[f] < NOTICES) {
		code = utofu_poll_tcq(vcq, 0, &cbdata);
		reports += code == UTOFU_SUCCESS;
		check(code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS : code, "utofu_poll_tcq");
		code = notice_poll(&notice);
		check(code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS : code, "utofu_poll_mrq");
	}
	arrived[f] = 0;
}

/* What our cell (i, j), or that of the halo, is to be: step and place in the field */
static uint64_t value(unsigned int step, unsigned int i, unsigned int j)
{
	uint64_t x = (at[0] * N + N * grid[0] + i - 1) % (N * grid[0]);
	uint64_t y = (at[1] * N + N * grid[1] + j - 1) % (N * grid[1]);

	return (uint64_t)step << 32 | x << 16 | y;
}

/* Return: how many cells of the halo are wrong. */
static unsigned int step_make(unsigned int step)
{
	unsigned int f = step % 2, wrong = 0;

	for (unsigned int i = 1; i <= N; i++)
		for (unsigned int j = 1; j <= N; j++)
			cell[f][i][j] = value(step, i, j);
	exchange(f);
	for (unsigned int k = 1; k <= N; k++) {
		wrong += cell[f][0][k] != value(step, 0, k);
		wrong += cell[f][N + 1][k] != value(step, N + 1, k);
		wrong += cell[f][k][0] != value(step, k, 0);
		wrong += cell[f][k][N + 1] != value(step, k, N + 1);
	}
	return wrong;
}

/* To a neighbour on one side this process is the one on the other. */
static void neighbor_tell(struct tofu_boot *boot, utofu_vcq_id_t own, unsigned int x,
			  unsigned int y, unsigned int side)
{
	/* Ranks go along Y first, as nodes are numbered. */
	unsigned int rank = x % grid[0] * grid[1] + y % grid[1];

	check(tofu_boot_tell(boot, rank, side, &own, sizeof(own)), "tofu_boot_tell");
}

/* No process puts before the barrier, when all have told their addresses. */
static void neighbors_find(struct tofu_boot *boot)
{
	utofu_vcq_id_t own;

	check(utofu_query_vcq_id(vcq, &own), "utofu_query_vcq_id");
	neighbor_tell(boot, own, at[0] + grid[0] - 1, at[1], EAST);
	neighbor_tell(boot, own, at[0] + 1, at[1], WEST);
	neighbor_tell(boot, own, at[0], at[1] + grid[1] - 1, NORTH);
	neighbor_tell(boot, own, at[0], at[1] + 1, SOUTH);
	check(tofu_boot_barrier(boot), "tofu_boot_barrier");
	for (unsigned int side = 0; side < SIDES; side++)
		check(tofu_boot_told(boot, side, &neighbor[side], sizeof(own)), "tofu_boot_told");
}

/* The grid is the machine's X and Y axes, with a process on each node. */
static void grid_find(void)
{
	struct tofu_job_info job;

	check(tofu_query_job(&job), "tofu_query_job");
	grid[0] = job.shape[0];
	grid[1] = job.shape[1];
	at[0] = job.rank / grid[1];
	at[1] = job.rank % grid[1];
	if (job.ranks == grid[0] * grid[1])
		return;
	fprintf(stderr, "%u processes are no grid of %u x %u\n", job.ranks, grid[0], grid[1]);
	exit(EXIT_FAILURE);
}

int main(void)
{
	struct tofu_boot *boot;
	unsigned int wrong = 0;

	grid_find();
	check(tofu_boot_join(TIMEOUT, why, &boot), "tofu_boot_join");
	check(utofu_create_vcq(0, 0, &vcq), "utofu_create_vcq");
	check(utofu_reg_mem_with_stag(vcq, cell, sizeof(cell), 0, 0, &stadd),
	      "utofu_reg_mem_with_stag");
	neighbors_find(boot);
	for (unsigned int step = 0; step < STEPS; step++)
		wrong += step_make(step);
	printf("%d steps, %u cells of the halo were wrong\n", STEPS, wrong);
	check(tofu_boot_leave(boot), "tofu_boot_leave");
	utofu_free_vcq(vcq);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
