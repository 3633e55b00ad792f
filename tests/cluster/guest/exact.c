// SPDX-License-Identifier: MIT
/*
 * Some of all that an engine does, for runs on two homes of the controller that
 * have to agree to the nanosecond. What a node does next never depends on which
 * of two things comes first, so its doorbells are the same ones however fast its
 * software is. That of a boot does: a node answers whoever has come. Here nodes
 * begin at a time, and know each other's VCQ IDs.
 *
 * It uses the library that it finds, and nothing else of this tree: tofu-sim
 * runs the same file.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/job.h>
#include <tofu/time.h>
#include <utofu.h>

/* When all have registered their memory, and when all have linked their gates */
#define BEGIN_NS 50000000
#define LINKED_NS 80000000
#define TNIS_MAX 6
#define COMPONENT 1
#define STAG 40
#define BYTES (4UL << 20)
#define HALF (BYTES / 2) /* the second one is for others */
#define WORDS HALF
#define IDS (WORDS + 4096)
#define LARGE (1UL << 20)
#define LANES 4
#define BARRIERS 5
#define GATES 4 /* of up to eight nodes */
#define ID_BYTES (GATES * sizeof(utofu_vbg_id_t))
#define DESC_MAX 4096
#define NOTICE \
	(UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)
#define BOTH (NOTICE | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

/* struct queue - a VCQ on each TNI, and that of the node that is put to */
struct queue {
	utofu_vcq_hdl_t vcq;
	utofu_tni_id_t tni;
	char *area;
	utofu_stadd_t stadd;
	utofu_vcq_id_t peer;
	utofu_stadd_t there;
};

static struct queue queue[TNIS_MAX];
static unsigned int lanes;
static struct tofu_job_info job;

static void check(int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, code);
	exit(EXIT_FAILURE);
}

/* ---- Waiting, in an order that is given ---- */

static void take_report(struct queue *q)
{
	void *cbdata;
	int code;

	do {
		code = utofu_poll_tcq(q->vcq, 0, &cbdata);
	} while (code == UTOFU_ERR_NOT_FOUND);
	check(code, "utofu_poll_tcq");
}

static void take_notice(struct queue *q)
{
	struct utofu_mrq_notice notice;
	int code;

	do {
		code = utofu_poll_mrq(q->vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND);
	check(code, "utofu_poll_mrq");
}

static void take(struct queue *q, unsigned int reports, unsigned int notices)
{
	while (reports--)
		take_report(q);
	while (notices--)
		take_notice(q);
}

/* Until a time at which all nodes have come so far */
static void wait_for(uint64_t time)
{
	const uint64_t now = tofu_time();

	if (now >= time) {
		fprintf(stderr, "late: it is %llu ns\n", (unsigned long long)now);
		exit(EXIT_FAILURE);
	}
	check(tofu_compute(time - now), "tofu_compute");
}

/* ---- Parts ---- */

static void puts_alone(struct queue *q)
{
	static const size_t size[] = { 8, 250, 1920, 4097, 20000 };

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		check(utofu_put(q->vcq, q->peer, q->stadd, q->there, size[i], i,
				BOTH, NULL), "utofu_put");
		/* Its own, and that of what comes. */
		take(q, 1, 2);
	}
}

/* More than one command for a doorbell: the engine reads them from the ring. */
static void puts_by_ring(struct queue *q)
{
	char desc[DESC_MAX];
	size_t used = 0;

	for (int i = 0; i < 6; i++) {
		size_t bytes = 0;

		check(utofu_prepare_put(q->vcq, q->peer, q->stadd, q->there,
					300 * i, i, BOTH, desc + used, &bytes),
		      "utofu_prepare_put");
		used += bytes;
	}
	check(utofu_post_toq(q->vcq, desc, used, NULL), "utofu_post_toq");
	take(q, 6, 12);
}

static void gets(struct queue *q)
{
	for (size_t bytes = 16; bytes <= 65536; bytes *= 16)
		check(utofu_get(q->vcq, q->peer, q->stadd, q->there, bytes, 1,
				BOTH, NULL), "utofu_get");
	take(q, 4, 8);
}

static void atomics(struct queue *q)
{
	const utofu_stadd_t word = q->there + WORDS;

	check(utofu_armw8(q->vcq, q->peer, UTOFU_ARMW_OP_ADD, 7, word, 1, BOTH,
			  NULL), "utofu_armw8");
	check(utofu_armw4(q->vcq, q->peer, UTOFU_ARMW_OP_XOR, 7, word + 8, 2,
			  BOTH, NULL), "utofu_armw4");
	check(utofu_cswap8(q->vcq, q->peer, 7, 9, word, 3, BOTH, NULL),
	      "utofu_cswap8");
	take(q, 3, 6);
}

static void strides(struct queue *q)
{
	check(utofu_put_stride(q->vcq, q->peer, q->stadd, q->there + HALF, 256,
			       1024, 12, 1, UTOFU_ONESIDED_FLAG_TCQ_NOTICE,
			       NULL), "utofu_put_stride");
	check(utofu_get_stride(q->vcq, q->peer, q->stadd, q->there + HALF, 2000,
			       4096, 3, 1, UTOFU_ONESIDED_FLAG_TCQ_NOTICE,
			       NULL), "utofu_get_stride");
	check(utofu_put_gap(q->vcq, q->peer, q->stadd, q->there, 9000, 2, BOTH,
			    512, 100, NULL), "utofu_put_gap");
	take(q, 3, 2);
}

static void piggybacks(struct queue *q)
{
	char bytes[32] = "these go in the command itself";

	check(utofu_put_piggyback8(q->vcq, q->peer, 5, q->there + WORDS, 8, 1,
				   BOTH, NULL), "utofu_put_piggyback8");
	check(utofu_put_piggyback(q->vcq, q->peer, bytes, q->there, 32, 2, BOTH,
				  NULL), "utofu_put_piggyback");
	take(q, 2, 4);
}

/* All engines of a node at once, and both ways */
static void large(void)
{
	for (unsigned int i = 0; i < lanes; i++)
		check(utofu_put(queue[i].vcq, queue[i].peer, queue[i].stadd,
				queue[i].there + HALF, LARGE, i, BOTH, NULL),
		      "utofu_put");
	for (unsigned int i = 0; i < lanes; i++)
		take(&queue[i], 1, 2);
}

/* ---- Barriers ---- */

static utofu_vcq_id_t vcq_of(uint32_t rank, utofu_tni_id_t tni)
{
	uint8_t coords[TOFU_JOB_AXES];
	utofu_vcq_id_t id;

	check(tofu_query_rank_coords(rank, coords), "tofu_query_rank_coords");
	check(utofu_construct_vcq_id(coords, tni, 0, COMPONENT, &id),
	      "utofu_construct_vcq_id");
	return id;
}

/* The partner of a step of a butterfly is told our gates, and tells its own. */
static void ids_tell(struct queue *q, utofu_vbg_id_t own[], uint32_t partner)
{
	const utofu_vcq_id_t to = vcq_of(partner, q->tni);
	utofu_stadd_t there;

	check(utofu_query_stadd(to, STAG, &there), "utofu_query_stadd");
	check(utofu_put_piggyback(q->vcq, to, own,
				  there + IDS + job.rank * ID_BYTES, ID_BYTES,
				  1, BOTH, NULL), "utofu_put_piggyback");
}

static void link_step(struct utofu_vbg_setting link[], const utofu_vbg_id_t own[],
		      const utofu_vbg_id_t theirs[], unsigned int step)
{
	link[step].dst_lcl_vbg_id = own[step + 1];
	link[step + 1].src_lcl_vbg_id = own[step];
	link[step].dst_rmt_vbg_id = theirs[step + 1];
	link[step + 1].src_rmt_vbg_id = theirs[step];
}

/* Links the gates of a power of two of nodes; returns the one to start by. */
static utofu_vbg_id_t network(struct queue *q)
{
	struct utofu_vbg_setting link[GATES];
	utofu_vbg_id_t own[GATES] = { 0 };
	unsigned int steps = 0;

	while (1U << steps < job.ranks)
		steps++;
	check(utofu_alloc_vbg(q->tni, steps + 1, 0, own), "utofu_alloc_vbg");
	for (unsigned int i = 0; i <= steps; i++)
		link[i] = (struct utofu_vbg_setting){
			.vbg_id = own[i],
			.src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_path_coords = { UTOFU_PATH_COORD_NULL },
		};
	for (unsigned int i = 0; i < steps; i++)
		ids_tell(q, own, job.rank ^ 1U << i);
	/* With these, all that ever was to come has come. */
	take(q, steps, 2 * steps);
	for (unsigned int i = 0; i < steps; i++) {
		utofu_vbg_id_t theirs[GATES];

		memcpy(theirs, q->area + IDS + (job.rank ^ 1U << i) * ID_BYTES,
		       ID_BYTES);
		link_step(link, own, theirs, i);
	}
	link[steps].dst_lcl_vbg_id = own[0];
	link[0].src_lcl_vbg_id = own[steps];
	check(utofu_set_vbg(link, steps + 1), "utofu_set_vbg");
	return own[0];
}

static void barriers(struct queue *q)
{
	const utofu_vbg_id_t gate = network(q);
	double sum[3] = { 1, 2, 3 };
	int code;

	wait_for(LINKED_NS);
	for (int i = 0; i < BARRIERS; i++) {
		check(utofu_barrier(gate, 0), "utofu_barrier");
		do {
			code = utofu_poll_barrier(gate, 0);
		} while (code == UTOFU_ERR_NOT_COMPLETED);
		check(code, "utofu_poll_barrier");
	}
	check(utofu_reduce_double(gate, UTOFU_REDUCE_OP_BFPSUM, sum, 3, 0),
	      "utofu_reduce_double");
	do {
		code = utofu_poll_reduce_double(gate, 0, sum);
	} while (code == UTOFU_ERR_NOT_COMPLETED);
	check(code, "utofu_poll_reduce_double");
}

/* ---- All of them ---- */

static void queue_open(struct queue *q, utofu_tni_id_t tni)
{
	q->tni = tni;
	q->area = aligned_alloc(65536, BYTES);
	if (!q->area)
		exit(EXIT_FAILURE);
	memset(q->area, 0, BYTES);
	check(utofu_create_vcq_with_cmp_id(tni, COMPONENT, 0, &q->vcq),
	      "utofu_create_vcq_with_cmp_id");
	check(utofu_reg_mem_with_stag(q->vcq, q->area, BYTES, STAG, 0,
				      &q->stadd), "utofu_reg_mem_with_stag");
	q->peer = vcq_of((job.rank + 1) % job.ranks, tni);
	check(utofu_query_stadd(q->peer, STAG, &q->there), "utofu_query_stadd");
}

static void queues_open(void)
{
	utofu_tni_id_t *tnis;
	size_t count;

	check(tofu_query_job(&job), "tofu_query_job");
	check(utofu_get_onesided_tnis(&tnis, &count), "utofu_get_onesided_tnis");
	lanes = count < LANES ? (unsigned int)count : LANES;
	for (unsigned int i = 0; i < lanes; i++)
		queue_open(&queue[i], tnis[i]);
	free(tnis);
}

int main(void)
{
	queues_open();
	wait_for(BEGIN_NS);
	for (unsigned int i = 0; i < lanes; i += 2) {
		puts_alone(&queue[i]);
		puts_by_ring(&queue[i]);
		gets(&queue[i]);
		atomics(&queue[i]);
		strides(&queue[i]);
		piggybacks(&queue[i]);
	}
	large();
	barriers(&queue[0]);
	return EXIT_SUCCESS;
}
