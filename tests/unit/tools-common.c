// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#include "common/args.h"
#include "common/json.h"
#include "common/stats.h"
#include "common/table.h"

/* Return: the output of @write, to be freed. */
static char *printed(void (*write)(FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	write(out);
	fclose(out);
	return text;
}

/* Exit status of a process that reads @text as a list of sizes. */
static int sizes_status(const char *text)
{
	struct tofu_sizes sizes;
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		fclose(stderr);
		tofu_arg_sizes("--size", text, 1, 1 << 20, &sizes);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

TEST(sizes_are_read)
{
	struct tofu_sizes sizes;

	tofu_arg_sizes("--size", "3,8:64,1K,2k:5K", 1, 1 << 20, &sizes);
	ASSERT_EQ(8, sizes.count);
	EXPECT_EQ(3, sizes.size[0]);
	EXPECT_EQ(8, sizes.size[1]);
	EXPECT_EQ(64, sizes.size[4]);
	EXPECT_EQ(1024, sizes.size[5]);
	EXPECT_EQ(2048, sizes.size[6]);
	EXPECT_EQ(4096, sizes.size[7]);
}

TEST(bad_sizes_are_refused)
{
	static const char *const bad[] = { "", ",", "8,", "0", "-1", "8:", ":8",
					   "16:8", "2M", "8x", "0:8", "1KK",
					   "99999999999999999999", "1:2M" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(2, sizes_status(bad[i]))
			TH_LOG("'%s'", bad[i]);
	}
	EXPECT_EQ(0, sizes_status("1M"));
}

/* ---- Tables of options ---- */

static const char *const colours[] = { "red", "green", "blue", NULL };

struct wanted {
	bool loud;
	uint32_t small;
	int64_t large;
	struct tofu_sizes sizes;
	unsigned int colour;
	unsigned int some;
	const char *name;
};

static void colour_add(void *to, const char *option, unsigned int word)
{
	(void)option;
	((struct wanted *)to)->some |= 1U << word;
}

static void colours_take(void *wanted, const char *option, const char *text)
{
	tofu_arg_words(option, text, colours, 2, colour_add, wanted);
}

static void quiet_do(void *wanted, const char *option, const char *text)
{
	if (!text && !strcmp(option, "--quiet"))
		((struct wanted *)wanted)->loud = false;
}

#define WANTED(member) TOFU_AT(struct wanted, member)

static const struct tofu_option wanted_table[] = {
	{ "loud", TOFU_ARG_SET, WANTED(loud), .min = true },
	{ "quiet", TOFU_ARG_DO, .take = quiet_do },
	{ "small", TOFU_ARG_NUMBER, WANTED(small), .min = 1, .max = 9 },
	{ "large", TOFU_ARG_NUMBER, WANTED(large), .max = INT64_MAX },
	{ "sizes", TOFU_ARG_SIZES, WANTED(sizes), .min = 1, .max = 99 },
	{ "colour", TOFU_ARG_WORD, WANTED(colour), .words = colours },
	{ "some", TOFU_ARG_TAKE, .take = colours_take },
	{ "name", TOFU_ARG_TEXT, WANTED(name) },
};

static const struct tofu_args wanted_args = { TOFU_ARGS("usage\n",
							wanted_table) };

#define PARSE(args, wanted, ...)                                        \
	({                                                              \
		char *words[] = { "test", __VA_ARGS__, NULL };          \
		optind = 0;                                             \
		tofu_args_parse(args, (int)(sizeof(words) / sizeof(words[0])) - 1, words, \
				wanted);                                \
	})

TEST(options_are_kept_where_the_table_says)
{
	struct wanted wanted = { .large = -1, .some = 4 };
	uint64_t given = PARSE(&wanted_args, &wanted, "--loud", "--small", "9",
			       "--large=6G", "--sizes", "1:4", "--colour",
			       "blue", "--some", "each", "--name", "x y");

	EXPECT_EQ(0xfd, given);
	EXPECT_TRUE(wanted.loud);
	EXPECT_EQ(9, wanted.small);
	EXPECT_EQ(INT64_C(6) << 30, wanted.large);
	EXPECT_EQ(3, wanted.sizes.count);
	EXPECT_EQ(2, wanted.colour);
	EXPECT_EQ(7, wanted.some);
	EXPECT_STREQ("x y", wanted.name);
	given = PARSE(&wanted_args, &wanted, "--quiet", "--some=blue,red");
	EXPECT_EQ(1 << 1 | 1 << 6, given);
	EXPECT_FALSE(wanted.loud);
	/* Options that are not given keep their values. */
	EXPECT_EQ(9, wanted.small);
}

/* Exit status of a process that reads these words. */
#define STATUS(...)                                                      \
	({                                                               \
		struct wanted wanted = { 0 };                            \
		pid_t pid = fork();                                      \
		int status = -1;                                         \
		if (pid == 0) {                                          \
			fclose(stderr);                                  \
			fclose(stdout);                                  \
			PARSE(&wanted_args, &wanted, __VA_ARGS__);       \
			_exit(77);                                       \
		}                                                        \
		waitpid(pid, &status, 0);                                \
		WEXITSTATUS(status);                                     \
	})

TEST(bad_command_lines_are_refused)
{
	EXPECT_EQ(77, STATUS("--small", "1"));
	EXPECT_EQ(0, STATUS("--help"));
	EXPECT_EQ(2, STATUS("--small", "0"));
	EXPECT_EQ(2, STATUS("--small"));
	EXPECT_EQ(2, STATUS("--loud=1"));
	EXPECT_EQ(2, STATUS("--nonsense"));
	EXPECT_EQ(2, STATUS("word"));
	EXPECT_EQ(2, STATUS("--colour", "each"));
	EXPECT_EQ(2, STATUS("--some", "red,"));
}

TEST(operands_are_left_where_they_may_be)
{
	struct tofu_args args = wanted_args;
	struct wanted wanted = { 0 };
	char *words[] = { "test", "file", "--loud", NULL };

	args.operands = true;
	optind = 0;
	EXPECT_EQ(1, tofu_args_parse(&args, 3, words, &wanted));
	EXPECT_STREQ("file", words[optind]);
}

TEST(percentiles_are_by_nearest_rank)
{
	uint64_t value[100];
	struct tofu_stats stats;

	for (unsigned int i = 0; i < 100; i++)
		value[i] = (i * 37 + 1) % 100 + 1;
	stats = tofu_stats_of(value, 100);
	EXPECT_EQ(1, stats.min);
	EXPECT_EQ(25, stats.lower);
	EXPECT_EQ(50, stats.median);
	EXPECT_EQ(75, stats.upper);
	EXPECT_EQ(99, stats.p99);
	EXPECT_EQ(100, stats.max);
	stats = tofu_stats_of(value, 1);
	EXPECT_EQ(1, stats.min);
	EXPECT_EQ(1, stats.p99);
	stats = tofu_stats_of(value, 0);
	EXPECT_EQ(0, stats.max);
}

static void write_json(FILE *out)
{
	struct tofu_json json = { .out = out };

	tofu_json_open(&json, NULL, '{');
	tofu_json_string(&json, "t", "a\"b\\c\n\x01\xff \xc3\xa9");
	tofu_json_open(&json, "e", '[');
	tofu_json_close(&json, ']');
	tofu_json_real(&json, "r", NAN);
	tofu_json_number(&json, "n", UINT64_MAX);
	tofu_json_bool(&json, "b", true);
	tofu_json_close(&json, '}');
}

TEST(json_is_escaped)
{
	char *text = printed(write_json);

	EXPECT_STREQ("\n{\n  \"t\": \"a\\\"b\\\\c\\u000a\\u0001\\ufffd "
		     "\xc3\xa9\",\n  \"e\": [],\n  \"r\": null,\n  \"n\": "
		     "18446744073709551615,\n  \"b\": true\n}\n" + 1, text);
	free(text);
}

static void write_table(FILE *out)
{
	static const struct tofu_column columns[] = { { "name", -6 },
						      { "µs", 4 } };
	struct tofu_table table = { .out = out, .column = columns,
				    .columns = 2 };

	tofu_table_head(&table);
	tofu_table_cell(&table, "ab");
	tofu_table_cell(&table, "%d", 12);
	tofu_table_cell(&table, "longer than it");
	tofu_table_cell(&table, "%d", 123456);
}

TEST(tables_are_aligned_by_characters)
{
	char *text = printed(write_table);

	EXPECT_STREQ("name      µs\n"
		     "ab        12\n"
		     "longer than it  123456\n", text);
	free(text);
}

TEST_HARNESS_MAIN
