// SPDX-License-Identifier: MIT
/*
 * The file of a node's trace, on a disk that is full: a limit of the size of
 * files stands for it.
 */
#define _GNU_SOURCE
#include "node/trace.h"

#include <signal.h>
#include <sys/resource.h>

#include "harness.h"

#define LIMIT (1U << 20)
#define LOST 10

static struct icc_trace_header header_of(const char *path)
{
	struct icc_trace_header header = { 0 };
	FILE *file = fopen(path, "r");

	if (!file || fread(&header, sizeof(header), 1, file) != 1)
		abort();
	fclose(file);
	return header;
}

TEST(a_trace_says_how_much_of_it_is_lost)
{
	const struct tofu_preset *machine = tofu_preset_find("fugaku");
	const struct rlimit limit = { LIMIT, LIMIT };
	const struct icc_trace record = { .kind = ICC_TRACE_DOORBELL };
	const size_t fit = (LIMIT - sizeof(struct icc_trace_header)) /
			   sizeof(record);
	char path[] = "/tmp/node-trace-XXXXXX";
	struct icc_trace_header header;
	struct tofu_trace *trace;
	struct tofu_shape shape;

	ASSERT_EQ(0, tofu_shape_parse("2", &shape));
	close(mkstemp(path));
	signal(SIGXFSZ, SIG_IGN);
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	ASSERT_EQ(0, tofu_trace_create(path, &shape, 1, machine, &trace));
	for (size_t i = 0; i < fit; i++)
		ASSERT_TRUE(tofu_trace_add(trace, &record));
	EXPECT_EQ(0, header_of(path).lost);
	for (size_t i = 0; i < LOST; i++)
		EXPECT_FALSE(tofu_trace_add(trace, &record));
	tofu_trace_destroy(trace);
	header = header_of(path);
	EXPECT_EQ(fit, header.records);
	EXPECT_EQ(LOST, header.lost);
	EXPECT_EQ(0, strcmp("fugaku", header.machine));
	unlink(path);
}

TEST_HARNESS_MAIN
