/* SPDX-License-Identifier: MIT */
/*
 * tofu-fabric: make the shared file of a machine, and look into one.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/args.h"
#include "common/json.h"
#include "common/shape.h"
#include "common/table.h"
#include "fabric/shm/layout.h"
#include "fabric/process.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2

static const char help[] =
	"usage: tofu-fabric format PATH --shape SHAPE [--ppn N]\n"
	"       tofu-fabric show PATH [--json]\n"
	"       tofu-fabric clocks PATH [--json]\n"
	"\n"
	"The shared file by which the nodes of one machine exchange packets.\n"
	"\n"
	"format  makes PATH, which must not exist; a number is an inherited\n"
	"        descriptor of an empty file\n"
	"show    lists the processes of nodes: who they are, and what waits for them\n"
	"clocks  lists the clocks of nodes in virtual time, and who waits for whom\n"
	"\n"
	"  -s, --shape SHAPE  nodes: 4, 2x2, 4x3x8 or six sizes 1x1x1x2x3x2\n"
	"  -p, --ppn N        processes that a node can have, 1 to 48 (default 1)\n"
	"  -j, --json         print JSON\n"
	"  -h, --help         print this and exit\n"
	"\n"
	"Exit status: 0; 1 when PATH cannot be made or is no such file; 2 for wrong\n"
	"options.\n";

__attribute__((noreturn)) static void usage(const char *problem)
{
	fprintf(stderr, "tofu-fabric: %s; try 'tofu-fabric --help'\n", problem);
	exit(STATUS_USAGE);
}

static int failed(const char *path, int err)
{
	fprintf(stderr, "tofu-fabric: %s: %s\n", path, strerror(-err));
	return STATUS_FAILED;
}

/* ---- format ---- */

/* The descriptor that a program which keeps it open has handed down, or -1. */
static int inherited(const char *path)
{
	char *end;
	long fd;

	if (*path < '0' || *path > '9')
		return -1;
	errno = 0;
	fd = strtol(path, &end, 10);
	if (*end || errno || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0)
		return -1;
	return (int)fd;
}

static int format(const char *path, const char *text, uint32_t ppn)
{
	struct tofu_shape shape;
	int fd = inherited(path), err;

	if (!text)
		usage("format wants --shape");
	tofu_arg_shape("--shape", text, &shape);
	if (fd >= 0) {
		err = tofu_fabric_format(fd, &shape, ppn);
		return err ? failed(path, err) : EXIT_SUCCESS;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(path, -errno);
	err = tofu_fabric_format(fd, &shape, ppn);
	close(fd);
	if (!err)
		return EXIT_SUCCESS;
	unlink(path);
	return failed(path, err);
}

/* ---- show ---- */

/**
 * struct machine - a mapped file
 * @nodes: endpoints, @ppn for each node of the machine
 */
struct machine {
	const uint8_t *base;
	uint32_t nodes;
	uint32_t ppn;
	struct tofu_shape shape;
};

/**
 * struct report - a node
 * @state:    "up", "dead" (the process ended without leaving) or "down"
 * @asleep:   it wants to be woken
 * @waiting:  bytes in the rings to it, by class
 */
struct report {
	const char *state;
	uint32_t gen;
	int pid;
	bool asleep;
	uint32_t pieces;
	uint64_t waiting[TOFU_CLASSES];
};

static int map_machine(const char *path, struct machine *machine)
{
	struct tofu_shm_header header;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *base;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.magic != TOFU_SHM_MAGIC ||
	    header.version != TOFU_SHM_VERSION || !header.nodes ||
	    header.nodes > TOFU_FABRIC_NODES_MAX || !header.ppn ||
	    header.nodes % header.ppn ||
	    tofu_shape_unpack(header.shape, &machine->shape) ||
	    (uint64_t)st.st_size < tofu_shm_size(header.nodes)) {
		close(fd);
		return -EINVAL;
	}
	base = mmap(NULL, tofu_shm_size(header.nodes), PROT_READ, MAP_SHARED,
		    fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return -errno;
	machine->base = base;
	machine->nodes = header.nodes;
	machine->ppn = header.ppn;
	return 0;
}

static const char *state_of(const struct tofu_shm_node *entry)
{
	int pidfd;

	if (!(entry->life & TOFU_SHM_LIFE_UP))
		return "down";
	pidfd = tofu_process_open(entry->pid, entry->start);
	if (pidfd == -ESRCH)
		return "dead";
	if (pidfd >= 0)
		close(pidfd);
	return "up";
}

/* Bytes that are sent and not taken; nothing while a ring is only begun. */
static uint64_t ring_fill(const struct machine *machine, uint32_t dst,
			  uint32_t src, enum tofu_class class_)
{
	uint64_t index = tofu_shm_ring_index(machine->nodes, dst, src, class_);
	const struct tofu_shm_ring *ring =
		(const void *)(machine->base +
			       tofu_shm_ring_offset(machine->nodes, index));
	uint64_t head =
		ring->head_conn == ring->conn ? ring->head : ring->start;
	uint64_t fill = ring->tail - head;

	return fill <= TOFU_SHM_RING ? fill : 0;
}

static struct report look(const struct machine *machine, uint32_t node)
{
	const struct tofu_shm_node *entry =
		(const void *)(machine->base + tofu_shm_node_offset(node));
	struct report report = {
		.state = state_of(entry),
		.gen = tofu_shm_gen(entry->life),
		.pid = entry->pid,
		.asleep = entry->want_wake != 0,
		.pieces = entry->ram_count,
	};

	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		for (uint32_t src = 0; src < machine->nodes; src++)
			report.waiting[class_] +=
				ring_fill(machine, node, src, class_);
	return report;
}

static void show_json(const struct machine *machine)
{
	struct tofu_json json = { .out = stdout };
	char shape[TOFU_SHAPE_TEXT];

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "shape",
			 tofu_shape_text(&machine->shape, shape));
	tofu_json_number(&json, "processes_a_node", machine->ppn);
	tofu_json_open(&json, "nodes", '[');
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct report report = look(machine, n);

		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "node", n / machine->ppn);
		tofu_json_number(&json, "process", n % machine->ppn);
		tofu_json_string(&json, "state", report.state);
		tofu_json_number(&json, "generation", report.gen);
		tofu_json_number(&json, "pid", (uint64_t)report.pid);
		tofu_json_bool(&json, "asleep", report.asleep);
		tofu_json_number(&json, "memory_pieces", report.pieces);
		tofu_json_number(&json, "request_bytes",
				 report.waiting[TOFU_REQUEST]);
		tofu_json_number(&json, "response_bytes",
				 report.waiting[TOFU_RESPONSE]);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

/* As node, or node.process where nodes can have several. */
static void show_node(struct tofu_table *table, const struct machine *machine,
		      uint32_t n)
{
	if (machine->ppn == 1)
		tofu_table_cell(table, "%" PRIu32, n);
	else
		tofu_table_cell(table, "%" PRIu32 ".%" PRIu32,
				n / machine->ppn, n % machine->ppn);
}

static void show_table(const struct machine *machine)
{
	static const struct tofu_column columns[] = {
		{ "node", 7 },	   { "state", -5 },    { "gen", 5 },
		{ "pid", 8 },	   { "asleep", -6 },   { "memory", 6 },
		{ "requests", 9 }, { "responses", 9 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = sizeof(columns) / sizeof(columns[0]),
	};

	tofu_table_head(&table);
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct report report = look(machine, n);

		show_node(&table, machine, n);
		tofu_table_cell(&table, "%s", report.state);
		tofu_table_cell(&table, "%" PRIu32, report.gen);
		tofu_table_cell(&table, "%d", report.pid);
		tofu_table_cell(&table, "%s", report.asleep ? "yes" : "no");
		tofu_table_cell(&table, "%" PRIu32, report.pieces);
		tofu_table_cell(&table, "%" PRIu64,
				report.waiting[TOFU_REQUEST]);
		tofu_table_cell(&table, "%" PRIu64,
				report.waiting[TOFU_RESPONSE]);
	}
}

static void show(const struct machine *machine, bool json)
{
	if (json)
		show_json(machine);
	else
		show_table(machine);
}

/* ---- clocks ---- */

/**
 * struct hand - of a node's clock
 * @state: "apart", "ready" (it has come, others are missing), or "joined"
 * @time:  of a node that has joined: common time, ns
 * @waits_for: the node that it waits for, or -1
 */
struct hand {
	const char *state;
	uint64_t time;
	int waits_for;
};

static struct hand read_hand(const struct machine *machine, uint32_t node)
{
	const struct tofu_shm_node *entry =
		(const void *)(machine->base + tofu_shm_node_offset(node));
	const struct tofu_shm_clock *clock =
		(const void *)(machine->base +
			       tofu_shm_clock_offset(machine->nodes, node));
	struct hand hand = { .state = "apart", .waits_for = -1 };
	uint64_t word = clock->state, state;
	uint32_t waits_for = clock->waits_for;

	state = TOFU_GET(word, TOFU_SHM_CLOCK_STATE);
	/* The words may be those of an earlier life. */
	if (!(entry->life & TOFU_SHM_LIFE_UP) || !state ||
	    TOFU_GET(word, TOFU_SHM_CLOCK_GEN) != tofu_shm_gen(entry->life))
		return hand;
	hand.state = state == TOFU_SHM_CLOCK_JOINED ? "joined" : "ready";
	hand.time = clock->now;
	if (waits_for && waits_for <= machine->nodes)
		hand.waits_for = (int)waits_for - 1;
	return hand;
}

static void clocks_json(const struct machine *machine)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	tofu_json_open(&json, "nodes", '[');
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct hand hand = read_hand(machine, n);

		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "node", n);
		tofu_json_string(&json, "state", hand.state);
		tofu_json_number(&json, "time", hand.time);
		if (hand.waits_for >= 0)
			tofu_json_number(&json, "waits_for",
					 (uint64_t)hand.waits_for);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

static void clocks_table(const struct machine *machine)
{
	static const struct tofu_column columns[] = {
		{ "node", 5 },
		{ "state", -6 },
		{ "ns", 16 },
		{ "waits for", 9 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = sizeof(columns) / sizeof(columns[0]),
	};

	tofu_table_head(&table);
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct hand hand = read_hand(machine, n);

		tofu_table_cell(&table, "%" PRIu32, n);
		tofu_table_cell(&table, "%s", hand.state);
		tofu_table_cell(&table, "%" PRIu64, hand.time);
		if (hand.waits_for < 0)
			tofu_table_cell(&table, "-");
		else
			tofu_table_cell(&table, "%d", hand.waits_for);
	}
}

static void clocks(const struct machine *machine, bool json)
{
	if (json)
		clocks_json(machine);
	else
		clocks_table(machine);
}

static int look_into(const char *path, bool json,
		     void (*print)(const struct machine *machine, bool json))
{
	struct machine machine;
	int err = map_machine(path, &machine);

	if (err == -EINVAL) {
		fprintf(stderr, "tofu-fabric: %s is no fabric\n", path);
		return STATUS_FAILED;
	}
	if (err)
		return failed(path, err);
	print(&machine, json);
	munmap((void *)machine.base, tofu_shm_size(machine.nodes));
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "shape", required_argument, NULL, 's' },
		{ "ppn", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const char *shape = NULL;
	uint32_t ppn = 1;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "s:p:jh", options, NULL)) >= 0) {
		switch (option) {
		case 's':
			shape = optarg;
			break;
		case 'p':
			ppn = (uint32_t)tofu_arg_number("--ppn", optarg, 1,
							TOFU_FABRIC_PPN_MAX);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_SUCCESS;
		default:
			return STATUS_USAGE;
		}
	}
	if (argc - optind != 2)
		usage("what to do, and a path");
	if (!strcmp(argv[optind], "format"))
		return format(argv[optind + 1], shape, ppn);
	if (!strcmp(argv[optind], "show"))
		return look_into(argv[optind + 1], json, show);
	if (!strcmp(argv[optind], "clocks"))
		return look_into(argv[optind + 1], json, clocks);
	usage("format, show or clocks");
}
