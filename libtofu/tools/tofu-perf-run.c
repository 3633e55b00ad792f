// SPDX-License-Identifier: MIT
/*
 * The measurements. Buffers are one area on each node under one STAG: a part
 * that puts come to, a part that they are sent from, and the word of the
 * atomics.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/wait.h"
#include "tofu-perf.h"

#define PERF_STAG 17
#define PAGE 4096
#define REPORT UTOFU_ONESIDED_FLAG_TCQ_NOTICE
/* What the peer is told when a measurement is over. */
#define STOP 1
/* Whoever waits for the last bytes wants them to be the last. */
#define WAITED_FOR (REPORT | UTOFU_ONESIDED_FLAG_STRONG_ORDER)
#define NOTICE UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE

/**
 * struct perf - a node's part
 * @settings: of the measurement under way
 * @area:  @span bytes to receive into, @span to send from, and the word
 * @stadd: of the area, on every node
 * @peer:  the VCQ that this node talks to: node 0's or the peer's
 * @busy:  commands that have not been reported yet
 */
struct perf {
	struct tofu_machine machine;
	struct tofu_boot *boot;
	struct perf_settings settings;
	unsigned int tni;
	utofu_vcq_hdl_t vcq;
	bool has_vcq;
	utofu_vcq_id_t peer;
	size_t span;
	size_t size;
	uint8_t *area;
	utofu_stadd_t stadd;
	unsigned int busy;
};

/* The words behind the buffers: for atomics, and one that ends a wait. */
static size_t word_at(const struct perf *perf)
{
	return 2 * perf->span;
}

static size_t stop_at(const struct perf *perf)
{
	return word_at(perf) + sizeof(uint64_t);
}

/**
 * struct command - a command that is made again and again
 * @op:    kind
 * @bytes: of payload
 * @value: what a put carries in its last bytes
 * @flags: notices
 */
struct command {
	enum perf_op op;
	size_t bytes;
	uint64_t value;
	unsigned long flags;
};

static int say(const struct perf *perf, const char *what, int code, char **why)
{
	tofu_error_say(why, "node %u: %s: %s", perf->machine.node, what,
		       code == UTOFU_SUCCESS ? "no end in time" :
					       tofu_error_text(code));
	return code == UTOFU_SUCCESS ? -ETIMEDOUT : -EIO;
}

/*
 * The flag that a target polls for: the last bytes of a put, up to 8, which
 * strong order makes the last to be seen.
 */
static size_t flag_bytes(size_t bytes)
{
	return bytes < sizeof(uint64_t) ? bytes : sizeof(uint64_t);
}

static uint64_t flag_mask(size_t bytes)
{
	return UINT64_MAX >> 8 * (sizeof(uint64_t) - flag_bytes(bytes));
}

static bool flag_seen(const uint8_t *at, size_t bytes, uint64_t value)
{
	uint64_t seen = 0;

	memcpy(&seen, at + bytes - flag_bytes(bytes), flag_bytes(bytes));
	return !((seen ^ value) & flag_mask(bytes));
}

/* The way that a program would choose for a put of this size. */
static int put_post(struct perf *perf, const struct command *command)
{
	uint8_t *from = perf->area + perf->span;
	size_t bytes = command->bytes;

	memcpy(from + bytes - flag_bytes(bytes), &command->value,
	       flag_bytes(bytes));
	if (bytes <= sizeof(uint64_t))
		return utofu_put_piggyback8(perf->vcq, perf->peer,
					    command->value, perf->stadd, bytes,
					    0, command->flags, NULL);
	if (bytes <= 32)
		return utofu_put_piggyback(perf->vcq, perf->peer, from,
					   perf->stadd, bytes, 0,
					   command->flags, NULL);
	return utofu_put(perf->vcq, perf->peer, perf->stadd + perf->span,
			 perf->stadd, bytes, 0, command->flags, NULL);
}

static int post(struct perf *perf, const struct command *command)
{
	utofu_stadd_t word = perf->stadd + word_at(perf);
	int code;

	if (command->op == PERF_PUT)
		code = put_post(perf, command);
	else if (command->op == PERF_GET)
		code = utofu_get(perf->vcq, perf->peer,
				 perf->stadd + perf->span, perf->stadd,
				 command->bytes, 0, command->flags, NULL);
	else if (command->bytes == sizeof(uint32_t))
		code = utofu_armw4(perf->vcq, perf->peer, UTOFU_ARMW_OP_ADD, 1,
				   word, 0, command->flags, NULL);
	else
		code = utofu_armw8(perf->vcq, perf->peer, UTOFU_ARMW_OP_ADD, 1,
				   word, 0, command->flags, NULL);
	if (code == UTOFU_SUCCESS && (command->flags & REPORT))
		perf->busy++;
	return code;
}

/* ---- Waiting: UTOFU_ERR_NOT_FOUND when the time is over ---- */

static int notice_wait(struct perf *perf, struct utofu_mrq_notice *notice)
{
	struct tofu_wait wait = tofu_wait_keen(perf->settings.timeout);
	int code;

	do {
		code = utofu_poll_mrq(perf->vcq, 0, notice);
	} while (code == UTOFU_ERR_NOT_FOUND && tofu_wait_more(&wait));
	return code;
}

/* Until at most @most commands are under way. */
static int report_wait(struct perf *perf, unsigned int most)
{
	struct tofu_wait wait = tofu_wait_keen(perf->settings.timeout);
	void *cbdata;

	while (perf->busy > most) {
		int code = utofu_poll_tcq(perf->vcq, 0, &cbdata);

		if (code == UTOFU_SUCCESS)
			perf->busy--;
		else if (code != UTOFU_ERR_NOT_FOUND || !tofu_wait_more(&wait))
			return code;
	}
	return UTOFU_SUCCESS;
}

/* An own put that failed leaves a notice, so that is looked for as well. */
static int flag_wait(struct perf *perf, const uint8_t *at, size_t bytes,
		     uint64_t value)
{
	struct tofu_wait wait = tofu_wait_keen(perf->settings.timeout);
	struct utofu_mrq_notice notice;

	while (!flag_seen(at, bytes, value)) {
		int code = utofu_poll_mrq(perf->vcq, 0, &notice);

		if (code != UTOFU_ERR_NOT_FOUND || !tofu_wait_more(&wait))
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Latency ---- */

static int ping(struct perf *perf, size_t bytes, uint64_t value)
{
	const struct command put = { .op = PERF_PUT, .bytes = bytes,
				     .value = value, .flags = WAITED_FOR };
	int code = post(perf, &put);

	if (code == UTOFU_SUCCESS)
		code = flag_wait(perf, perf->area, bytes, value);
	return code;
}

/* The other side: each put is answered by one of the same size. */
static int pong(struct perf *perf, size_t bytes)
{
	const struct perf_settings *settings = &perf->settings;
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 1;
	     i <= settings->warmup + settings->iterations && !code; i++) {
		const struct command put = { .op = PERF_PUT, .bytes = bytes,
					     .value = i, .flags = WAITED_FOR };

		code = flag_wait(perf, perf->area, bytes, i);
		if (code == UTOFU_SUCCESS)
			code = post(perf, &put);
		if (code == UTOFU_SUCCESS)
			code = report_wait(perf, 0);
	}
	return code;
}

/* A get or an atomic until its answer is there. */
static int ask(struct perf *perf, enum perf_op op, size_t bytes, uint64_t i)
{
	const struct command command = { .op = op, .bytes = bytes,
					 .flags = NOTICE };
	struct utofu_mrq_notice notice;
	int code = post(perf, &command);

	if (code == UTOFU_SUCCESS)
		code = notice_wait(perf, &notice);
	/* Each atomic adds one and brings the value before. */
	if (code == UTOFU_SUCCESS && op == PERF_ARMW &&
	    ((notice.rmt_value ^ (i - 1)) & flag_mask(bytes)))
		code = UTOFU_ERR_MRQ_OTHER;
	return code;
}

static int latency(struct perf *perf, enum perf_op op, size_t bytes,
		   uint64_t *time)
{
	const struct perf_settings *settings = &perf->settings;
	bool halve = op == PERF_PUT && settings->peer != perf->machine.node;

	for (uint64_t i = 1; i <= settings->warmup + settings->iterations;
	     i++) {
		uint64_t began = tofu_now(), took;
		int code = op == PERF_PUT ? ping(perf, bytes, i) :
					    ask(perf, op, bytes, i);

		took = tofu_now() - began;
		if (i > settings->warmup)
			time[i - settings->warmup - 1] = halve ? took / 2 : took;
		/* The source of a put is free when it has been reported. */
		if (code == UTOFU_SUCCESS)
			code = report_wait(perf, 0);
		if (code != UTOFU_SUCCESS)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Bandwidth ---- */

static int stream(struct perf *perf, enum perf_op op, size_t bytes,
		  uint64_t count)
{
	const struct command command = { .op = op, .bytes = bytes,
					 .flags = REPORT };
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 0; i < count && code == UTOFU_SUCCESS; i++) {
		code = report_wait(perf, perf->settings.window - 1);
		if (code != UTOFU_SUCCESS)
			break;
		do {
			code = post(perf, &command);
		} while (code == UTOFU_ERR_BUSY && perf->busy &&
			 report_wait(perf, perf->busy - 1) == UTOFU_SUCCESS);
	}
	return code == UTOFU_SUCCESS ? report_wait(perf, 0) : code;
}

static int bandwidth(struct perf *perf, enum perf_op op, size_t bytes,
		     struct perf_result *result)
{
	const struct perf_settings *settings = &perf->settings;
	struct utofu_mrq_notice notice;
	uint64_t began;
	double seconds;
	int code = stream(perf, op, bytes, settings->warmup);

	if (code != UTOFU_SUCCESS)
		return code;
	began = tofu_now();
	code = stream(perf, op, bytes, settings->iterations);
	seconds = (double)(tofu_now() - began) / 1e9;
	if (code != UTOFU_SUCCESS)
		return code;
	/* Only what failed leaves a notice, and it has come by now. */
	code = utofu_poll_mrq(perf->vcq, 0, &notice);
	if (code != UTOFU_ERR_NOT_FOUND)
		return code;
	result->rate = (double)settings->iterations / seconds;
	result->bandwidth = result->rate * (double)bytes;
	return UTOFU_SUCCESS;
}

/* ---- A measurement ---- */

/* The peer polls as a program does that communicates, until it is told. */
static int stop_send(struct perf *perf)
{
	int code = utofu_put_piggyback8(perf->vcq, perf->peer, STOP,
					perf->stadd + stop_at(perf),
					sizeof(uint64_t), 0, REPORT, NULL);

	if (code != UTOFU_SUCCESS)
		return code;
	perf->busy++;
	return report_wait(perf, 0);
}

static int stop_wait(struct perf *perf)
{
	return flag_wait(perf, perf->area + stop_at(perf), sizeof(uint64_t),
			 STOP);
}

static int run_active(struct perf *perf, enum perf_op op, size_t bytes,
		      char **why, struct perf_result *result)
{
	uint64_t *time = calloc(perf->settings.iterations, sizeof(*time));
	int code;

	if (!time)
		return -ENOMEM;
	code = latency(perf, op, bytes, time);
	result->latency = tofu_stats_of(time, perf->settings.iterations);
	free(time);
	if (code != UTOFU_SUCCESS)
		return say(perf, "latency", code, why);
	code = bandwidth(perf, op, bytes, result);
	if (code == UTOFU_SUCCESS)
		code = stop_send(perf);
	return code == UTOFU_SUCCESS ? 0 : say(perf, "bandwidth", code, why);
}

static int run_passive(struct perf *perf, enum perf_op op, size_t bytes,
		       char **why)
{
	int code = op == PERF_PUT ? pong(perf, bytes) : UTOFU_SUCCESS;

	if (code == UTOFU_SUCCESS)
		code = stop_wait(perf);
	return code == UTOFU_SUCCESS ? 0 : say(perf, "peer", code, why);
}

int perf_run(struct perf *perf, const struct perf_settings *settings,
	     enum perf_op op, size_t bytes, char **why,
	     struct perf_result *result)
{
	int err;

	perf->settings = *settings;
	memset(perf->area, 0, perf->size);
	err = tofu_boot_barrier(perf->boot, why);
	if (err)
		return err;
	if (perf->machine.node == 0)
		err = run_active(perf, op, bytes, why, result);
	else if (perf->machine.node == settings->peer)
		err = run_passive(perf, op, bytes, why);
	return err ? err : tofu_boot_barrier(perf->boot, why);
}

double perf_memcpy(size_t bytes, uint64_t iterations)
{
	uint8_t *from = malloc(bytes), *to = malloc(bytes);
	double seconds = 0;

	if (from && to) {
		uint64_t began;

		memset(from, 1, bytes);
		memset(to, 2, bytes);
		began = tofu_now();
		for (uint64_t i = 0; i < iterations; i++) {
			memcpy(to, from, bytes);
			/* Each copy counts: the compiler must not drop one. */
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		seconds = (double)(tofu_now() - began) / 1e9;
	}
	free(from);
	free(to);
	return seconds > 0 ? (double)iterations * (double)bytes / seconds : 0;
}

/* ---- Setting up ---- */

static int area_open(struct perf *perf, char **why)
{
	int code;

	perf->area = mmap(NULL, perf->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (perf->area == MAP_FAILED) {
		perf->area = NULL;
		return -ENOMEM;
	}
	code = utofu_create_vcq((utofu_tni_id_t)perf->tni, 0, &perf->vcq);
	if (code != UTOFU_SUCCESS)
		return say(perf, "cannot create a VCQ", code, why);
	perf->has_vcq = true;
	code = utofu_reg_mem_with_stag(perf->vcq, perf->area, perf->size,
				       PERF_STAG, 0, &perf->stadd);
	if (code != UTOFU_SUCCESS)
		return say(perf, "cannot register memory", code, why);
	return 0;
}

int perf_open(const struct tofu_machine *machine, struct tofu_boot *boot,
	      unsigned int tni, uint32_t peer, size_t bytes, char **why,
	      struct perf **result)
{
	struct perf *perf = calloc(1, sizeof(*perf));
	const uint64_t *ids;
	utofu_vcq_id_t own;
	int err;

	if (!perf)
		return -ENOMEM;
	perf->machine = *machine;
	perf->boot = boot;
	perf->tni = tni;
	perf->span = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	perf->size = 2 * perf->span + PAGE;
	err = area_open(perf, why);
	if (!err && utofu_query_vcq_id(perf->vcq, &own) != UTOFU_SUCCESS)
		err = -EIO;
	if (!err)
		err = tofu_boot_allgather(boot, &own, 1, &ids, why);
	if (err) {
		perf_close(perf);
		return err;
	}
	perf->peer = ids[machine->node ? 0 : peer];
	*result = perf;
	return 0;
}

void perf_close(struct perf *perf)
{
	if (!perf)
		return;
	if (perf->has_vcq)
		utofu_free_vcq(perf->vcq);
	if (perf->area)
		munmap(perf->area, perf->size);
	free(perf);
}
