// SPDX-License-Identifier: MIT
/*
 * Halo exchange in 2-D: the nodes are a grid, as wide and high as the machine's
 * X and Y axes. Each has N x N cells of a periodic field and a halo one cell
 * wide around them, into which its four neighbours put their edges. Rows are
 * contiguous; columns are not, and go in one strided put each.
 *
 *	tofu-run --shape 2x3 ./halo-2d
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <utofu.h>

#define N 8
#define STEPS 50
#define NOTICES (2 + 2 * N) /* a step: of two rows, and each cell of two columns */
#define FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

enum { WEST, EAST, SOUTH, NORTH, SIDES };

/*
 * Two fields, used in turn. Nobody writes over what we still look at: a
 * neighbour sends for step t + 2 when it has our edge of t + 1, and that we sent
 * when we were through with t.
 */
static _Alignas(256) uint64_t cell[2][N + 2][N + 2];
static unsigned int arrived[2]; /* notices for each of them */

static utofu_vcq_hdl_t vcq;
static utofu_stadd_t stadd; /* of cell, here and on all other nodes */
static utofu_vcq_id_t neighbor[SIDES];
static unsigned int at[2], grid[2] = { 1, 1 };

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
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

/* A put to a corner, which nobody needs: these codes say "not ready yet". */
static void ready_await(utofu_vcq_id_t node)
{
	struct utofu_mrq_notice notice;
	int code;

	do {
		check(utofu_put(vcq, node, stadd, stadd, sizeof(cell[0][0][0]), 0,
				UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL), "utofu_put");
		do {
			code = notice_poll(&notice);
		} while (code == UTOFU_ERR_NOT_FOUND ||
			 notice.notice_type != UTOFU_MRQ_TYPE_LCL_PUT);
	} while (code == UTOFU_ERR_MRQ_PEER || code == UTOFU_ERR_MRQ_RMT_STADD);
	check(code, "a neighbour");
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

/* Known without asking anybody: the first VCQ of a node on a TNI is in queue 0. */
static void neighbor_find(int side, unsigned int x, unsigned int y)
{
	uint8_t coords[6] = { (uint8_t)(x % grid[0]), (uint8_t)(y % grid[1]) };

	check(utofu_construct_vcq_id(coords, 0, 0, 0, &neighbor[side]), "utofu_construct_vcq_id");
}

int main(void)
{
	const char *shape = getenv("TOFU_SHAPE");
	unsigned int wrong = 0;
	uint8_t coords[6];

	if (!shape || sscanf(shape, "%ux%u", &grid[0], &grid[1]) < 1) {
		fprintf(stderr, "TOFU_SHAPE is not set: start this with tofu-run\n");
		return EXIT_FAILURE;
	}
	alarm(60); /* for neighbours that never come */
	check(utofu_query_my_coords(coords), "utofu_query_my_coords");
	at[0] = coords[0];
	at[1] = coords[1];
	check(utofu_create_vcq_with_cmp_id(0, 0, 0, &vcq), "utofu_create_vcq_with_cmp_id");
	check(utofu_reg_mem_with_stag(vcq, cell, sizeof(cell), 0, 0, &stadd),
	      "utofu_reg_mem_with_stag");
	neighbor_find(WEST, at[0] + grid[0] - 1, at[1]);
	neighbor_find(EAST, at[0] + 1, at[1]);
	neighbor_find(SOUTH, at[0], at[1] + grid[1] - 1);
	neighbor_find(NORTH, at[0], at[1] + 1);
	for (int side = 0; side < SIDES; side++)
		ready_await(neighbor[side]);
	for (unsigned int step = 0; step < STEPS; step++)
		wrong += step_make(step);
	printf("%d steps, %u cells of the halo were wrong\n", STEPS, wrong);
	utofu_free_vcq(vcq);
	return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
