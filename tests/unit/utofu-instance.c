/* SPDX-License-Identifier: MIT */
/*
 * Instances of the library: opened, closed and opened again, two in one
 * process, and how they wait.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fabric/fabric.h"
#include "harness.h"
#include "utofu-util.h"
#include "utofu/instance.h"
#include "utofu/time.h"

#define BYTES 4096
#define CYCLES 20

/* A VCQ with memory */
struct user {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint64_t *memory;
	utofu_stadd_t at;
};

static int user_open(struct user *user)
{
	user->memory = aligned_alloc(256, BYTES);
	memset(user->memory, 0, BYTES);
	return utofu_create_vcq(0, 0, &user->vcq) ||
	       utofu_query_vcq_id(user->vcq, &user->id) ||
	       utofu_reg_mem(user->vcq, user->memory, BYTES, 0, &user->at);
}

/* Whether a word comes from one to the other, which is polled as @to's */
static bool reaches(const struct user *from, struct tofu_instance *to_instance,
		    const struct user *to, uint64_t word)
{
	struct tofu_instance *own = tofu_instance();
	struct utofu_mrq_notice notice;
	int code = utofu_put_piggyback8(from->vcq, to->id, word, to->at, 8, 0,
					RMT, NULL);

	tofu_instance_current = to_instance;
	code = code ? code : tofu_wait_mrq(to->vcq, &notice);
	tofu_instance_current = own;
	return !code && to->memory[0] == word;
}

static int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int lines = 0, c;

	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

/* Free memory at once: ASan's quarantine would hide a leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=0:thread_local_quarantine_size_kb=0";
}

FIXTURE(instance)
{
	int fabric;
};

/* A machine of two nodes */
FIXTURE_SETUP(instance)
{
	const struct tofu_shape shape = { { 2, 1, 1, 1, 1, 1 } };
	char path[64];

	self->fabric = memfd_create("fabric", MFD_ALLOW_SEALING);
	ASSERT_GE(self->fabric, 0);
	ASSERT_EQ(tofu_fabric_format(self->fabric, &shape, 1), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fabric);
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_FABRIC", path, 1);
	setenv("TOFU_NODE", "0", 1);
}

FIXTURE_TEARDOWN(instance)
{
	close(self->fabric);
}

TEST_F(instance, is_opened_again_after_it_was_closed)
{
	utofu_vcq_hdl_t last = 0;
	int files = 0, maps = 0;

	for (int i = 0; i < CYCLES; i++) {
		utofu_vbg_id_t gates[3];
		struct user user;

		ASSERT_EQ(user_open(&user), 0);
		EXPECT_NE(user.vcq, last);
		last = user.vcq;
		EXPECT_TRUE(reaches(&user, tofu_instance(), &user, i + 1));
		/* Neither VCQ nor gates are freed. */
		ASSERT_EQ(utofu_alloc_vbg(1, 3, 0, gates), UTOFU_SUCCESS);
		tofu_instance_close();
		EXPECT_EQ(utofu_nop(user.vcq, 0, NULL),
			  UTOFU_ERR_INVALID_VCQ_HDL);
		EXPECT_EQ(utofu_free_vbg(gates, 3), UTOFU_ERR_INVALID_VBG_ID);
		free(user.memory);
		/* The first time the C library makes things to keep. */
		if (i == 1) {
			files = open_files();
			maps = mappings();
		}
	}
	EXPECT_EQ(open_files(), files);
	EXPECT_LT(mappings(), maps + CYCLES / 2);
}

TEST_F(instance, that_is_closed_twice_is_closed)
{
	utofu_vcq_hdl_t vcq;

	tofu_instance_close();
	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	tofu_instance_close();
	tofu_instance_close();
	EXPECT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
}

static struct tofu_instance second = {
	.mark = &second.nowhere,
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

TEST_F(instance, is_one_of_two_nodes_in_a_process)
{
	struct tofu_instance *first = tofu_instance();
	struct utofu_mrq_notice notice;
	struct user user[2];

	ASSERT_EQ(user_open(&user[0]), 0);
	tofu_instance_current = &second;
	EXPECT_EQ(utofu_nop(user[0].vcq, 0, NULL), UTOFU_ERR_INVALID_VCQ_HDL);
	setenv("TOFU_NODE", "1", 1);
	ASSERT_EQ(user_open(&user[1]), 0);
	EXPECT_NE(user[0].id, user[1].id);
	EXPECT_TRUE(reaches(&user[1], first, &user[0], 11));
	tofu_instance_current = first;
	EXPECT_TRUE(reaches(&user[0], &second, &user[1], 22));

	/* The other one goes: the fabric says so, and not to it alone. */
	tofu_instance_current = &second;
	tofu_instance_close();
	tofu_instance_current = first;
	EXPECT_EQ(utofu_put_piggyback8(user[0].vcq, user[1].id, 33, user[1].at,
				       8, 0, LCL, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(user[0].vcq, &notice), UTOFU_ERR_MRQ_PEER);
	EXPECT_EQ(user[1].memory[0], 22);
	EXPECT_TRUE(reaches(&user[0], first, &user[0], 44));
	free(user[1].memory);
}

/* ---- Waiting ---- */

static unsigned int turns[3], waits;

static unsigned int wait_counted(struct tofu_port_dev *port, unsigned int turn)
{
	(void)port;
	turns[waits++ % 3] = turn;
	return 5;
}

TEST(waiting_is_left_to_the_port_after_some_polls)
{
	const struct tofu_port_ops ops = { .wait = wait_counted };
	struct tofu_port_dev port = { .ops = &ops };
	struct tofu_turns loop = tofu_turns_begin(0);

	tofu_instance_current = &second;
	second.port = &port;
	for (unsigned int i = 0; i < TOFU_PATIENCE; i++)
		EXPECT_EQ(tofu_give_way(&loop), 1);
	EXPECT_EQ(waits, 0);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(tofu_give_way(&loop), 5);
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(turns[i], i);
	second.port = NULL;
}

TEST_HARNESS_MAIN
