// SPDX-License-Identifier: MIT
/* Making an exchange: queues, memory, and the list of puts. */
#include "exchange/internal.h"

#include <stdlib.h>

/* ---- Checks of the plan ---- */

static int message_check(const struct tofu_message *message,
			 unsigned int count)
{
	const char *a = message->recv[0], *b = message->recv[1];

	if (message->back >= count)
		return UTOFU_ERR_INVALID_NUMBER;
	if (message->send_bytes && !message->send)
		return UTOFU_ERR_INVALID_POINTER;
	if (!message->recv_bytes)
		return UTOFU_SUCCESS;
	if (!a || !b)
		return UTOFU_ERR_INVALID_POINTER;
	if ((size_t)(a < b ? b - a : a - b) < message->recv_bytes)
		return UTOFU_ERR_INVALID_ADDRESS;
	return UTOFU_SUCCESS;
}

static int messages_check(const struct tofu_message *messages,
			  unsigned int count)
{
	if (!messages)
		return UTOFU_ERR_INVALID_POINTER;
	if (!count || count > TOFU_EXCHANGE_MESSAGES_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	for (unsigned int i = 0; i < count; i++) {
		int code = message_check(&messages[i], count);

		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* @left: bytes of each message that are in no part so far */
static bool part_fits(const struct tofu_part *part,
		      const struct tofu_message *messages, unsigned int count,
		      size_t left[])
{
	size_t all;

	if (part->message >= count || part->step >= TOFU_EXCHANGE_STEPS_MAX)
		return false;
	all = messages[part->message].send_bytes;
	if (part->offset > all || part->bytes > all - part->offset ||
	    part->bytes > left[part->message])
		return false;
	left[part->message] -= part->bytes;
	return true;
}

static bool plan_fits(const struct tofu_exchange_plan *plan,
		      const struct tofu_message *messages, unsigned int count)
{
	const struct tofu_part *part = plan->parts;
	size_t left[TOFU_EXCHANGE_MESSAGES_MAX];

	for (unsigned int i = 0; i < count; i++)
		left[i] = messages[i].send_bytes;
	for (unsigned int e = 0; e < plan->engines; e++) {
		unsigned int step = 0;

		for (unsigned int i = 0; i < plan->count[e]; i++, part++) {
			if (!part_fits(part, messages, count, left) ||
			    part->step < step)
				return false;
			step = part->step;
		}
	}
	for (unsigned int i = 0; i < count; i++)
		if (left[i])
			return false;
	return true;
}

int tofu_exchange_engines(unsigned int *engines)
{
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code)
		return code;
	free(tnis);
	*engines = count < TOFU_EXCHANGE_ENGINES_MAX ?
			   (unsigned int)count :
			   TOFU_EXCHANGE_ENGINES_MAX;
	return UTOFU_SUCCESS;
}

static int make_check(const struct tofu_exchange_plan *plan,
		      const struct tofu_message *messages, unsigned int count)
{
	unsigned int engines = 0;
	int code = messages_check(messages, count);

	if (!code)
		code = tofu_exchange_engines(&engines);
	if (code)
		return code;
	if (!plan->engines || plan->engines > engines)
		return UTOFU_ERR_INVALID_NUMBER;
	return plan_fits(plan, messages, count) ? UTOFU_SUCCESS :
						  UTOFU_ERR_INVALID_ARG;
}

/* ---- Identity of a plan ---- */

/* FNV-1a, one word at a time */
static void mix(uint64_t *hash, uint64_t word)
{
	*hash = (*hash ^ word) * 0x100000001b3ULL;
}

static uint64_t plan_id(const struct tofu_exchange_plan *plan,
			unsigned int messages)
{
	const struct tofu_part *part = plan->parts;
	uint64_t hash = 0xcbf29ce484222325ULL;

	mix(&hash, messages);
	mix(&hash, plan->engines);
	mix(&hash, plan->pace);
	mix(&hash, plan->barrier != UTOFU_VBG_ID_NULL);
	for (unsigned int e = 0; e < plan->engines; e++) {
		mix(&hash, plan->count[e]);
		for (unsigned int i = 0; i < plan->count[e]; i++, part++)
			mix(&hash, (uint64_t)part->step << 32 | part->message);
	}
	return hash;
}

/* ---- Steps ---- */

static unsigned int plan_steps(const struct tofu_exchange_plan *plan)
{
	const struct tofu_part *part = plan->parts;
	unsigned int steps = 1;

	if (plan->pace == TOFU_EXCHANGE_FREE)
		return steps;
	for (unsigned int e = 0; e < plan->engines; e++)
		for (unsigned int i = 0; i < plan->count[e]; i++, part++)
			if (part->step >= steps)
				steps = part->step + 1;
	return steps;
}

/* The step in which a part is posted */
static unsigned int part_step(const struct tofu_exchange_plan *plan,
			      const struct tofu_part *part)
{
	return plan->pace == TOFU_EXCHANGE_FREE ? 0 : part->step;
}

/* The step whose end waits for it at the target; else that is the last one. */
static unsigned int part_counts(const struct tofu_exchange *exchange,
				const struct tofu_exchange_plan *plan,
				const struct tofu_part *part)
{
	return plan->pace == TOFU_EXCHANGE_MET ? part->step :
						 exchange->steps - 1;
}

/* ---- Memory ---- */

static int place_register(utofu_vcq_hdl_t vcq, const void *at, size_t bytes,
			  unsigned long flags, utofu_stadd_t *stadd)
{
	if (!bytes || *stadd)
		return UTOFU_SUCCESS;
	/*
	 * Registration does not write, whatever the type of the pointer says.
	 */
	return utofu_reg_mem(vcq, (void *)(uintptr_t)at, bytes, flags, stadd);
}

/* Registers what a message needs that this engine sends. */
static int send_register(struct tofu_exchange_engine *engine,
			 const struct tofu_message *message,
			 struct tofu_exchange_place *place)
{
	return place_register(engine->vcq, message->send, message->send_bytes,
			      UTOFU_REG_MEM_FLAG_READ_ONLY, &place->send);
}

/* Registers what a message needs that this engine receives. */
static int recv_register(struct tofu_exchange_engine *engine,
			 const struct tofu_message *message,
			 struct tofu_exchange_place *place)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int set = 0; set < EXCHANGE_SETS && !code; set++)
		code = place_register(engine->vcq, message->recv[set],
				      message->recv_bytes, 0,
				      &place->recv[set]);
	return code;
}

/* Registers what a part needs here, and what its counterpart brings here. */
static int part_register(struct tofu_exchange *exchange,
			 struct tofu_exchange_engine *engine,
			 const struct tofu_part *part)
{
	int code = send_register(engine, &exchange->message[part->message],
				 &engine->place[part->message]);

	for (unsigned int i = 0; i < exchange->messages && !code; i++)
		if (exchange->message[i].back == part->message)
			code = recv_register(engine, &exchange->message[i],
					     &engine->place[i]);
	return code;
}

/* Buffers without bytes are at @nowhere. */
static int places_fill(struct tofu_exchange *exchange,
		       struct tofu_exchange_engine *engine)
{
	utofu_stadd_t nowhere = 0;
	int code = place_register(engine->vcq, &exchange->nowhere,
				  sizeof(exchange->nowhere), 0, &nowhere);

	for (unsigned int i = 0; i < exchange->messages && !code; i++) {
		struct tofu_exchange_place *place = &engine->place[i];

		if (!place->send)
			place->send = nowhere;
		for (unsigned int set = 0; set < EXCHANGE_SETS; set++)
			if (!place->recv[set])
				place->recv[set] = nowhere;
	}
	return code;
}

/* ---- Puts ---- */

static size_t part_puts(const struct tofu_part *part, size_t most)
{
	return part->bytes ? (part->bytes - 1) / most + 1 : 1;
}

static void part_cut(const struct tofu_exchange *exchange,
		     struct tofu_exchange_engine *engine,
		     const struct tofu_exchange_plan *plan,
		     const struct tofu_part *part, size_t most)
{
	size_t puts = part_puts(part, most);

	for (size_t i = 0; i < puts; i++) {
		size_t done = i * most;

		engine->put[engine->puts++] = (struct tofu_exchange_put){
			.message = part->message,
			.step = part_step(plan, part),
			.counts = part_counts(exchange, plan, part),
			.told = i + 1 == puts,
			.offset = part->offset + done,
			.bytes = i + 1 == puts ? part->bytes - done : most,
		};
	}
}

static void groups_count(struct tofu_exchange_engine *engine)
{
	size_t length = 0;

	for (size_t i = 0; i < engine->puts; i++) {
		struct tofu_exchange_put *put = &engine->put[i];

		put->report = i + 1 == engine->puts ||
			      put[1].step != put->step ||
			      ++length == EXCHANGE_GROUP_MAX;
		if (put->report) {
			engine->groups++;
			length = 0;
		}
	}
}

/*
 * Also allocates the commands themselves: nothing is allocated later. One more
 * of each, so that no allocation is empty.
 */
static int engine_allocate(struct tofu_exchange_engine *engine, size_t puts,
			   size_t command)
{
	engine->put = calloc(puts + 1, sizeof(*engine->put));
	engine->group = calloc(puts + 1, sizeof(*engine->group));
	for (unsigned int set = 0; set < EXCHANGE_SETS; set++) {
		engine->command[set] = calloc(puts + 1, command);
		engine->heard[set] =
			calloc(engine->due + 1, sizeof(*engine->heard[set]));
		if (!engine->command[set] || !engine->heard[set])
			return UTOFU_ERR_OUT_OF_MEMORY;
	}
	return engine->put && engine->group ? UTOFU_SUCCESS :
					      UTOFU_ERR_OUT_OF_MEMORY;
}

/* All engines share one set of probes. */
static int probe_allocate(struct tofu_exchange *exchange, size_t command)
{
	if (!exchange->probe)
		exchange->probe = calloc(exchange->messages, command);
	exchange->probe_room = command;
	return exchange->probe ? UTOFU_SUCCESS : UTOFU_ERR_OUT_OF_MEMORY;
}

static int engine_cut(struct tofu_exchange *exchange,
		      struct tofu_exchange_engine *engine,
		      const struct tofu_exchange_plan *plan,
		      const struct tofu_part *parts, unsigned int count,
		      const struct utofu_onesided_caps *caps)
{
	/* All puts of a part but the last begin and end at a boundary. */
	size_t most = caps->max_putget_size & ~(caps->cache_line_size - 1);
	size_t puts = 0;
	int code;

	for (unsigned int i = 0; i < count; i++)
		puts += part_puts(&parts[i], most);
	code = engine_allocate(engine, puts, caps->max_toq_desc_size);
	if (!code)
		code = probe_allocate(exchange, caps->max_toq_desc_size);
	if (code)
		return code;
	for (unsigned int i = 0; i < count; i++)
		if (tofu_message_exists(&exchange->message[parts[i].message]))
			part_cut(exchange, engine, plan, &parts[i], most);
	groups_count(engine);
	return UTOFU_SUCCESS;
}

/*
 * Counts what neighbours send by this engine: the same parts, of their
 * messages.
 */
static void part_expect(struct tofu_exchange *exchange,
			struct tofu_exchange_engine *engine,
			unsigned int message, unsigned int step)
{
	engine->parts[message]++;
	for (unsigned int i = 0; i < exchange->messages; i++)
		if (exchange->message[i].back == message &&
		    tofu_message_exists(&exchange->message[i])) {
			exchange->expected[step]++;
			engine->due++;
		}
}

/* ---- The whole ---- */

static int engine_make(struct tofu_exchange *exchange,
		       struct tofu_exchange_engine *engine, utofu_tni_id_t tni,
		       const struct tofu_exchange_plan *plan,
		       const struct tofu_part *parts, unsigned int count)
{
	struct utofu_onesided_caps *caps;
	int code = utofu_query_onesided_caps(tni, &caps);

	if (!code)
		code = utofu_create_vcq(tni, UTOFU_VCQ_FLAG_EXCLUSIVE,
					&engine->vcq);
	if (code)
		return code;
	/* Counted now, so that it will be freed. */
	exchange->engines++;
	code = utofu_query_vcq_id(engine->vcq, &engine->id);
	for (unsigned int i = 0; i < count && !code; i++) {
		part_expect(exchange, engine, parts[i].message,
			    part_counts(exchange, plan, &parts[i]));
		code = part_register(exchange, engine, &parts[i]);
	}
	if (!code)
		code = places_fill(exchange, engine);
	if (!code)
		code = engine_cut(exchange, engine, plan, parts, count, caps);
	return code;
}

static int engines_make(struct tofu_exchange *exchange,
			const struct tofu_exchange_plan *plan)
{
	const struct tofu_part *parts = plan->parts;
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_onesided_tnis(&tnis, &count);

	if (code)
		return code;
	for (unsigned int e = 0; e < plan->engines && !code; e++) {
		code = engine_make(exchange, &exchange->engine[e], tnis[e],
				   plan, parts, plan->count[e]);
		parts += plan->count[e];
	}
	free(tnis);
	return code;
}

static struct tofu_exchange *
exchange_allocate(const struct tofu_exchange_plan *plan,
		  const struct tofu_message *messages, unsigned int count)
{
	void *memory;
	struct tofu_exchange *exchange;

	/* At a boundary of regions, for @nowhere */
	if (posix_memalign(&memory, 256, sizeof(*exchange)))
		return NULL;
	exchange = memory;
	*exchange = (struct tofu_exchange){
		.messages = count,
		.barrier = plan->barrier,
		.note = plan->note,
		.plan_id = plan_id(plan, count),
		.steps = plan_steps(plan),
		.last = EXCHANGE_SETS,
	};
	for (unsigned int i = 0; i < count; i++) {
		exchange->message[i] = messages[i];
		exchange->missing += tofu_message_exists(&messages[i]);
	}
	return exchange;
}

int tofu_exchange_make(const struct tofu_exchange_plan *plan,
		       const struct tofu_message *messages, unsigned int count,
		       struct tofu_exchange **exchange)
{
	struct tofu_exchange *made;
	int code = make_check(plan, messages, count);

	if (code)
		return code;
	made = exchange_allocate(plan, messages, count);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	code = engines_make(made, plan);
	if (code) {
		tofu_exchange_free(made);
		return code;
	}
	*exchange = made;
	return UTOFU_SUCCESS;
}

void tofu_exchange_free(struct tofu_exchange *exchange)
{
	if (!exchange)
		return;
	for (unsigned int e = 0; e < exchange->engines; e++) {
		struct tofu_exchange_engine *engine = &exchange->engine[e];

		/* Also deregisters its memory. */
		utofu_free_vcq(engine->vcq);
		free(engine->put);
		free(engine->group);
		for (unsigned int set = 0; set < EXCHANGE_SETS; set++) {
			free(engine->command[set]);
			free(engine->heard[set]);
		}
	}
	free(exchange->probe);
	free(exchange);
}

int tofu_exchange_puts(const struct tofu_exchange *exchange, size_t *puts)
{
	if (!exchange || !puts)
		return UTOFU_ERR_INVALID_POINTER;
	*puts = 0;
	for (unsigned int e = 0; e < exchange->engines; e++)
		*puts += exchange->engine[e].puts;
	return UTOFU_SUCCESS;
}

int tofu_exchange_note(const struct tofu_exchange *exchange)
{
	return exchange->note;
}
