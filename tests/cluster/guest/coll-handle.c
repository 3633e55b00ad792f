// SPDX-License-Identifier: MIT
#include <err.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll-case.h"
#include "common/error.h"

#define GUARD_BYTE 0xc3
#define POISON_BYTE 0x7e

/* ---- Words ---- */

void test_point(struct test *test, const char *format, ...)
{
	char name[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	guest_point(&test->guest, !test->failed, "%s", name);
	test->failed = false;
}

void case_complain(struct test *test, const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	test->failed = true;
	guest_note(&test->guest, "seed %" PRIu64 ": %s", test->seed, text);
}

void handle_note(struct test *test, const struct handle *h)
{
	const struct tofu_coll_spec *spec = &h->data.spec;
	const struct tofu_coll_tuning *t = &h->tuning;
	struct tofu_coll_description d = { .text = "" };

	if (h->coll)
		tofu_coll_describe(h->coll, &d);
	guest_note(&test->guest,
		   "seed %" PRIu64
		   ": %s of %zu %s of %zu B, %s, root %u, algorithm %s, flags %u, segment %zu, engines %u, routes %u, machine %s, %s; member %u, %s, buffers at +%zu, +%zu: %s",
		   test->seed, tofu_coll_kind_name(spec->kind), spec->count,
		   tofu_coll_type_name(spec->type), h->data.size,
		   tofu_coll_op_name(spec->op), spec->root,
		   t->algorithm ? tofu_coll_algorithm_name(t->algorithm) :
				  "auto",
		   t->flags, t->segment, t->engines, t->routes,
		   t->machine ? t->machine : "-",
		   h->part ? h->part->text : "all", h->number,
		   h->inside ? "in place" : "two buffers",
		   h->send.bytes ? (uintptr_t)h->send.at % 64 : 0,
		   h->recv.bytes ? (uintptr_t)h->recv.at % 64 : 0, d.text);
}

void handle_complain(struct test *test, const struct handle *h,
		     const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	case_complain(test, "%s", text);
	handle_note(test, h);
}

static void handle_check(struct test *test, const struct handle *h, int code,
			 const char *what)
{
	uint32_t lost = 0;

	if (code == UTOFU_SUCCESS)
		return;
	handle_complain(test, h, "%s: %s", what, tofu_error_text(code));
	if (h->coll && !tofu_coll_lost(h->coll, &lost))
		case_complain(test, "node %u is gone", lost);
	exit(EXIT_FAILURE);
}

/* ---- Buffers ---- */

static void buffer_create(struct buffer *buffer, size_t bytes, size_t offset)
{
	buffer->bytes = bytes;
	buffer->base = malloc(bytes + 3 * DATA_GUARD);
	if (!buffer->base)
		errx(EXIT_FAILURE, "no memory");
	memset(buffer->base, GUARD_BYTE, bytes + 3 * DATA_GUARD);
	buffer->at = buffer->base + DATA_GUARD + offset;
}

static bool buffer_torn(const struct buffer *buffer)
{
	const unsigned char *end = buffer->at + buffer->bytes;

	for (const unsigned char *at = buffer->base; at < buffer->at; at++)
		if (*at != GUARD_BYTE)
			return true;
	for (const unsigned char *at = end; at < end + DATA_GUARD; at++)
		if (*at != GUARD_BYTE)
			return true;
	return false;
}

/* Elements of C lie where the compiler expects them, bytes anywhere. */
static size_t offset_of(struct test *test, const struct handle *h,
			unsigned int which)
{
	enum tofu_coll_type type = h->data.spec.type;
	uint64_t state = h->data.seed + test->node + which * 77;
	size_t offset = random_below(&state, 64);

	if (type == TOFU_COLL_BYTE || type == TOFU_COLL_USER)
		return offset;
	return offset & ~(size_t)7;
}

/* Whose contents this member has */
static uint32_t identity(const struct test *test, const struct handle *h)
{
	return h->by_rank ? test->node : h->number;
}

/* The contents are in what the library takes for @recv. */
static bool sends_inside(const struct handle *h)
{
	return h->inside && data_sent(&h->data, h->number);
}

static struct tofu_coll_spec buffers_create(struct test *test,
					    struct handle *h)
{
	struct tofu_coll_spec spec = h->data.spec;
	size_t sent = data_sent(&h->data, h->number) * h->data.size;
	size_t received = data_received(&h->data, h->number) * h->data.size;

	if (h->inside && sent > received)
		received = sent;
	buffer_create(&h->send, h->inside ? 0 : sent, offset_of(test, h, 1));
	buffer_create(&h->recv, received, offset_of(test, h, 2));
	spec.size = spec.type == TOFU_COLL_USER ? h->data.size : 0;
	spec.send = h->send.bytes || (h->aside && !h->inside) ? h->send.at :
								NULL;
	spec.recv = h->recv.bytes || h->aside ? h->recv.at : NULL;
	/* One that combines has to say where its contents are. */
	if (spec.count && data_combines(spec.kind) && !h->inside)
		spec.send = h->send.at;
	spec.call = spec.op == TOFU_COLL_CALL ? data_call : NULL;
	spec.data = &h->data.size;
	return spec;
}

static void buffers_fill(struct test *test, struct handle *h, unsigned int turn)
{
	h->now = h->data;
	h->now.seed += turn * 0x5851f42d4c957f2dULL;
	memset(h->recv.at, POISON_BYTE, h->recv.bytes);
	data_fill(&h->now, identity(test, h),
		  h->inside ? h->recv.at : h->send.at);
}

/* What was only read */
static size_t sent_wrong(struct test *test, const struct handle *h)
{
	if (!sends_inside(h))
		return data_sent_wrong(&h->now, identity(test, h), h->send.at);
	if (h->data.spec.kind == TOFU_COLL_BCAST)
		return data_sent_wrong(&h->now, identity(test, h), h->recv.at);
	return 0;
}

static void buffers_check(struct test *test, const struct handle *h)
{
	size_t wrong = data_wrong(&h->now, h->number, h->recv.at);

	if (wrong)
		handle_complain(test, h, "%zu elements are wrong", wrong);
	if (sent_wrong(test, h))
		handle_complain(test, h, "what was sent has changed");
	if (buffer_torn(&h->send) || buffer_torn(&h->recv))
		handle_complain(test, h, "bytes beside a buffer have changed");
}

static void buffers_free(struct handle *h)
{
	free(h->send.base);
	free(h->recv.base);
}

/* ---- Collectives ---- */

static void handle_belong(struct handle *h, const struct part *part)
{
	h->part = part;
	h->number = part->number;
	h->data.members = part->members;
}

static void described_check(struct test *test, const struct handle *h)
{
	struct tofu_coll_description d = { .algorithm = TOFU_COLL_AUTO };
	uint32_t rank;

	handle_check(test, h, tofu_coll_describe(h->coll, &d), "describe");
	if (!tofu_coll_fits(h->data.spec.kind, d.algorithm) || !d.text[0] ||
	    (h->tuning.engines && d.engines > h->tuning.engines))
		handle_complain(test, h, "described as %s on %u engines",
				tofu_coll_algorithm_name(d.algorithm),
				d.engines);
	if (tofu_coll_lost(h->coll, &rank) != UTOFU_ERR_NOT_FOUND)
		handle_complain(test, h, "a member is said to be gone");
}

void handle_create(struct test *test, struct handle *h, const struct part *part)
{
	struct tofu_coll_spec spec;

	handle_belong(h, part);
	spec = buffers_create(test, h);
	handle_check(test, h,
		     tofu_coll_create(part->group, &spec, &h->tuning, &h->coll),
		     "create");
	described_check(test, h);
	if (test->verbose)
		handle_note(test, h);
}

void handle_free(struct handle *h)
{
	tofu_coll_free(h->coll);
	h->coll = NULL;
	buffers_free(h);
}

void handle_start(struct test *test, struct handle *h, unsigned int turn)
{
	buffers_fill(test, h, turn);
	handle_check(test, h, tofu_coll_start(h->coll), "start");
	h->running = true;
}

static void handle_ended(struct test *test, struct handle *h)
{
	h->running = false;
	buffers_check(test, h);
}

bool handle_test(struct test *test, struct handle *h)
{
	int code = tofu_coll_test(h->coll);

	if (code == UTOFU_ERR_NOT_COMPLETED)
		return true;
	handle_check(test, h, code, "test");
	handle_ended(test, h);
	return false;
}

void handle_wait(struct test *test, struct handle *h)
{
	handle_check(test, h, tofu_coll_wait(h->coll), "wait");
	handle_ended(test, h);
}

void handle_run(struct test *test, struct handle *h, const struct part *part)
{
	struct tofu_coll_spec spec;

	handle_belong(h, part);
	spec = buffers_create(test, h);
	if (test->verbose)
		handle_note(test, h);
	buffers_fill(test, h, 0);
	handle_check(test, h, tofu_coll_run(part->group, &spec, &h->tuning),
		     "run");
	buffers_check(test, h);
	buffers_free(h);
}
