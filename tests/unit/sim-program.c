// SPDX-License-Identifier: MIT
/*
 * Programs that run once for each of five nodes, in turns: as executables, as
 * stripped ones and as shared objects. tests/unit/sim-programs/ has them. They
 * look at what they should find, and end with a status above 19 where they do
 * not: the line's number modulo 200, plus 20.
 */

#include "harness.h"

#include <limits.h>
#include <signal.h>
#include <ucontext.h>

#include "sim/libc.h"
#include "sim/program.h"
#include "sim-programs/nodes.h"

#define NODES 5
#define STACK_BYTES (256 << 10)

/**
 * struct coroutine - a node
 * @notes: what the program noted
 * @data:  what it registered
 */
struct coroutine {
	ucontext_t context;
	void *stack;
	bool ended;
	int status;
	uint64_t time;
	char notes[256];
	uintptr_t data;
};

static struct coroutine nodes[NODES];
static ucontext_t scheduler;
static int64_t running = -1;
static struct sim_program *program;
static int arg_count;
static char **arg_texts;
static int refused;
static int crash_signal;
static void *crash_place;

/* ---- What programs call ---- */

static void leave(void)
{
	int64_t node = running;

	running = -1;
	swapcontext(&nodes[node].context, &scheduler);
}

int tofu_test_node(void)
{
	return running;
}

void tofu_test_turn(void)
{
	leave();
}

void tofu_test_note(const char *text)
{
	char *notes = nodes[running].notes;
	size_t len = strlen(notes);

	snprintf(notes + len, sizeof(nodes->notes) - len, "%s", text);
}

void tofu_test_register(void *data, size_t __attribute__((unused)) len)
{
	nodes[running].data = (uintptr_t)data;
}

/* ---- Hooks ---- */

static int64_t running_node(void)
{
	return running;
}

static uint64_t now(void)
{
	return nodes[running].time;
}

static void spend(uint64_t ns)
{
	nodes[running].time += ns;
	leave();
}

static const char *variable(const char *name)
{
	static char text[32];

	if (strcmp(name, "TEST_RANK"))
		return NULL;
	snprintf(text, sizeof(text), "%d", (int)running);
	return text;
}

static void crashed(int64_t node, int sig, void *place)
{
	crash_signal = sig;
	crash_place = place;
	nodes[node].ended = true;
	running = -1;
	setcontext(&scheduler);
}

static void count_refusal(int64_t __attribute__((unused)) node,
			  const char __attribute__((unused)) *function)
{
	refused++;
}

static const struct sim_libc_hooks hooks = {
	.node = running_node,
	.now = now,
	.spend = spend,
	.yield = leave,
	.variable = variable,
	.crashed = crashed,
	.refused = count_refusal,
};

/* ---- Nodes in turns ---- */

static void run_node(void)
{
	int64_t node = running;

	nodes[node].status = sim_program_run(program, arg_count, arg_texts);
	nodes[node].ended = true;
	leave();
}

static void create_node(struct coroutine *node)
{
	node->stack = malloc(STACK_BYTES);
	getcontext(&node->context);
	node->context.uc_stack.ss_sp = node->stack;
	node->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&node->context, run_node, 0);
}

static void create_nodes(int argc, char **argv)
{
	arg_count = argc;
	arg_texts = argv;
	for (int i = 0; i < NODES; i++)
		create_node(&nodes[i]);
}

/* A turn of a node; false: it has ended */
static bool turn(int node)
{
	if (nodes[node].ended)
		return false;
	if (sim_program_switch(program, node))
		return false;
	running = node;
	swapcontext(&scheduler, &nodes[node].context);
	return true;
}

static void turn_all(void)
{
	bool more = true;

	while (more) {
		more = false;
		for (int i = 0; i < NODES; i++)
			more |= turn(i);
	}
}

/* path_of - a program in the folder beside this one's */
static const char *path_of(const char *name)
{
	static char path[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	while (len > 0 && path[len - 1] != '/')
		len--;
	snprintf(path + (len > 0 ? len : 0), 64, "sim-programs/%s", name);
	return path;
}

/* load - or skip the test, where the program could not be built */
#define LOAD(name)                                                          \
	do {                                                                \
		char *why = NULL;                                           \
									    \
		if (access(path_of(name), R_OK))                            \
			SKIP(return, "there is no %s", path_of(name));      \
		sim_libc_hooks_set(&hooks);                                 \
		if (sim_program_load(path_of(name), NODES, &program, &why)) \
			TH_LOG("%s", why);                                  \
		free(why);                                                  \
		ASSERT_TRUE(program);                                       \
	} while (0)

static void unload(void)
{
	sim_program_unload(program);
	for (int i = 0; i < NODES; i++)
		free(nodes[i].stack);
}

/* ---- Programs as executables and as shared objects ---- */

FIXTURE(form) { int unused; };
FIXTURE_VARIANT(form) { const char *suffix; };
FIXTURE_VARIANT_ADD(form, executable) { .suffix = "" };
FIXTURE_VARIANT_ADD(form, stripped) { .suffix = "-stripped" };
FIXTURE_VARIANT_ADD(form, shared) { .suffix = ".so" };
FIXTURE_SETUP(form) {}
FIXTURE_TEARDOWN(form)
{
	unload();
}

/* The test adds to a word of all nodes while one of them is in. */
static void check_data(struct harness_test *_metadata)
{
	char *argv[] = { "data", "x", NULL };

	create_nodes(2, argv);
	for (int i = 0; i < NODES; i++)
		ASSERT_TRUE(turn(i));
	for (int round = 1; round < 6; round++) {
		for (int i = 0; i < NODES; i++) {
			size_t len = 1 << 30;
			long *word = sim_program_at(program, i, nodes[i].data,
						    &len);

			EXPECT_LE(sizeof(*word), len);
			EXPECT_EQ(i == NODES - 1,
				  (uintptr_t)word == nodes[i].data);
			*word += i + 1;
		}
		for (int i = 0; i < NODES; i++)
			ASSERT_TRUE(turn(i));
	}
	turn_all();
	for (int i = 0; i < NODES; i++) {
		char notes[32];

		snprintf(notes, sizeof(notes), "+node %d-", i);
		EXPECT_TRUE(nodes[i].ended);
		EXPECT_EQ(i, nodes[i].status);
		EXPECT_STREQ(notes, nodes[i].notes);
	}
}

TEST_F(form, nodes_have_data_of_their_own)
{
	char name[32];

	snprintf(name, sizeof(name), "data%s", variant->suffix);
	LOAD(name);
	EXPECT_LT(sim_program_node_bytes(program), 4096);
	check_data(_metadata);
}

TEST_F(form, large_data_are_mapped)
{
	char name[32];

	snprintf(name, sizeof(name), "large%s", variant->suffix);
	LOAD(name);
	EXPECT_LT(2 << 20, sim_program_node_bytes(program));
	check_data(_metadata);
}

TEST_F(form, the_c_library_serves_each_node)
{
	char *argv[] = { "libc", "-v", "--count", "20", "-v",
			 "-c300", "rest", NULL };
	char name[32];

	snprintf(name, sizeof(name), "libc%s", variant->suffix);
	LOAD(name);
	create_nodes(7, argv);
	turn_all();
	for (int i = 0; i < NODES; i++) {
		EXPECT_EQ(i == 4 ? 4 : 30 + i, nodes[i].status);
		ASSERT_LE(9, strlen(nodes[i].notes));
		EXPECT_STREQ(i == 4 ? "" : "321-", nodes[i].notes + 9);
		EXPECT_EQ(i == 0, !strncmp(nodes[i].notes, nodes[0].notes, 9));
	}
	EXPECT_EQ(3 * NODES, refused);
	EXPECT_FALSE(getenv("TEST_PUT"));
}

TEST_F(form, objects_are_constructed_in_each_node)
{
	char *argv[] = { "objects", NULL };
	char name[32];

	snprintf(name, sizeof(name), "objects%s", variant->suffix);
	LOAD(name);
	create_nodes(1, argv);
	turn_all();
	for (int i = 0; i < NODES; i++) {
		char notes[96];

		snprintf(notes, sizeof(notes), "later %d a long name that is "
			 "not kept in the object itself", i);
		EXPECT_EQ(i, nodes[i].status);
		EXPECT_STREQ(notes, nodes[i].notes);
	}
}

TEST_F(form, a_crash_names_its_node)
{
	char *argv[] = { "crash", "segv", NULL };
	char name[32];

	snprintf(name, sizeof(name), "crash%s", variant->suffix);
	LOAD(name);
	ASSERT_EQ(0, sim_libc_catch());
	create_nodes(2, argv);
	turn_all();
	EXPECT_EQ(SIGSEGV, crash_signal);
	EXPECT_EQ(64, (uintptr_t)crash_place);
	for (int i = 0; i < NODES - 1; i++)
		EXPECT_EQ(0, nodes[i].status);
}

/* ---- One form will do ---- */

TEST(an_abort_is_a_crash)
{
	char *argv[] = { "crash", "abort", NULL };

	LOAD("crash");
	ASSERT_EQ(0, sim_libc_catch());
	create_nodes(2, argv);
	turn_all();
	EXPECT_EQ(SIGABRT, crash_signal);
	unload();
}

TEST(data_of_the_executable_can_be_added)
{
	static int mine = 3;
	char *argv[] = { "crash", NULL };

	LOAD("crash");
	ASSERT_EQ(0, sim_program_add(program, &mine, sizeof(mine)));
	for (int i = 0; i < NODES; i++) {
		ASSERT_EQ(0, sim_program_switch(program, i));
		EXPECT_EQ(3, mine);
		mine = i + 10;
	}
	for (int i = 0; i < NODES; i++) {
		ASSERT_EQ(0, sim_program_switch(program, i));
		EXPECT_EQ(i + 10, mine);
	}
	EXPECT_EQ(-EBUSY, sim_program_add(program, &mine, sizeof(mine)));
	create_nodes(1, argv);
	turn_all();
	unload();
}

TEST(another_program_can_follow)
{
	char *argv[] = { "crash", NULL };

	for (int i = 0; i < 3; i++) {
		LOAD(i % 2 ? "crash.so" : "crash");
		create_nodes(1, argv);
		turn_all();
		unload();
		memset(nodes, 0, sizeof(nodes));
		program = NULL;
	}
}

static void expect_refusal(struct harness_test *_metadata, const char *path,
			   int err, const char *words)
{
	char *why = NULL;

	EXPECT_EQ(err, sim_program_load(path, NODES, &program, &why));
	ASSERT_TRUE(why);
	EXPECT_TRUE(strstr(why, words))
		TH_LOG("%s", why);
	free(why);
}

TEST(what_is_no_program_of_the_library_is_refused)
{
	expect_refusal(_metadata, "/nowhere", -ENOENT, "No such file");
	expect_refusal(_metadata, "/dev/null", -ENOEXEC, "is not a program");
	expect_refusal(_metadata, path_of("without"), -ENOEXEC, "-ltofu");
	expect_refusal(_metadata, path_of("fixed"), -ENOEXEC, "-fPIE");
	expect_refusal(_metadata, path_of("static"), -ENOEXEC, "-ltofu");
	expect_refusal(_metadata, path_of("no-main.so"), -ENOEXEC, "main()");
	EXPECT_FALSE(program);
}

TEST_HARNESS_MAIN
