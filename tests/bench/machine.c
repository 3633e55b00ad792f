// SPDX-License-Identifier: MIT
/*
 * All nodes of a machine at work: each puts a block to each of its neighbours
 * along X, Y and Z, then all meet in a barrier, then a word travels along the
 * machine's diameter and back.
 *
 *	tofu-run --shape 2x3x2 ./machine --bytes 64k --verify
 *
 * It is an ordinary uTofu program with one process a node. Every node registers
 * its memory under the same STAGs, through VCQs whose IDs follow from where they
 * are. So no addresses are exchanged, and a node's memory does not depend on the
 * size of the machine.
 *
 * An axis of two nodes has one neighbour, which gets one block: both ways to it
 * are the same for the network. An axis of one node has none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <tofu/boot.h>
#include <tofu/gates.h>
#include <tofu/error.h>
#include <tofu/mem.h>
#include <tofu/job.h>
#include <utofu.h>

#define AXES 3 /* those with neighbours: X, Y, Z */
#define WAYS (2 * AXES)
#define TNIS_MAX 6
#define CMP_ID 0
#define TARGET_STAG 0
#define SOURCE_STAG 1
#define PING_EDATA WAYS
#define PING_WORD UINT64_C(0x1122334455667788)
#define ALIGN 256 /* of regions */
#define PATIENCE 1000 /* empty polls before others get the processor */
#define BLANK_AT ((void *)UINT64_C(0x200000000000))

struct options {
	uint64_t bytes;
	unsigned int tnis;
	unsigned int timeout;
	int verify;
	int blank;
	int json;
};

/**
 * struct way - a direction in which blocks travel: 2 * axis, plus 1 if down
 * @number: of the direction; also the edata, and the slice of the target
 * @tni:    on both sides
 * @from, @to: nodes before and behind this one, and their VCQs
 * @lcl, @rmt: STADDs of the source and of the target, on every node
 * @came:   the block is here
 */
struct way {
	unsigned int number;
	unsigned int tni;
	uint32_t from, to;
	utofu_vcq_id_t from_id, to_id;
	utofu_stadd_t lcl, rmt;
	bool came;
};

/**
 * struct results - of all nodes
 * @arrivals: blocks that came
 * @exchange, @barrier: nanoseconds, of the node that took longest
 * @ping:     nanoseconds there and back
 * @wrong:    nodes where something was wrong
 */
struct results {
	uint64_t arrivals;
	uint64_t exchange;
	uint64_t barrier;
	uint64_t ping;
	uint64_t wrong;
};

/**
 * struct node - this process
 * @slice:  from a block of the target to the next, bytes
 * @target: WAYS slices
 * @source: the same if contents are verified, else one slice
 * @reports: puts that have left
 * @came:   blocks that have arrived
 * @wrong:  something was, and was said
 * @why:    of the boot
 */
struct node {
	struct options options;
	struct tofu_job_info job;
	uint8_t at[TOFU_JOB_AXES];
	struct tofu_boot *boot;
	struct tofu_gates *gates;
	utofu_vbg_id_t gate;
	unsigned int tnis;
	utofu_vcq_hdl_t vcq[TNIS_MAX];
	unsigned int ways;
	struct way way[WAYS];
	uint64_t slice;
	unsigned char *target;
	unsigned char *source;
	unsigned int reports;
	unsigned int came;
	bool wrong;
	char why[TOFU_BOOT_WHY];
};

/* ---- Failing ---- */

__attribute__((format(printf, 2, 3)))
static void say(const struct node *node, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "machine: node %u: %s\n", node->job.rank, text);
}

static void must(const struct node *node, int code, const char *what)
{
	if (code == UTOFU_SUCCESS)
		return;
	say(node, "%s: %s", what, tofu_error_text(code));
	exit(EXIT_FAILURE);
}

/* The boot's sentences name the node. */
static void boot_must(const struct node *node, int code)
{
	if (code == UTOFU_SUCCESS)
		return;
	fprintf(stderr, "machine: %s\n", node->why);
	exit(EXIT_FAILURE);
}

/* ---- Waiting ---- */

/* Empty polls, and when the clock was first read */
struct wait {
	uint64_t polls;
	uint64_t began;
};

/* A home with a time of its own answers this call with that time. */
static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Called after an empty poll; ends the process when it takes too long. */
static void wait_more(const struct node *node, struct wait *wait,
		      const char *what)
{
	if (++wait->polls % PATIENCE)
		return;
	if (!wait->began)
		wait->began = now();
	if (now() - wait->began < node->options.timeout * UINT64_C(1000000000)) {
		sched_yield();
		return;
	}
	say(node, "waited %u s for %s: %u of %u puts have left, %u of %u blocks have come",
	    node->options.timeout, what, node->reports, node->ways, node->came,
	    node->ways);
	exit(EXIT_FAILURE);
}

/* ---- All nodes ---- */

static void barrier(struct node *node)
{
	struct wait wait = { 0 };
	int code;

	must(node, utofu_barrier(node->gate, 0), "utofu_barrier");
	while ((code = utofu_poll_barrier(node->gate, 0)) ==
	       UTOFU_ERR_NOT_COMPLETED)
		wait_more(node, &wait, "a barrier");
	must(node, code, "utofu_poll_barrier");
}

static uint64_t reduced(struct node *node, enum utofu_reduce_op op,
			uint64_t value)
{
	struct wait wait = { 0 };
	int code;

	must(node, utofu_reduce_uint64(node->gate, op, &value, 1, 0),
	     "utofu_reduce_uint64");
	while ((code = utofu_poll_reduce_uint64(node->gate, 0, &value)) ==
	       UTOFU_ERR_NOT_COMPLETED)
		wait_more(node, &wait, "a reduction");
	must(node, code, "utofu_poll_reduce_uint64");
	return value;
}

static void gates_open(struct node *node)
{
	utofu_tni_id_t *tni;
	size_t tnis;

	must(node, utofu_get_barrier_tnis(&tni, &tnis),
	     "utofu_get_barrier_tnis");
	must(node, tnis ? UTOFU_SUCCESS : UTOFU_ERR_NOT_AVAILABLE,
	     "barrier gates");
	must(node, tofu_gates_create(node->boot, tni[0], 0, &node->gates),
	     "tofu_gates_create");
	must(node, tofu_gates_id(node->gates, &node->gate), "tofu_gates_id");
	free(tni);
}

/* ---- Places ---- */

static uint32_t node_at(const struct node *node, const uint8_t at[])
{
	uint32_t number = 0;

	for (int i = 0; i < TOFU_JOB_AXES; i++)
		number = number * node->job.shape[i] + at[i];
	return number;
}

static utofu_vcq_id_t vcq_at(const struct node *node, uint8_t at[],
			     unsigned int tni)
{
	utofu_vcq_id_t id;

	must(node, utofu_construct_vcq_id(at, (utofu_tni_id_t)tni, 0, CMP_ID,
					  &id),
	     "utofu_construct_vcq_id");
	return id;
}

static utofu_stadd_t stadd_at(const struct node *node, utofu_vcq_id_t id,
			      unsigned int stag, uint64_t offset)
{
	utofu_stadd_t stadd;

	must(node, utofu_query_stadd(id, stag, &stadd), "utofu_query_stadd");
	return stadd + offset;
}

/* The neighbour, up or down an axis */
static void step(const struct node *node, unsigned int way, uint8_t at[])
{
	unsigned int axis = way / 2, size = node->job.shape[axis];

	memcpy(at, node->at, sizeof(node->at));
	at[axis] = (uint8_t)((at[axis] + (way % 2 ? size - 1 : 1)) % size);
}

static bool way_exists(const struct node *node, unsigned int way)
{
	return node->job.shape[way / 2] > (way % 2 ? 2 : 1);
}

static uint64_t source_offset(const struct node *node, unsigned int way)
{
	return node->options.verify ? way * node->slice : 0;
}

static void way_find(struct node *node, struct way *way, unsigned int number)
{
	uint8_t at[TOFU_JOB_AXES];

	way->number = number;
	way->tni = (unsigned int)(way - node->way) % node->tnis;
	step(node, number, at);
	way->to = node_at(node, at);
	way->to_id = vcq_at(node, at, way->tni);
	step(node, number ^ 1, at);
	way->from = node_at(node, at);
	way->from_id = vcq_at(node, at, way->tni);
	way->lcl = stadd_at(node, way->from_id, SOURCE_STAG,
			    source_offset(node, number));
	way->rmt = stadd_at(node, way->to_id, TARGET_STAG,
			    number * node->slice);
}

static void ways_find(struct node *node)
{
	for (unsigned int i = 0; i < WAYS; i++)
		if (way_exists(node, i))
			way_find(node, &node->way[node->ways++], i);
}

/* ---- Memory ---- */

static void *memory_map(void *at, size_t size, int flags)
{
	return mmap(at, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

/*
 * Blank memory is never touched, so nodes of one process can share it: there
 * are fewer mappings in a process than nodes in a large machine.
 */
static void *memory_get(const struct options *options, size_t size)
{
	void *memory;

	if (options->blank) {
		memory = memory_map(BLANK_AT, size, MAP_FIXED_NOREPLACE);
		if (memory != MAP_FAILED)
			return memory;
		if (errno == EEXIST)
			return BLANK_AT;
	}
	memory = memory_map(NULL, size, 0);
	/* Memory of all nodes of a machine is much for one process. */
	if (memory != MAP_FAILED)
		madvise(memory, size, MADV_HUGEPAGE);
	return memory;
}

static void memory_open(struct node *node)
{
	uint64_t bytes = node->options.bytes;
	unsigned int sources = node->options.verify ? WAYS : 1;

	node->slice = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	node->target = memory_get(&node->options,
				  (WAYS + sources) * node->slice);
	must(node, node->target == MAP_FAILED ? UTOFU_ERR_OUT_OF_MEMORY : 0,
	     "mmap");
	node->source = node->target + WAYS * node->slice;
}

static void region_open(const struct node *node, unsigned int tni,
			unsigned char *memory, unsigned int slices,
			unsigned int stag)
{
	unsigned long flags = node->options.blank ? TOFU_REG_MEM_FLAG_BLANK : 0;
	utofu_stadd_t stadd;

	must(node, utofu_reg_mem_with_stag(node->vcq[tni], memory,
					   slices * node->slice, stag, flags,
					   &stadd),
	     "utofu_reg_mem_with_stag");
}

/* ---- Queues ---- */

static void queue_open(struct node *node, unsigned int tni)
{
	utofu_vcq_id_t id;

	must(node, utofu_create_vcq_with_cmp_id((utofu_tni_id_t)tni, CMP_ID, 0,
						&node->vcq[tni]),
	     "utofu_create_vcq_with_cmp_id");
	must(node, utofu_query_vcq_id(node->vcq[tni], &id),
	     "utofu_query_vcq_id");
	must(node, id == vcq_at(node, node->at, tni) ? UTOFU_SUCCESS :
						      UTOFU_ERR_USED,
	     "queue 0 of a TNI");
	region_open(node, tni, node->target, WAYS, TARGET_STAG);
	region_open(node, tni, node->source, node->options.verify ? WAYS : 1,
		    SOURCE_STAG);
}

static void tnis_find(struct node *node)
{
	struct utofu_onesided_caps *caps;
	utofu_tni_id_t *tni;
	size_t tnis;

	must(node, utofu_get_onesided_tnis(&tni, &tnis),
	     "utofu_get_onesided_tnis");
	free(tni);
	node->tnis = tnis < node->options.tnis ? (unsigned int)tnis :
						 node->options.tnis;
	must(node, utofu_query_onesided_caps(0, &caps),
	     "utofu_query_onesided_caps");
	if (node->options.bytes <= caps->max_putget_size)
		return;
	say(node, "a put has at most %zu bytes", caps->max_putget_size);
	exit(EXIT_FAILURE);
}

/* ---- Contents ---- */

/* Of eight bytes of a block; all bits depend on all that it is made of. */
static uint64_t pattern(uint32_t node, unsigned int way, uint64_t index)
{
	uint64_t x = ((uint64_t)node << 3 | way) << 32 ^ index;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static size_t upto_8(uint64_t bytes)
{
	return bytes < 8 ? (size_t)bytes : 8;
}

static void sources_fill(struct node *node)
{
	uint64_t bytes = node->options.bytes;

	for (unsigned int i = 0; i < node->ways; i++) {
		unsigned int way = node->way[i].number;
		unsigned char *to = node->source + source_offset(node, way);

		for (uint64_t at = 0; at < bytes; at += 8) {
			uint64_t word = pattern(node->job.rank, way, at / 8);

			memcpy(to + at, &word, upto_8(bytes - at));
		}
	}
}

static void byte_say(struct node *node, const struct way *way, uint64_t at,
		     const unsigned char *came, uint64_t word)
{
	const unsigned char *want = (const unsigned char *)&word;
	unsigned int i = 0;

	while (came[i] == want[i])
		i++;
	say(node, "byte %" PRIu64 " of the block from node %u, edata %u, is 0x%02x; 0x%02x was expected",
	    at + i, way->from, way->number, came[i], want[i]);
	node->wrong = true;
}

static void block_verify(struct node *node, const struct way *way)
{
	const unsigned char *block = node->target + way->number * node->slice;
	uint64_t bytes = node->options.bytes;

	for (uint64_t at = 0; at < bytes; at += 8) {
		uint64_t word = pattern(way->from, way->number, at / 8);

		if (!memcmp(block + at, &word, upto_8(bytes - at)))
			continue;
		byte_say(node, way, at, block + at, word);
		return;
	}
}

/* ---- The exchange ---- */

/* The block that a notice should be of, or NULL */
static struct way *way_of(struct node *node, uint64_t edata)
{
	for (unsigned int i = 0; i < node->ways; i++)
		if (node->way[i].number == edata)
			return &node->way[i];
	return NULL;
}

static void arrival_wrong(struct node *node, unsigned int tni,
			  const struct utofu_mrq_notice *notice,
			  const struct way *way)
{
	node->wrong = true;
	if (!way)
		say(node, "on TNI %u came a notice of type %u from VCQ 0x%" PRIx64 " with edata %" PRIu64 ", which no neighbour sends",
		    tni, notice->notice_type, notice->vcq_id, notice->edata);
	else if (way->came)
		say(node, "the block from node %u, edata %u, came twice",
		    way->from, way->number);
	else
		say(node, "from node %u, edata %u, came type %u on TNI %u from VCQ 0x%" PRIx64 ", 0x%" PRIx64 " to 0x%" PRIx64 "; expected were type %u on TNI %u from VCQ 0x%" PRIx64 ", 0x%" PRIx64 " to 0x%" PRIx64,
		    way->from, way->number, notice->notice_type, tni,
		    notice->vcq_id, notice->lcl_stadd, notice->rmt_stadd,
		    UTOFU_MRQ_TYPE_RMT_PUT, way->tni, way->from_id, way->lcl,
		    way->rmt);
}

/* The length is not in a notice: contents are verified to the last byte. */
static void arrival(struct node *node, unsigned int tni,
		    const struct utofu_mrq_notice *notice)
{
	struct way *way = way_of(node, notice->edata);

	if (!way || way->came || way->tni != tni ||
	    notice->notice_type != UTOFU_MRQ_TYPE_RMT_PUT ||
	    notice->vcq_id != way->from_id || notice->lcl_stadd != way->lcl ||
	    notice->rmt_stadd != way->rmt) {
		arrival_wrong(node, tni, notice, way);
		return;
	}
	way->came = true;
	node->came++;
}

static bool queue_poll(struct node *node, unsigned int tni)
{
	struct utofu_mrq_notice notice;
	bool found = false;
	void *cbdata;
	int code = utofu_poll_tcq(node->vcq[tni], 0, &cbdata);

	if (code != UTOFU_ERR_NOT_FOUND) {
		must(node, code, "a put");
		node->reports++;
		found = true;
	}
	code = utofu_poll_mrq(node->vcq[tni], 0, &notice);
	if (code == UTOFU_ERR_NOT_FOUND)
		return found;
	must(node, code, "a block");
	arrival(node, tni, &notice);
	return true;
}

#define PUT_FLAGS (UTOFU_ONESIDED_FLAG_TCQ_NOTICE | \
		   UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

/* Return: nanoseconds */
static uint64_t exchange(struct node *node)
{
	struct wait wait = { 0 };
	uint64_t began = now();

	for (unsigned int i = 0; i < node->ways; i++) {
		const struct way *way = &node->way[i];

		must(node, utofu_put(node->vcq[way->tni], way->to_id, way->lcl,
				     way->rmt, node->options.bytes,
				     way->number, PUT_FLAGS, NULL),
		     "utofu_put");
	}
	while (node->reports < node->ways || node->came < node->ways) {
		bool found = false;

		for (unsigned int tni = 0; tni < node->tnis; tni++)
			found |= queue_poll(node, tni);
		if (!found)
			wait_more(node, &wait, "the exchange");
	}
	return now() - began;
}

/* ---- Along the diameter ---- */

/* Return: how many hops it is away */
static unsigned int far_find(const struct node *node, uint8_t at[])
{
	unsigned int hops = 0;

	for (int i = 0; i < TOFU_JOB_AXES; i++)
		hops += at[i] = (uint8_t)(node->job.shape[i] / 2);
	return hops;
}

static void ping_send(const struct node *node, utofu_vcq_id_t to)
{
	struct wait wait = { 0 };
	void *cbdata;
	int code;

	must(node, utofu_put_piggyback8(node->vcq[0], to, PING_WORD,
					stadd_at(node, to, TARGET_STAG, 0),
					sizeof(uint64_t), PING_EDATA, PUT_FLAGS,
					NULL),
	     "utofu_put_piggyback8");
	while ((code = utofu_poll_tcq(node->vcq[0], 0, &cbdata)) ==
	       UTOFU_ERR_NOT_FOUND)
		wait_more(node, &wait, "a ping to leave");
	must(node, code, "a ping");
}

static void ping_wait(struct node *node, utofu_vcq_id_t from)
{
	struct utofu_mrq_notice notice;
	struct wait wait = { 0 };
	uint64_t word = PING_WORD;
	int code;

	while ((code = utofu_poll_mrq(node->vcq[0], 0, &notice)) ==
	       UTOFU_ERR_NOT_FOUND)
		wait_more(node, &wait, "a ping");
	must(node, code, "a ping");
	if (!node->options.blank)
		memcpy(&word, node->target, sizeof(word));
	if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT &&
	    notice.vcq_id == from && notice.edata == PING_EDATA &&
	    word == PING_WORD)
		return;
	say(node, "0x%" PRIx64 " came from VCQ 0x%" PRIx64 " with edata %" PRIu64 "; the ping 0x%" PRIx64 " from VCQ 0x%" PRIx64 " with edata %d was expected",
	    word, notice.vcq_id, notice.edata, PING_WORD, from, PING_EDATA);
	node->wrong = true;
}

/* Return: nanoseconds, on node 0 */
static uint64_t ping(struct node *node)
{
	uint8_t at[TOFU_JOB_AXES], zero[TOFU_JOB_AXES] = { 0 };
	utofu_vcq_id_t near = vcq_at(node, zero, 0), far;
	uint64_t began = now();
	uint32_t far_node;

	far_find(node, at);
	far_node = node_at(node, at);
	far = vcq_at(node, at, 0);
	if (!far_node)
		return 0;
	if (node->job.rank == 0) {
		ping_send(node, far);
		ping_wait(node, far);
	} else if (node->job.rank == far_node) {
		ping_wait(node, near);
		ping_send(node, near);
	}
	return now() - began;
}

/* ---- All together ---- */

static void node_open(struct node *node)
{
	must(node, tofu_query_job(&node->job), "tofu_query_job");
	if (node->job.ranks != node->job.nodes) {
		say(node, "%u processes on %u nodes: start one on each",
		    node->job.ranks, node->job.nodes);
		exit(EXIT_FAILURE);
	}
	must(node, tofu_query_rank_coords(node->job.rank, node->at),
	     "tofu_query_rank_coords");
	boot_must(node, tofu_boot_join(node->options.timeout, node->why,
				       &node->boot));
	tnis_find(node);
	gates_open(node);
	/* From here on nodes meet at the gates. Its memory is used again. */
	boot_must(node, tofu_boot_leave(node->boot));
	memory_open(node);
	for (unsigned int tni = 0; tni < node->tnis; tni++)
		queue_open(node, tni);
	ways_find(node);
	if (node->options.verify)
		sources_fill(node);
}

static struct results work(struct node *node)
{
	struct results results;
	uint64_t took;

	/* All have registered what others put to. */
	barrier(node);
	took = exchange(node);
	if (node->options.verify)
		for (unsigned int i = 0; i < node->ways; i++)
			block_verify(node, &node->way[i]);
	results.arrivals = reduced(node, UTOFU_REDUCE_OP_SUM, node->came);
	results.exchange = reduced(node, UTOFU_REDUCE_OP_MAX, took);
	/* All begin it at the same time, as they have just met. */
	took = now();
	barrier(node);
	results.barrier = reduced(node, UTOFU_REDUCE_OP_MAX, now() - took);
	results.ping = ping(node);
	results.wrong = reduced(node, UTOFU_REDUCE_OP_SUM, node->wrong);
	return results;
}

static void node_close(struct node *node)
{
	/* Nobody frees what others still put to. */
	barrier(node);
	tofu_gates_free(node->gates);
	for (unsigned int tni = 0; tni < node->tnis; tni++)
		utofu_free_vcq(node->vcq[tni]);
}

static void report(const struct node *node, const struct results *results)
{
	uint8_t at[TOFU_JOB_AXES];
	unsigned int hops = far_find(node, at);
	const uint16_t *s = node->job.shape;
	int json = node->options.json;

	printf(json ? "{\"nodes\": %u, \"shape\": \"%ux%ux%ux%ux%ux%u\", " :
		      "nodes          %12u  %ux%ux%ux%ux%ux%u\n",
	       node->job.nodes, s[0], s[1], s[2], s[3], s[4], s[5]);
	printf(json ? "\"bytes\": %" PRIu64 ", \"ways\": %u, \"tnis\": %u, " :
		      "bytes of a put %12" PRIu64 "  to each of %u neighbours, through %u TNIs\n",
	       node->options.bytes, node->ways, node->tnis);
	printf(json ? "\"arrivals\": %" PRIu64 ", \"exchange_ns\": %" PRIu64 ", " :
		      "arrivals       %12" PRIu64 "\nexchange       %12" PRIu64 "  ns\n",
	       results->arrivals, results->exchange);
	printf(json ? "\"barrier_ns\": %" PRIu64 ", \"ping_ns\": %" PRIu64 ", \"hops\": %u, " :
		      "barrier        %12" PRIu64 "  ns\nping           %12" PRIu64 "  ns, %u hops and back\n",
	       results->barrier, results->ping, hops);
	printf(json ? "\"wrong_nodes\": %" PRIu64 "}\n" :
		      "wrong nodes    %12" PRIu64 "\n",
	       results->wrong);
}

/* ---- Options ---- */

static const char usage[] =
	"usage: machine [OPTION]...\n"
	"Each node of the machine puts a block to each of its neighbours along X, Y and\n"
	"Z; then come a barrier of all, and a ping along the diameter. Start one\n"
	"process on each node. An axis of two nodes has one neighbour, of one none.\n\n"
	"  -b, --bytes N     of a block, with k or M after it (default 1M)\n"
	"  -t, --tnis N      through which they are put, 1 to 6 (default 4)\n"
	"      --verify      compare every byte that came\n"
	"      --blank       memory without contents: only times are of interest\n"
	"      --json        print an object instead of a table\n"
	"      --timeout S   seconds that a wait may take (default 60)\n"
	"  -h, --help        print this and exit\n";

static void usage_exit(const char *why)
{
	fprintf(stderr, "machine: %s: see machine --help\n", why);
	exit(2);
}

static uint64_t number(const char *text, uint64_t max)
{
	uint64_t scale, value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	scale = *end == 'k' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
	end += scale > 1;
	if (*text < '0' || *text > '9' || *end || errno || !value ||
	    value > max / scale)
		usage_exit("an option has a wrong number");
	return value * scale;
}

static struct options options_read(int argc, char **argv)
{
	struct options options = { .bytes = 1 << 20, .tnis = 4, .timeout = 60 };
	const struct option names[] = {
		{ "bytes", required_argument, NULL, 'b' },
		{ "tnis", required_argument, NULL, 't' },
		{ "verify", no_argument, &options.verify, 1 },
		{ "blank", no_argument, &options.blank, 1 },
		{ "json", no_argument, &options.json, 1 },
		{ "timeout", required_argument, NULL, 'T' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "b:t:h", names, NULL)) != -1) {
		switch (option) {
		case 'b':
			options.bytes = number(optarg, UINT32_MAX);
			break;
		case 't':
			options.tnis = (unsigned int)number(optarg, TNIS_MAX);
			break;
		case 0:
			break;
		case 'T':
			options.timeout = (unsigned int)number(optarg, 86400);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_SUCCESS);
		default:
			usage_exit("wrong options");
		}
	}
	if (optind < argc)
		usage_exit("there are no arguments");
	if (options.blank && options.verify)
		usage_exit("--blank leaves nothing for --verify");
	return options;
}

int main(int argc, char **argv)
{
	struct node node = { .options = options_read(argc, argv) };
	struct results results;

	node_open(&node);
	results = work(&node);
	if (node.job.rank == 0)
		report(&node, &results);
	node_close(&node);
	return results.wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
