/* SPDX-License-Identifier: MIT */
/*
 * tofu-fabric: make the shared file of a machine, and look into one.
 *
 * May include: common/, fabric/
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
#include <sys/time.h>
#include <unistd.h>

#include "common/args.h"
#include "common/bridge.h"
#include "common/json.h"
#include "common/print.h"
#include "common/shape.h"
#include "common/table.h"
#include "fabric/clock.h"
#include "fabric/fabric.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2
#define STATUS_SECONDS 5

static const char help[] =
	"usage: tofu-fabric format PATH --shape SHAPE [--ppn N]\n"
	"       tofu-fabric show PATH [--json]\n"
	"       tofu-fabric clocks PATH [--json]\n"
	"       tofu-fabric status PATH\n"
	"\n"
	"The shared file by which the nodes of one machine exchange packets.\n"
	"\n"
	"format  makes PATH, which must not exist; a number is an inherited\n"
	"        descriptor of an empty file\n"
	"show    lists the processes of nodes: who they are, and what waits for them\n"
	"clocks  lists the clocks of nodes in virtual time, and who waits for whom\n"
	"status  asks the bridge of this host about the others, and prints JSON\n"
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
	fprintf(stderr, "tofu-fabric: %s: %s\n", path,
		err == -ENOSPC ? TOFU_FABRIC_FULL : strerror(-err));
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

static const char *const life_name[] = {
	[TOFU_LIFE_DOWN] = "down",
	[TOFU_LIFE_DEAD] = "dead",
	[TOFU_LIFE_UP] = "up",
};

static void show_json(struct tofu_fabric *machine)
{
	struct tofu_json json = { .out = stdout };
	char shape[TOFU_SHAPE_TEXT];

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "shape",
			 tofu_shape_text(&machine->shape, shape));
	tofu_json_number(&json, "processes_a_node", machine->ppn);
	tofu_json_open(&json, "nodes", '[');
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct tofu_fabric_report report;

		tofu_fabric_report(machine, n, &report);
		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "node", n / machine->ppn);
		tofu_json_number(&json, "process", n % machine->ppn);
		tofu_json_string(&json, "state", life_name[report.life]);
		tofu_json_number(&json, "generation", report.generation);
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
static void show_node(struct tofu_table *table, struct tofu_fabric *machine,
		      uint32_t n)
{
	if (machine->ppn == 1)
		tofu_table_cell(table, "%" PRIu32, n);
	else
		tofu_table_cell(table, "%" PRIu32 ".%" PRIu32,
				n / machine->ppn, n % machine->ppn);
}

static void show_table(struct tofu_fabric *machine)
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
		struct tofu_fabric_report report;

		tofu_fabric_report(machine, n, &report);
		show_node(&table, machine, n);
		tofu_table_cell(&table, "%s", life_name[report.life]);
		tofu_table_cell(&table, "%" PRIu32, report.generation);
		tofu_table_cell(&table, "%d", report.pid);
		tofu_table_cell(&table, "%s", report.asleep ? "yes" : "no");
		tofu_table_cell(&table, "%" PRIu32, report.pieces);
		tofu_table_cell(&table, "%" PRIu64,
				report.waiting[TOFU_REQUEST]);
		tofu_table_cell(&table, "%" PRIu64,
				report.waiting[TOFU_RESPONSE]);
	}
}

static void show(struct tofu_fabric *machine, bool json)
{
	if (json)
		show_json(machine);
	else
		show_table(machine);
}

/* ---- clocks ---- */

static const char *const state_name[] = {
	[TOFU_CLOCK_APART] = "apart",
	[TOFU_CLOCK_READY] = "ready",
	[TOFU_CLOCK_JOINED] = "joined",
};

static void clocks_json(struct tofu_fabric *machine)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	tofu_json_open(&json, "nodes", '[');
	for (uint32_t n = 0; n < machine->nodes; n++) {
		struct tofu_clock_report clock;

		tofu_fabric_clock_report(machine, n, &clock);
		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "node", n);
		tofu_json_string(&json, "state", state_name[clock.state]);
		tofu_json_number(&json, "time", clock.now);
		if (clock.waits_for >= 0)
			tofu_json_number(&json, "waits_for",
					 (uint64_t)clock.waits_for);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

static void clocks_table(struct tofu_fabric *machine)
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
		struct tofu_clock_report clock;

		tofu_fabric_clock_report(machine, n, &clock);
		tofu_table_cell(&table, "%" PRIu32, n);
		tofu_table_cell(&table, "%s", state_name[clock.state]);
		tofu_table_cell(&table, "%" PRIu64, clock.now);
		if (clock.waits_for < 0)
			tofu_table_cell(&table, "-");
		else
			tofu_table_cell(&table, "%d", clock.waits_for);
	}
}

static void clocks(struct tofu_fabric *machine, bool json)
{
	if (json)
		clocks_json(machine);
	else
		clocks_table(machine);
}

/* ---- status ---- */

static int connect_bridge(const char *path)
{
	const struct timeval limit = { .tv_sec = STATUS_SECONDS };
	struct sockaddr_un address;
	struct stat st;
	socklen_t bytes;
	int fd;

	if (stat(path, &st))
		return -errno;
	bytes = tofu_bridge_address(&st, &address);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Another user can have taken the name, and not answer. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&address, bytes) &&
	    tofu_bridge_is_own(fd))
		return fd;
	close(fd);
	return -ENOTCONN;
}

/* The bridge's own words, which are JSON. */
static int status(const char *path)
{
	char text[4096];
	size_t all = 0;
	ssize_t got;
	int fd = connect_bridge(path);

	if (fd == -ENOTCONN) {
		fprintf(stderr, "tofu-fabric: %s has no bridge here\n", path);
		return STATUS_FAILED;
	}
	if (fd < 0)
		return failed(path, fd);
	while ((got = read(fd, text, sizeof(text))) > 0) {
		fwrite(text, 1, (size_t)got, stdout);
		all += (size_t)got;
	}
	close(fd);
	tofu_print_end();
	if (all)
		return EXIT_SUCCESS;
	fprintf(stderr, "tofu-fabric: the bridge of %s does not answer\n", path);
	return STATUS_FAILED;
}

static int look_into(const char *path, bool json,
		     void (*print)(struct tofu_fabric *machine, bool json))
{
	struct tofu_fabric *machine;
	int err = tofu_fabric_observe(path, &machine);

	if (err == -EINVAL) {
		fprintf(stderr, "tofu-fabric: %s is no fabric\n", path);
		return STATUS_FAILED;
	}
	if (err)
		return failed(path, err);
	print(machine, json);
	tofu_fabric_detach(machine);
	tofu_print_end();
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
	if (!strcmp(argv[optind], "status"))
		return status(argv[optind + 1]);
	usage("format, show, clocks or status");
}
