// SPDX-License-Identifier: MIT
/*
 * What the library's calls cost on two nodes in virtual time: the mean of many
 * calls, in nanoseconds. scripts/tofu-costs makes a table of them, and compares
 * virtual machines with tofu-sim.
 *
 * Nothing waits for the network in a measurement: before it, both nodes compute
 * for longer than all that is under way takes.
 */
#include <sched.h>
#include <string.h>
#include <time.h>

#include <tofu/gates.h>
#include <tofu/neighbor.h>
#include <tofu/time.h>

#include "common/wait.h"
#include "costs.h"

/* ---- Clocks ---- */

static void clocks(struct test *test)
{
	struct meter counter = { 0 }, clock = { 0 }, yield = { 0 };
	struct timespec t;

	rounds_begin(test);
	while (round_next(test)) {
		start(test);
		stop(test, &counter);
		start(test);
		clock_gettime(CLOCK_MONOTONIC, &t);
		stop(test, &clock);
		start(test);
		sched_yield();
		stop(test, &yield);
	}
	if (!test->clock) {
		test->clock = meter_quartile(&counter);
		report(test, "counter", &counter, 1);
		return;
	}
	report(test, "clock", &clock, 1);
	report(test, "yield", &yield, 1);
}

/* ---- Posts ---- */

static int put(struct test *test, unsigned long flags)
{
	return utofu_put(test->vcq, test->peer, test->stadd, test->stadd, 64, 0,
			 flags, NULL);
}

static int piggyback8(struct test *test, unsigned long flags)
{
	return utofu_put_piggyback8(test->vcq, test->peer, 1, test->stadd, 8, 0,
				    flags, NULL);
}

static int get(struct test *test, unsigned long flags)
{
	return utofu_get(test->vcq, test->peer, test->stadd, test->stadd, 64, 0,
			 flags, NULL);
}

static int armw(struct test *test, unsigned long flags)
{
	return utofu_armw8(test->vcq, test->peer, UTOFU_ARMW_OP_ADD, 1,
			   test->stadd, 0, flags, NULL);
}

static int piggyback(struct test *test, unsigned long flags)
{
	return utofu_put_piggyback(test->vcq, test->peer, test->area,
				   test->stadd, 32, 0, flags, NULL);
}

static int cswap(struct test *test, unsigned long flags)
{
	return utofu_cswap8(test->vcq, test->peer, 1, 2, test->stadd, 0, flags,
			    NULL);
}

static int stride(struct test *test, unsigned long flags)
{
	return utofu_put_stride(test->vcq, test->peer, test->stadd, test->stadd,
				64, 128, 4, 0, flags, NULL);
}

static const struct kind {
	const char *name;
	int (*post)(struct test *test, unsigned long flags);
} kinds[] = {
	{ "put", put },
	{ "piggyback8", piggyback8 },
	{ "get", get },
	{ "armw", armw },
	{ "piggyback", piggyback },
	{ "cswap", cswap },
	{ "stride", stride },
};

/**
 * struct stream - what a program that posts many commands keeps of them
 * @busy: commands under way
 * @window: how many there may be
 * @next, @peers: index of the next target, and number of targets
 */
struct stream {
	unsigned int busy;
	unsigned int window;
	unsigned int next;
	unsigned int peers;
};

/* Return: whether another command may be posted. */
__attribute__((noinline)) static bool stream_has_room(struct test *test,
						      struct stream *stream)
{
	void *cbdata;

	if (stream->busy < stream->window)
		return true;
	if (!utofu_poll_tcq(test->vcq, 0, &cbdata))
		stream->busy--;
	return stream->busy < stream->window;
}

/* Several commands without a poll, in a loop as programs have it */
static void stream_post(struct test *test, const struct kind *kind)
{
	struct stream stream = { .window = BURST + 1, .peers = 2 };

	for (int i = 0; i < BURST && stream_has_room(test, &stream); i++) {
		int code = kind->post(test, TCQ);

		if (code && code != UTOFU_ERR_BUSY)
			check(code, kind->name);
		stream.busy += !code;
		if (++stream.next == stream.peers)
			stream.next = 0;
	}
}

/*
 * A command alone, which is stored into the page, up to its doorbell; and one
 * of several, with what a program does between them.
 */
static void kind_measure(struct test *test, const struct kind *kind)
{
	struct meter before = { 0 }, more = { 0 };
	char name[32];

	rounds_begin(test);
	while (round_next(test)) {
		uint64_t doorbell;

		drain(test);
		start(test);
		check(kind->post(test, TCQ), kind->name);
		settle();
		doorbell = tofu_stamp(&test->stamps, TOFU_CQ_TX_DOORBELL) -
			   test->began;
		drain(test);
		doorbell -= test->reading;
		meter_add(test, &before, doorbell);
		check(kind->post(test, TCQ), kind->name);
		start(test);
		stream_post(test, kind);
		stop(test, &more);
	}
	drain(test);
	snprintf(name, sizeof(name), "%s-before", kind->name);
	report(test, name, &before, 1);
	snprintf(name, sizeof(name), "%s-more", kind->name);
	report(test, name, &more, BURST);
}

static void posts(struct test *test)
{
	utofu_cq_id_t cq;
	utofu_tni_id_t tni;
	uint8_t coords[6];
	char *why = NULL;
	uint16_t extra;

	check(utofu_query_vcq_info(test->guest.id[test->guest.machine.node],
				   coords, &tni, &cq, &extra),
	      "utofu_query_vcq_info");
	if (tofu_stamps_open(&test->stamps, test->vcq, tni, cq, &why))
		errx(EXIT_FAILURE, "%s", why ? why : "stamps");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		kind_measure(test, &kinds[i]);
	tofu_stamps_close(&test->stamps);
}

static void prepared(struct test *test)
{
	struct meter prepare = { 0 }, one = { 0 }, more = { 0 };
	char desc[BURST * 64];
	size_t bytes, first;

	rounds_begin(test);
	while (round_next(test)) {
		bytes = 0;
		start(test);
		for (int i = 0; i < BURST; i++) {
			size_t size = sizeof(desc) - bytes;

			utofu_prepare_put(test->vcq, test->peer, test->stadd,
					  test->stadd, 64, 0,
					  i == BURST - 1 ? TCQ : 0,
					  desc + bytes, &size);
			bytes += size;
		}
		stop(test, &prepare);
		first = bytes / BURST;
		drain(test);
		put(test, TCQ);
		start(test);
		utofu_post_toq(test->vcq, desc, first, NULL);
		stop(test, &one);
		drain(test);
		put(test, TCQ);
		start(test);
		utofu_post_toq(test->vcq, desc, bytes, NULL);
		stop(test, &more);
	}
	drain(test);
	report(test, "prepare", &prepare, BURST);
	report(test, "prepared-one", &one, 1);
	report(test, "prepared-burst", &more, 1);
}

/* ---- Polls ---- */

static void tcq(struct test *test)
{
	struct meter empty = { 0 }, found = { 0 }, last = { 0 };
	void *cbdata;

	rounds_begin(test);
	while (round_next(test)) {
		drain(test);
		start(test);
		for (unsigned int i = 0; i < test->polls; i++)
			utofu_poll_tcq(test->vcq, 0, &cbdata);
		stop(test, &empty);
		for (int i = 0; i < BURST; i++)
			put(test, TCQ);
		settle();
		start(test);
		for (int i = 0; i < BURST; i++)
			utofu_poll_tcq(test->vcq, 0, &cbdata);
		stop(test, &found);
		start(test);
		utofu_poll_tcq(test->vcq, 0, &cbdata);
		stop(test, &last);
	}
	report(test, "tcq-empty", &empty, test->polls);
	report(test, "tcq-found", &found, BURST);
	report(test, "tcq-last", &last, 1);
}

static void mrq(struct test *test)
{
	struct utofu_mrq_notice notice;
	struct meter empty = { 0 }, found = { 0 }, last = { 0 };

	rounds_begin(test);
	while (round_next(test)) {
		drain(test);
		start(test);
		for (unsigned int i = 0; i < test->polls; i++)
			utofu_poll_mrq(test->vcq, 0, &notice);
		stop(test, &empty);
		for (int i = 0; i < BURST; i++)
			put(test, MRQ);
		settle();
		start(test);
		for (int i = 0; i < BURST; i++)
			utofu_poll_mrq(test->vcq, 0, &notice);
		stop(test, &found);
		start(test);
		utofu_poll_mrq(test->vcq, 0, &notice);
		stop(test, &last);
	}
	report(test, "mrq-empty", &empty, test->polls);
	report(test, "mrq-found", &found, BURST);
	report(test, "mrq-last", &last, 1);
}

/* ---- Barriers ---- */

/* Node 1 comes later, so node 0 polls in vain. */
static void barriers(struct test *test)
{
	struct meter begin = { 0 }, empty = { 0 }, ended = { 0 }, boot = { 0 };
	struct tofu_gates *gates;
	struct tofu_wait wait;
	utofu_vbg_id_t gate;

	check(tofu_gates_create(test->guest.world->boot, 0, 0, &gates),
	      "tofu_gates_create");
	check(tofu_gates_id(gates, &gate), "tofu_gates_id");
	rounds_begin(test);
	while (round_next(test)) {
		guest_barrier(&test->guest);
		if (test->guest.machine.node)
			settle();
		start(test);
		utofu_barrier(gate, 0);
		stop(test, &begin);
		if (!test->guest.machine.node) {
			start(test);
			wait = tofu_wait_keen(GUEST_TIMEOUT);
			while (utofu_poll_barrier(gate, 0) &&
			       tofu_wait_more(&wait) &&
			       wait.polls < test->polls)
				;
			stop(test, &empty);
		}
		settle();
		settle();
		start(test);
		check(utofu_poll_barrier(gate, 0), "utofu_poll_barrier");
		stop(test, &ended);
	}
	tofu_gates_free(gates);
	report(test, "barrier-start", &begin, 1);
	report(test, "barrier-empty", &empty, test->polls);
	report(test, "barrier-ended", &ended, 1);
	rounds_begin(test);
	while (round_next(test)) {
		/* In each phase of the other's polls */
		check(tofu_compute((uint64_t)(test->round + WARMUP) * 37 %
				   256),
		      "tofu_compute");
		start(test);
		guest_barrier(&test->guest);
		stop(test, &boot);
	}
	report(test, "boot-barrier", &boot, 1);
}

/* ---- Control path ---- */

static void control(struct test *test)
{
	struct meter make = { 0 }, unmake = { 0 };
	struct meter reg[2] = { 0 }, dereg[2] = { 0 };
	char *area = aligned_alloc(PAGE, AREA);

	if (!area)
		err(EXIT_FAILURE, "memory");
	memset(area, 1, AREA);
	rounds_begin(test);
	while (round_next(test)) {
		utofu_stadd_t stadd;
		utofu_vcq_hdl_t vcq;

		start(test);
		check(utofu_create_vcq(1, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq),
		      "utofu_create_vcq");
		stop(test, &make);
		/* The first region of a queue takes longer. */
		check(utofu_reg_mem(vcq, area, PAGE, 0, &stadd),
		      "utofu_reg_mem");
		check(utofu_dereg_mem(vcq, stadd, 0), "utofu_dereg_mem");
		for (int i = 0; i < 2; i++) {
			start(test);
			check(utofu_reg_mem(vcq, area, i ? AREA : PAGE, 0,
					    &stadd),
			      "utofu_reg_mem");
			stop(test, &reg[i]);
			start(test);
			check(utofu_dereg_mem(vcq, stadd, 0),
			      "utofu_dereg_mem");
			stop(test, &dereg[i]);
		}
		start(test);
		check(utofu_free_vcq(vcq), "utofu_free_vcq");
		stop(test, &unmake);
	}
	free(area);
	report(test, "queue", &make, 1);
	report(test, "queue-free", &unmake, 1);
	report(test, "memory", &reg[0], 1);
	report(test, "memory-pages", &reg[1], 1);
	report(test, "memory-free", &dereg[0], 1);
	report(test, "memory-pages-free", &dereg[1], 1);
}

/* ---- Exchanges ---- */

/*
 * Messages to and from the other node. Tests in vain come while long messages
 * are under way.
 */
static void exchange(struct test *test, unsigned int engines,
		     unsigned int messages)
{
	const struct tofu_neighbor_params params = {
		.engines = engines,
		.algorithm = TOFU_NEIGHBOR_NATIVE,
		.barrier = UTOFU_VBG_ID_NULL,
	};
	struct tofu_message message[4];
	struct tofu_exchange *exchange;
	struct meter begin = { 0 }, vain = { 0 }, end = { 0 };
	struct tofu_wait wait;
	char text[32];
	int code;

	for (unsigned int i = 0; i < messages; i++)
		message[i] = (struct tofu_message){
			.send = test->area,
			.send_bytes = AREA / 4,
			.recv = { malloc(AREA / 4), malloc(AREA / 4) },
			.recv_bytes = AREA / 4,
			.back = i,
		};
	check(tofu_neighbor_create(&params, message, messages, &exchange),
	      "tofu_neighbor_create");
	for (unsigned int i = 0; i < messages; i++)
		guest_connect(&test->guest, exchange, i, i,
			      guest_next(&test->guest));
	rounds_begin(test);
	while (round_next(test)) {
		guest_barrier(&test->guest);
		start(test);
		check(tofu_exchange_start(exchange), "tofu_exchange_start");
		stop(test, &begin);
		start(test);
		wait = tofu_wait_keen(GUEST_TIMEOUT);
		while (tofu_exchange_test(exchange) && tofu_wait_more(&wait) &&
		       wait.polls < test->tests)
			;
		stop(test, &vain);
		guest_barrier(&test->guest);
		for (unsigned int i = 0; i < messages; i++) {
			settle();
			settle();
		}
		start(test);
		code = tofu_exchange_test(exchange);
		stop(test, &end);
		/* The first one can take page faults. */
		if (test->round < 0)
			code = tofu_exchange_wait(exchange);
		check(code, "tofu_exchange_test");
	}
	tofu_exchange_free(exchange);
	for (unsigned int i = 0; i < messages; i++) {
		free(message[i].recv[0]);
		free(message[i].recv[1]);
	}
	snprintf(text, sizeof(text), "exchange-start-%u-%u", engines, messages);
	report(test, text, &begin, 1);
	snprintf(text, sizeof(text), "exchange-vain-%u-%u", engines, messages);
	report(test, text, &vain, test->tests);
	snprintf(text, sizeof(text), "exchange-end-%u-%u", engines, messages);
	report(test, text, &end, 1);
}

static void calls(struct test *test)
{
	posts(test);
	prepared(test);
	tcq(test);
	mrq(test);
	barriers(test);
	control(test);
	exchange(test, 1, 1);
	exchange(test, 4, 1);
	exchange(test, 4, 4);
	srb_measure(test, 64);
	srb_measure(test, 8192);
	p2p_measure(test, 8, 0, "8");
	p2p_measure(test, 1024, 0, "1024");
	p2p_measure(test, BYTES_LONG, 0, "262144");
	p2p_measure(test, BYTES_LONG, BYTES_LONG, "got");
	coll_measure(test);
}

/* What is otherwise without atomics: messages have standing rings. */
static void calls_without_atomics(struct test *test)
{
	p2p_measure(test, 8, 0, "standing");
	p2p_measure_unheard(test);
}

int main(void)
{
	struct test *test = calloc(1, sizeof(*test));
	struct utofu_onesided_caps *caps;
	struct tofu_time_info info;

	if (!test)
		return EXIT_FAILURE;
	guest_begin(&test->guest, 1);
	if (test->guest.machine.nodes != 2 || !tofu_virtual_find())
		errx(EXIT_FAILURE, "this needs two nodes in virtual time");
	check(tofu_query_time(&info), "tofu_query_time");
	test->polls = info.in_calls ? POLLS_IN_CALLS : POLLS;
	test->tests = info.in_calls ? POLLS_IN_CALLS / 2 : TESTS;
	test->vcq = test->guest.vcq;
	test->peer = test->guest.id[guest_next(&test->guest)];
	test->area = guest_area(&test->guest, AREA, STAG, &test->stadd);
	memset(test->area, 1, AREA);
	guest_barrier(&test->guest);
	clocks(test);
	test->reading = info.in_calls ? 0 : test->clock / 2;
	clocks(test);
	check(utofu_query_onesided_caps(0, &caps), "utofu_query_onesided_caps");
	if (caps->flags & UTOFU_ONESIDED_CAP_FLAG_ARMW)
		calls(test);
	else
		calls_without_atomics(test);
	guest_point(&test->guest, true, "costs");
	return guest_end(&test->guest);
}
