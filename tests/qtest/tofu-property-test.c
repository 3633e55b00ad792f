/* SPDX-License-Identifier: MIT */
/*
 * Invalid properties: each has its message, and QEMU exits with status 1.
 */
#include "qemu/osdep.h"
#include "tofu-vm.h"

/* Starts QEMU, which must refuse; returns its message. */
static char *refusal_by(const char *accel, const char *args)
{
	g_autofree char *line = g_strdup_printf(
		"%s -accel %s -display none %s", g_getenv("QTEST_QEMU_BINARY"),
		accel, args);
	g_auto(GStrv) argv = g_strsplit(line, " ", -1);
	char *err = NULL;
	int status;

	g_assert_true(g_spawn_sync(NULL, argv, NULL,
				   G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
				   &err, &status, NULL));
	g_test_message("%s", g_strchomp(err));
	g_assert_true(WIFEXITED(status));
	g_assert_cmpint(WEXITSTATUS(status), ==, 1);
	return err;
}

static char *refusal(const char *args)
{
	return refusal_by("qtest", args);
}

/**
 * struct wrong - an invalid property and its message
 * @name: name of the test
 * @props: properties of the device
 * @says: up to three parts of the message
 */
struct wrong {
	const char *name;
	const char *props;
	const char *says[3];
};

static const struct wrong wrongs[] = {
	{ "tnis-0", ",tnis=0", { "'tnis' is 0", "1 to 6" } },
	{ "tnis-7", ",tnis=7", { "'tnis' is 7", "1 to 6" } },
	{ "tnis-word", ",tnis=four", { "tnis" } },
	{ "quiet-ns", ",quiet-ns=1000001",
	  { "'quiet-ns' is 1000001", "0 to 1000000" } },
	{ "inline-max", ",inline-max=16129",
	  { "'inline-max' is 16129", "0 to 16128" } },
	{ "node-below", ",node=-2", { "'node' is -2", "-1 for the lowest" } },
	{ "node-alone", ",node=3", { "'node' is 3", "'fabric'" } },
	{ "assist", ",assist=maybe", { "assist" } },
	{ "trap", ",trap=maybe", { "trap" } },
	{ "iothread", ",iothread=nobody", { "nobody" } },
	{ "machine", ",machine=cray", { "'machine' is 'cray'", "k, fx10" } },
	{ "machine-assist", ",machine=k,assist=on", { "'machine'", "'assist'" } },
	{ "machine-clock", ",machine=k",
	  { "'machine'", "-icount shift=0,sleep=off" } },
	{ "trace-alone", ",trace=/dev/null", { "'trace'", "'machine'" } },
	{ "fabric-missing", ",fabric=/nonexistent/fabric",
	  { "'fabric'", "/nonexistent/fabric" } },
	{ "fabric-other", ",fabric=/dev/null", { "'fabric'", "/dev/null" } },
};

static void test_wrong(const void *data)
{
	const struct wrong *wrong = data;
	g_autofree char *args = tofu_vm_args("64M", wrong->props);
	g_autofree char *err = refusal(args);
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(wrong->says) && wrong->says[i]; i++)
		g_assert_nonnull(strstr(err, wrong->says[i]));
}

static void test_no_such_node(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	g_autofree char *props = g_strdup_printf(",fabric=%s,node=2", fabric);
	g_autofree char *args = tofu_vm_args("64M", props);
	g_autofree char *err = refusal(args);

	g_assert_nonnull(strstr(err, "'node' = 2"));
	g_assert_nonnull(strstr(err, fabric));
}

static void test_node_is_taken(void)
{
	g_autofree char *fabric = tofu_fabric_make("2");
	g_autofree char *props = g_strdup_printf(",fabric=%s,node=1", fabric);
	g_autofree char *args = tofu_vm_args("64M", props);
	struct tofu_vm *vm = tofu_vm_start("64M", props);
	g_autofree char *err = refusal(args);

	g_assert_nonnull(strstr(err, "'node' = 1"));
	tofu_vm_stop(vm);
}

/* Memory that other nodes cannot read is refused if there are any. */
static void test_private_memory(void)
{
	static const char *const private[] = {
		"-m 64M",
		"-m 64M -machine memory-backend=mem0 "
		"-object memory-backend-memfd,id=mem0,size=64M,share=off",
	};
	g_autofree char *fabric = tofu_fabric_make("2");
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(private); i++) {
		g_autofree char *args = g_strdup_printf(
			"-nodefaults -machine pc -bios %s %s "
			"-device tofu-pci,fabric=%s", tofu_vm_firmware(), private[i], fabric);
		g_autofree char *err = refusal(args);

		g_assert_nonnull(strstr(err, "memory-backend-memfd"));
		g_assert_nonnull(strstr(err, "share=on"));
		g_assert_nonnull(strstr(err, "memory-backend=mem0"));
	}
}

/* TCG has atomic instructions only where processors may run in parallel. */
static void test_atomics(void)
{
	static const char *const wrong[][2] = {
		{ "tcg", "-smp 1" },
		{ "tcg,thread=single", "-smp 1,maxcpus=2" },
		{ "tcg", "-smp 1,maxcpus=2 -icount shift=0" },
	};
	g_autofree char *args = tofu_vm_args("64M", "");
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autofree char *all = g_strdup_printf("%s -S %s", wrong[i][1],
						       args);
		g_autofree char *err = refusal_by(wrong[i][0], all);

		g_assert_nonnull(strstr(err, "thread=multi"));
		g_assert_nonnull(strstr(err, "maxcpus=2"));
	}
}

static void test_help(void)
{
	g_autofree char *line = g_strdup_printf(
		"%s -device help", g_getenv("QTEST_QEMU_BINARY"));
	g_autofree char *out = NULL;
	const char *network, *tofu, *input;

	g_assert_true(g_spawn_command_line_sync(line, &out, NULL, NULL, NULL));
	network = strstr(out, "Network devices:");
	tofu = strstr(out, "\"tofu-pci\", bus PCI, desc \"Tofu");
	g_assert_nonnull(network);
	g_assert_nonnull(tofu);
	g_assert_true(tofu > network);
	input = strstr(network, "\n\n");
	g_assert_true(!input || tofu < input);
}

int main(int argc, char **argv)
{
	size_t i;

	g_test_init(&argc, &argv, NULL);
	for (i = 0; i < G_N_ELEMENTS(wrongs); i++) {
		g_autofree char *path = g_strdup_printf("tofu/property/%s",
							wrongs[i].name);

		qtest_add_data_func(path, &wrongs[i], test_wrong);
	}
	qtest_add_func("tofu/property/no-such-node", test_no_such_node);
	qtest_add_func("tofu/property/node-is-taken", test_node_is_taken);
	qtest_add_func("tofu/property/private-memory", test_private_memory);
	qtest_add_func("tofu/property/atomics", test_atomics);
	qtest_add_func("tofu/property/help", test_help);
	return g_test_run();
}
