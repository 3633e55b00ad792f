// SPDX-License-Identifier: MIT
/* The options of tofu-p2p. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/armw.h"
#include "common/virtual.h"
#include "p2p/p2p.h"

#define BYTES_MAX (16U << 20)
#define MEMORY_DEFAULT (64U << 20)
#define PEERS_MAX 1000000000U

static const char usage[] =
	"usage: tofu-p2p [OPTION]...\n"
	"Measure point-to-point messages and shared receive buffers, one process a node;\n"
	"node 0 receives.\n"
	"\n"
	"      --test latency     a message, half of there and back; and how many a second\n"
	"                         come to node 0 (default)\n"
	"      --test threshold   the same message eager, got and put: 2 nodes\n"
	"      --test srb         a record into a shared receive buffer, in its parts\n"
	"      --test counter     nothing but additions to one counter\n"
	"      --test memory      bytes that node 0 takes with so many peers\n"
	"      --test need        bytes that a process would take: needs no other node\n"
	"      --mode LIST        fast, saving, shared, auto (default: the first three;\n"
	"                         shared where there are remote atomics)\n"
	"      --bytes LIST       of a message (default 8:64K; threshold 1K:1M)\n"
	"      --senders LIST     nodes 1, 2, ... that send at the same time (default 1)\n"
	"      --peers LIST       memory, need: so many (default: all nodes; need:\n"
	"                         1, 10, ... 10^7)\n"
	"      --memory BYTES     that an endpoint may take; 0: any (default 64M)\n"
	"      --ring BYTES, --large BYTES, --small BYTES\n"
	"                         rings: the shared one, own ones\n"
	"      --machine NAME     k, fx10, fx100 or fugaku: whose thresholds (default: that\n"
	"                         of the virtual time, or k)\n"
	"      --iterations N     messages one by one (default 20; in virtual time 5)\n"
	"      --warmup N         before them (default 4)\n"
	"      --messages N       of each sender, one after the other (default 256; in\n"
	"                         virtual time 32)\n"
	"      --window N         so many of them on their way (default 8)\n"
	"      --corrupt NODE     this node sends a wrong byte in each row\n"
	"      --timeout SECONDS  give up when nothing happens for so long (default 60)\n"
	"      --json             print results as JSON\n"
	"      --help             print this and exit\n"
	"\n"
	"Run it on every node: scripts/tofu-cluster run tofu-p2p, or without VMs\n"
	"tofu-run -n 4 --shape 4 tofu-p2p. Exit status: 0; 1 when a message was wrong or\n"
	"nodes could not talk; 2 for wrong options.\n";

/* ---- Words ---- */

static const char *const tests[] = {
	[MEASURE_LATENCY] = "latency",
	[MEASURE_THRESHOLD] = "threshold",
	[MEASURE_SRB] = "srb",
	[MEASURE_COUNTER] = "counter",
	[MEASURE_MEMORY] = "memory",
	[MEASURE_NEED] = "need",
	[MEASURE_TESTS] = NULL,
};

static const char *const modes[] = {
	[TOFU_P2P_AUTO] = "auto",
	[TOFU_P2P_FAST] = "fast",
	[TOFU_P2P_SAVING] = "saving",
	[TOFU_P2P_SHARED] = "shared",
	[TOFU_P2P_SHARED + 1] = NULL,
};

const char *measure_test_name(enum measure_test test)
{
	return tests[test];
}

const char *measure_mode_name(enum tofu_p2p_mode mode)
{
	return modes[mode];
}

/* ---- Options ---- */

static void mode_add(void *to, const char *option, unsigned int mode)
{
	struct measure_options *options = to;

	if (options->modes == MEASURE_MODES_MAX)
		errx(EXIT_USAGE, "%s: more than %d", option, MEASURE_MODES_MAX);
	options->mode[options->modes++] = (enum tofu_p2p_mode)mode;
}

static void modes_take(void *options, const char *option, const char *text)
{
	((struct measure_options *)options)->modes = 0;
	tofu_arg_words(option, text, modes, 0, mode_add, options);
}

static bool machine_is_known(const char *name)
{
	size_t eager, get;

	return tofu_p2p_machine(name, &eager, &get) == UTOFU_SUCCESS;
}

static void machine_take(void *options, const char *option, const char *text)
{
	if (!machine_is_known(text))
		errx(EXIT_USAGE, "%s: '%s' is not k, fx10, fx100 or fugaku",
		     option, text);
	((struct measure_options *)options)->machine = text;
}

#define KEPT(member) TOFU_AT(struct measure_options, member)
#define NUMBER(member, from, to) \
	.kind = TOFU_ARG_NUMBER, KEPT(member), .min = from, .max = to
#define SIZES(member, most) \
	.kind = TOFU_ARG_SIZES, KEPT(member), .min = 1, .max = most

static const struct tofu_option table[] = {
	{ "test", TOFU_ARG_WORD, KEPT(test), .words = tests },
	{ "mode", TOFU_ARG_TAKE, .take = modes_take },
	{ "bytes", SIZES(bytes, BYTES_MAX) },
	{ "senders", SIZES(senders, MEASURE_SENDERS_MAX) },
	{ "peers", SIZES(peers, PEERS_MAX) },
	{ "memory", NUMBER(memory, 0, SIZE_MAX) },
	{ "ring", NUMBER(ring, 1, TOFU_SRB_BYTES_MAX) },
	{ "large", NUMBER(large, 1, TOFU_SRB_BYTES_MAX) },
	{ "small", NUMBER(small, 1, TOFU_SRB_BYTES_MAX) },
	{ "machine", TOFU_ARG_TAKE, .take = machine_take },
	{ "iterations", NUMBER(iterations, 1, 100000) },
	{ "warmup", NUMBER(warmup, 0, 100000) },
	{ "messages", NUMBER(messages, 2, 100000) },
	{ "window", NUMBER(window, 1, 1024) },
	{ "corrupt", NUMBER(corrupt, 0, UINT32_MAX) },
	{ "timeout", NUMBER(timeout, 1, 86400) },
	{ "json", TOFU_ARG_SET, KEPT(json), .min = true },
};

static const struct tofu_args args = { TOFU_ARGS(usage, table) };

struct measure_options measure_options_parse(int argc, char **argv)
{
	struct measure_options options = {
		.senders = { 1, { 1 } },
		.memory = MEMORY_DEFAULT,
		.warmup = 4,
		.window = 8,
		.timeout = 60,
		.corrupt = -1,
		.armw = true,
	};

	tofu_args_parse(&args, argc, argv, &options);
	if (!options.memory)
		options.memory = SIZE_MAX;
	return options;
}

/* ---- With the machine ---- */

static void machine_default(struct measure_options *options)
{
	static char name[TOFU_VIRTUAL_MACHINE];

	if (!tofu_virtual_machine(name))
		return;
	options->odd = tofu_armw_odd(name, options->armw);
	if (!options->machine && machine_is_known(name))
		options->machine = name;
}

static void modes_default(struct measure_options *options)
{
	if (options->modes)
		return;
	options->mode[options->modes++] = TOFU_P2P_FAST;
	options->mode[options->modes++] = TOFU_P2P_SAVING;
	if (options->armw)
		options->mode[options->modes++] = TOFU_P2P_SHARED;
}

static void peers_default(struct measure_options *options, uint32_t nodes)
{
	struct tofu_sizes *peers = &options->peers;

	if (options->test == MEASURE_NEED)
		for (uint64_t n = 1; n <= 10000000; n *= 10)
			peers->size[peers->count++] = n;
	else
		peers->size[peers->count++] = nodes - 1;
}

static void counts_check(const char *option, const struct tofu_sizes *sizes,
			 uint32_t nodes)
{
	for (size_t i = 0; i < sizes->count; i++)
		if (sizes->size[i] >= nodes)
			errx(EXIT_USAGE,
			     "%s: %u nodes are not enough, for one receives",
			     option, nodes);
}

void measure_options_finish(struct measure_options *options, uint32_t nodes)
{
	bool slow = tofu_virtual();

	if (!options->iterations)
		options->iterations = slow ? 5 : 20;
	if (!options->messages)
		options->messages = slow ? 32 : 256;
	if (!options->bytes.count)
		tofu_arg_sizes("--bytes",
			       options->test == MEASURE_THRESHOLD ? "1K:1M" :
								    "8:64K",
			       1, BYTES_MAX, &options->bytes);
	modes_default(options);
	if (nodes)
		machine_default(options);
	if (!options->peers.count)
		peers_default(options, nodes);
	if (options->test == MEASURE_NEED)
		return;
	if (nodes < 2)
		errx(EXIT_USAGE, "there has to be more than one node");
	counts_check("--senders", &options->senders, nodes);
	if (options->test == MEASURE_MEMORY)
		counts_check("--peers", &options->peers, nodes);
	for (size_t i = 0; i < options->bytes.count; i++)
		if (options->test == MEASURE_SRB && options->bytes.size[i] < 8)
			errx(EXIT_USAGE,
			     "--bytes: a record has to have 8, to tell whose it is");
	if (options->corrupt >= nodes)
		errx(EXIT_USAGE, "--corrupt: the machine has nodes 0 to %u",
		     nodes - 1);
}
