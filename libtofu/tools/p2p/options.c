// SPDX-License-Identifier: MIT
/* What the user wants of tofu-p2p. */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/virtual.h"
#include "p2p/p2p.h"

enum { EXIT_USAGE = 2 };

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
	"      --mode LIST        fast, saving, shared, auto (default: the first three)\n"
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

enum {
	OPT_TEST = 1,
	OPT_MODE,
	OPT_BYTES,
	OPT_SENDERS,
	OPT_PEERS,
	OPT_MEMORY,
	OPT_RING,
	OPT_LARGE,
	OPT_SMALL,
	OPT_MACHINE,
	OPT_ITERATIONS,
	OPT_WARMUP,
	OPT_MESSAGES,
	OPT_WINDOW,
	OPT_CORRUPT,
	OPT_TIMEOUT,
	OPT_JSON,
	OPT_HELP,
};

static const struct option long_options[] = {
	{ "test", required_argument, NULL, OPT_TEST },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "bytes", required_argument, NULL, OPT_BYTES },
	{ "senders", required_argument, NULL, OPT_SENDERS },
	{ "peers", required_argument, NULL, OPT_PEERS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "ring", required_argument, NULL, OPT_RING },
	{ "large", required_argument, NULL, OPT_LARGE },
	{ "small", required_argument, NULL, OPT_SMALL },
	{ "machine", required_argument, NULL, OPT_MACHINE },
	{ "iterations", required_argument, NULL, OPT_ITERATIONS },
	{ "warmup", required_argument, NULL, OPT_WARMUP },
	{ "messages", required_argument, NULL, OPT_MESSAGES },
	{ "window", required_argument, NULL, OPT_WINDOW },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

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

/* Number of a word in a list that ends with NULL; exits where it is not there. */
static unsigned int word_find(const char *option, const char *text,
			      const char *const *words)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	errx(EXIT_USAGE, "%s: '%s' is not one of those that --help names",
	     option, text);
}

static void modes_parse(struct measure_options *options, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;

	if (!copy)
		errx(EXIT_FAILURE, "no memory");
	options->modes = 0;
	while ((word = strsep(&rest, ","))) {
		if (options->modes == MEASURE_MODES_MAX)
			errx(EXIT_USAGE, "--mode: more than %d",
			     MEASURE_MODES_MAX);
		options->mode[options->modes++] = (enum tofu_p2p_mode)word_find(
			"--mode", word, modes);
	}
	free(copy);
}

/* ---- Options ---- */

static uint64_t number(const char *option, uint64_t min, uint64_t max)
{
	return tofu_arg_number(option, optarg, min, max);
}

static bool machine_is_known(const char *name)
{
	size_t eager, get;

	return tofu_p2p_machine(name, &eager, &get) == UTOFU_SUCCESS;
}

static void machine_take(struct measure_options *options)
{
	if (!machine_is_known(optarg))
		errx(EXIT_USAGE,
		     "--machine: '%s' is not k, fx10, fx100 or fugaku", optarg);
	options->machine = optarg;
}

/* Of the endpoint */
static bool endpoint_option_take(struct measure_options *options, int option)
{
	switch (option) {
	case OPT_MODE:
		modes_parse(options, optarg);
		return true;
	case OPT_MEMORY:
		options->memory = number("--memory", 0, SIZE_MAX);
		if (!options->memory)
			options->memory = SIZE_MAX;
		return true;
	case OPT_RING:
		options->ring = number("--ring", 1, TOFU_SRB_BYTES_MAX);
		return true;
	case OPT_LARGE:
		options->large = number("--large", 1, TOFU_SRB_BYTES_MAX);
		return true;
	case OPT_SMALL:
		options->small = number("--small", 1, TOFU_SRB_BYTES_MAX);
		return true;
	case OPT_MACHINE:
		machine_take(options);
		return true;
	default:
		return false;
	}
}

/* Of how often, and how much */
static bool rows_option_take(struct measure_options *options, int option)
{
	switch (option) {
	case OPT_TEST:
		options->test = (enum measure_test)word_find("--test", optarg,
							     tests);
		return true;
	case OPT_BYTES:
		tofu_arg_sizes("--bytes", optarg, 1, BYTES_MAX,
			       &options->bytes);
		return true;
	case OPT_SENDERS:
		tofu_arg_sizes("--senders", optarg, 1, MEASURE_SENDERS_MAX,
			       &options->senders);
		return true;
	case OPT_PEERS:
		tofu_arg_sizes("--peers", optarg, 1, PEERS_MAX,
			       &options->peers);
		return true;
	case OPT_ITERATIONS:
		options->iterations = number("--iterations", 1, 100000);
		return true;
	case OPT_WARMUP:
		options->warmup = number("--warmup", 0, 100000);
		return true;
	case OPT_MESSAGES:
		options->messages = number("--messages", 2, 100000);
		return true;
	case OPT_WINDOW:
		options->window = number("--window", 1, 1024);
		return true;
	default:
		return false;
	}
}

static void option_take(struct measure_options *options, int option)
{
	switch (option) {
	case OPT_CORRUPT:
		options->corrupt = (int64_t)number("--corrupt", 0, UINT32_MAX);
		break;
	case OPT_TIMEOUT:
		options->timeout =
			(unsigned int)number("--timeout", 1, 86400);
		break;
	case OPT_JSON:
		options->json = true;
		break;
	case OPT_HELP:
		fputs(usage, stdout);
		exit(EXIT_SUCCESS);
	default:
		fputs("Try 'tofu-p2p --help'.\n", stderr);
		exit(EXIT_USAGE);
	}
}

struct measure_options measure_options_parse(int argc, char **argv)
{
	struct measure_options options = {
		.mode = { TOFU_P2P_FAST, TOFU_P2P_SAVING, TOFU_P2P_SHARED },
		.modes = 3,
		.senders = { 1, { 1 } },
		.memory = MEMORY_DEFAULT,
		.warmup = 4,
		.window = 8,
		.timeout = 60,
		.corrupt = -1,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
		if (!rows_option_take(&options, option) &&
		    !endpoint_option_take(&options, option))
			option_take(&options, option);
	if (optind < argc)
		errx(EXIT_USAGE, "'%s' is not an option", argv[optind]);
	return options;
}

/* ---- With the machine ---- */

static void machine_default(struct measure_options *options)
{
	static char name[TOFU_VIRTUAL_MACHINE];

	if (!options->machine && tofu_virtual_machine(name) &&
	    machine_is_known(name))
		options->machine = name;
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
