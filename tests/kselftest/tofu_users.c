// SPDX-License-Identifier: MIT
/*
 * Several users of a node at once, one of them root of a user namespace: none
 * reaches the memory, queues or gates of another, and each has its limits.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tk_harness.h"

#define USERS 3
#define PAGE 4096UL
#define WORDS (PAGE / sizeof(uint64_t))
#define WORD(user) (0x1111111111111111ULL * (1 + (user)))
#define MEMLOCK (64UL << 10)

/* Limits while a test runs, such that all users together can reach them */
#define CQS 3
#define CHANNELS 4
#define GATES 10

/**
 * struct user - a user and its process
 * @uid:   user ID
 * @space: root of a user namespace
 * @pid:   process
 * @cq, @gates: what it has; pointers are its own
 * @stadd: of a page of WORD()
 * @line:  where it failed, or 0
 */
struct user {
	unsigned int uid;
	bool space;
	pid_t pid;
	struct tk_cq cq;
	struct tk_gates gates;
	uint64_t stadd;
	int line;
};

/**
 * struct team - users that do the same at the same time
 * @user: users
 * @one:  all of them are one user
 * @met:  how many have come to a meeting so far
 */
struct team {
	struct user user[USERS];
	bool one;
	unsigned int met;
};

/* What one of them has itself */
struct mine {
	struct team *team;
	unsigned int me;
	struct tk_cq cq;
	struct tk_mem mem;
	struct tk_gates gates;
};

#define CHECK(what) \
	do { \
		if (!(what)) { \
			mine->team->user[mine->me].line = __LINE__; \
			_exit(1); \
		} \
	} while (0)

/* Waits until all are here, for the @round-th time. */
static bool meet(struct team *team, unsigned int round)
{
	int i;

	__atomic_add_fetch(&team->met, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < TK_LIMIT_S * 1000; i++) {
		if (__atomic_load_n(&team->met, __ATOMIC_SEQ_CST) >=
		    USERS * round)
			return true;
		usleep(1000);
	}
	return false;
}

/* ---- Becoming a user ---- */

static bool write_map(const char *path, unsigned int uid)
{
	char text[32];

	snprintf(text, sizeof(text), "0 %u 1", uid);
	return !tk_write(path, text);
}

/* For good, without root as the saved user. */
static bool become(unsigned int uid, bool space)
{
	const struct rlimit limit = { MEMLOCK, MEMLOCK };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setresuid(uid, uid, uid))
		return false;
	if (!space)
		return true;
	/* Its files in /proc would be root's. */
	return !prctl(PR_SET_DUMPABLE, 1) && !unshare(CLONE_NEWUSER) &&
	       write_map("/proc/self/uid_map", uid) && !getuid();
}

static bool has_user_namespaces(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(!become(3000, true));
	return waitpid(child, &status, 0) == child && !status;
}

/* ---- Memory and queues ---- */

static int end_of(struct mine *mine, struct tofu_toq_desc desc)
{
	struct tofu_mrq_entry entry;
	int ret;

	tk_post(&mine->cq, desc, NULL);
	ret = tk_mrq(&mine->cq, &entry);
	return ret ? ret : (int)TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS);
}

/* Words 0 and 1 of the other's page; the own words 2 and 3 get what is there. */
static void reach_for(struct mine *mine, unsigned int other)
{
	const struct user *user = &mine->team->user[other];
	bool same = other == mine->me || mine->team->one;
	int status = same ? TOFU_ST_OK : TOFU_ST_PEER;
	uint64_t own = mine->mem.stadd;

	CHECK(end_of(mine, tk_desc(&mine->cq, &user->cq, TOFU_CMD_GET,
				   TOFU_TOQ_F_LCL_NOTICE, user->stadd + 32,
				   own + 16, 8)) == status);
	CHECK(end_of(mine, tk_desc(&mine->cq, &user->cq, TOFU_CMD_PUT,
				   TOFU_TOQ_F_LCL_NOTICE, user->stadd,
				   own + 32, 8)) == status);
	CHECK(end_of(mine, tk_desc(&mine->cq, &user->cq,
				   TOFU_CMD_PUT_PIGGYBACK,
				   TOFU_TOQ_F_LCL_NOTICE |
				   (same ? 0 : TOFU_TOQ_F_RMT_NOTICE),
				   user->stadd, 1, 8)) == status);
	CHECK(end_of(mine, tk_armw(&mine->cq, &user->cq, TOFU_ARMW_SWAP, 8,
				   user->stadd + 8, 1)) == status);
}

static bool page_is_own(const struct mine *mine)
{
	const uint64_t *word = mine->mem.addr;
	size_t i;

	for (i = 0; i < WORDS; i++)
		if (word[i] != WORD(mine->me))
			return false;
	return true;
}

static void try_memory(struct mine *mine)
{
	struct tofu_mrq_entry entry;
	unsigned int other;

	for (other = 0; other < USERS; other++)
		if (other != mine->me)
			reach_for(mine, other);
	CHECK(meet(mine->team, 2));
	CHECK(mine->team->one || page_is_own(mine));
	CHECK(tk_mrq_try(&mine->cq, &entry) == -EAGAIN);
	reach_for(mine, mine->me);
	CHECK(!page_is_own(mine));
}

/* Not even by the file of another's process */
static void try_files(struct mine *mine)
{
	unsigned int other;
	char path[64];
	int fd;

	for (other = 0; other < USERS && !mine->team->one; other++) {
		const struct user *user = &mine->team->user[other];

		if (other == mine->me)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)user->pid,
			 user->cq.fd);
		fd = open(path, O_RDWR);
		CHECK(fd < 0 && errno == EACCES);
	}
}

/* ---- Gates ---- */

/* Each gate waits for the one before it, in a ring. */
static void try_gates(struct mine *mine)
{
	const unsigned int before = (mine->me + USERS - 1) % USERS;
	const unsigned int after = (mine->me + 1) % USERS;
	const struct user *user = mine->team->user;
	const struct tofu_ioc_gate_set ring = {
		.src_rmt = tk_link_rmt(&user[before].gates, 0),
		.dst_rmt = tk_link_rmt(&user[after].gates, 0),
	};

	CHECK(!tk_gate_set(&mine->gates, 0, ring));
	CHECK(meet(mine->team, 3));
	tk_gates_start(&mine->gates, TOFU_REDUCE_BARRIER, 0, NULL);
	CHECK(meet(mine->team, 4));
	if (mine->team->one) {
		CHECK(tk_gates_wait(&mine->gates) == TOFU_BARRIER_OK);
		return;
	}
	/* The engine has done what came before this. */
	CHECK(!tk_put(&mine->cq, &mine->cq, mine->mem.stadd,
		      mine->mem.stadd + 8, 8));
	CHECK(!tk_gates_ended(&mine->gates));
}

/* ---- Limits ---- */

/* How many CQs of TNI 1 one can have; they stay open. */
static int cqs_taken(const struct mine *mine)
{
	struct tofu_ioc_cq_create arg = {
		.size = sizeof(arg), .tni = 1, .cq = TOFU_CQ_ANY,
	};
	int count = 0, ret;

	while (!(ret = tk_ioctl(mine->cq.dev, TOFU_IOC_CQ_CREATE, &arg))) {
		arg.cq = TOFU_CQ_ANY;
		memset(arg.map, 0, sizeof(arg.map));
		arg.fd = 0;
		count++;
	}
	return ret == -ENOSPC ? count : ret;
}

/* The same for channels with @each gates */
static int channels_taken(const struct mine *mine, unsigned int each)
{
	int count = 0, ret;

	for (;;) {
		struct tofu_ioc_gates_create arg = {
			.size = sizeof(arg), .tni = 1, .count = each,
		};

		ret = tk_ioctl(mine->cq.dev, TOFU_IOC_GATES_CREATE, &arg);
		if (ret)
			return ret == -ENOSPC ? count : ret;
		count++;
	}
}

/* Root of a user namespace has the limits of its user, as others do. */
static void try_limits(struct mine *mine)
{
	struct tk_mem mem;

	CHECK(tk_mem_new(&mine->cq, 2 * MEMLOCK, &mem) == -ENOMEM);
	if (mine->team->one)
		return;
	CHECK(cqs_taken(mine) == CQS);
	CHECK(channels_taken(mine, GATES - 1) == 1);
	/* One gate is left, and more channels. */
	CHECK(channels_taken(mine, 1) == 1);
}

/* ---- A team ---- */

static void play(struct team *team, unsigned int me)
{
	struct mine place = { .team = team, .me = me }, *mine = &place;
	struct user *user = &team->user[me];
	uint64_t *word;
	size_t i;

	CHECK(become(user->uid, user->space));
	CHECK(!tk_cq_open(&mine->cq));
	CHECK(!tk_mem_new(&mine->cq, PAGE, &mine->mem));
	CHECK(!tk_gates_open(&mine->gates, 0, 1));
	word = mine->mem.addr;
	for (i = 0; i < WORDS; i++)
		word[i] = WORD(me);
	user->pid = getpid();
	user->cq = mine->cq;
	user->gates = mine->gates;
	user->stadd = mine->mem.stadd;
	CHECK(meet(team, 1));
	try_memory(mine);
	try_files(mine);
	try_gates(mine);
	CHECK(meet(team, 5));
	try_limits(mine);
	CHECK(meet(team, 6));
	_exit(0);
}

static void play_all(struct __test_metadata *_metadata,
		     const struct user users[USERS], bool one)
{
	struct team *team = mmap(NULL, sizeof(*team), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child[USERS];
	int i, status;

	ASSERT_NE(MAP_FAILED, team);
	memcpy(team->user, users, sizeof(team->user));
	team->one = one;
	for (i = 0; i < USERS; i++) {
		child[i] = fork();
		if (!child[i])
			play(team, i);
	}
	for (i = 0; i < USERS; i++) {
		EXPECT_EQ(child[i], waitpid(child[i], &status, 0));
		EXPECT_EQ(0, status)
			TH_LOG("user %u: line %d", team->user[i].uid,
			       team->user[i].line);
	}
	munmap(team, sizeof(*team));
}

static const char * const params[] = {
	"cqs_per_user", "channels_per_user", "gates_per_user",
};

/* Sets the module's parameters and returns the old ones in @value. */
static bool params_swap(int value[3])
{
	char path[96], text[16];
	int i, old;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/module/tofu/parameters/%s",
			 params[i]);
		snprintf(text, sizeof(text), "%d", value[i]);
		old = tk_param(params[i]);
		if (old < 0 || tk_write(path, text))
			return false;
		value[i] = old;
	}
	return true;
}

static void play_limited(struct __test_metadata *_metadata,
			 const struct user users[USERS])
{
	int value[3] = { CQS, CHANNELS, GATES };

	ASSERT_TRUE(params_swap(value));
	play_all(_metadata, users, false);
	EXPECT_TRUE(params_swap(value));
}

/* What the others must not be able to do can be done. */
TEST_F_TIMEOUT(tofu, one_user_three_times, TK_TIMEOUT_S)
{
	static const struct user users[USERS] = {
		{ .uid = 1000 }, { .uid = 1000 }, { .uid = 1000 },
	};

	play_all(_metadata, users, true);
}

TEST_F_TIMEOUT(tofu, three_users, TK_TIMEOUT_S)
{
	static const struct user users[USERS] = {
		{ .uid = 1000 }, { .uid = 2000 }, { .uid = 3000 },
	};

	play_limited(_metadata, users);
}

TEST_F_TIMEOUT(tofu, two_users_and_one_in_a_namespace, TK_TIMEOUT_S)
{
	static const struct user users[USERS] = {
		{ .uid = 1000 }, { .uid = 2000 },
		{ .uid = 3000, .space = true },
	};

	if (!has_user_namespaces())
		SKIP(return, "a kernel without user namespaces");
	play_limited(_metadata, users);
}

/* ---- Groups ---- */

/* The same low 16 bits as 1000, as in the next range of a user namespace */
#define SAME_LOW (65536 + 1000)
/* (65536 + 26033): 26033 + 40503 is 1000, modulo 65536 */
#define SAME_GROUP (65536 + 26033)

TEST_F(tofu, users_of_two_ranges_are_apart)
{
	struct tk_mem mem, other_mem;
	struct tk_cq cq, other;

	ASSERT_EQ(0, tk_become(1000));
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_mem_new(&cq, PAGE, &mem));
	ASSERT_EQ(0, tk_become(SAME_LOW));
	ASSERT_EQ(0, tk_cq_open(&other));
	ASSERT_EQ(0, tk_mem_new(&other, PAGE, &other_mem));
	EXPECT_EQ(TOFU_ST_PEER, tk_put(&other, &cq, mem.stadd,
				       other_mem.stadd, 8));
	EXPECT_EQ(TOFU_ST_OK, tk_put(&cq, &cq, mem.stadd, mem.stadd + 8, 8));
	ASSERT_EQ(0, tk_become(0));
	tk_mem_free(&cq, &mem);
	tk_mem_free(&other, &other_mem);
	tk_cq_close(&cq);
	tk_cq_close(&other);
}

TEST_F(tofu, a_group_has_one_user_at_a_time)
{
	struct tk_gates gates;
	struct tk_cq cq;

	ASSERT_EQ(0, tk_become(1000));
	ASSERT_EQ(0, tk_cq_open(&cq));
	ASSERT_EQ(0, tk_become(SAME_GROUP));
	EXPECT_EQ(-EUSERS, tk_cq_create(&(struct tk_cq){ 0 }));
	EXPECT_EQ(-EUSERS, tk_gates_create(&gates, 1, 1));
	tk_cq_close(&cq);
	ASSERT_EQ(0, tk_gates_create(&gates, 1, 1));
	ASSERT_EQ(0, tk_become(1000));
	EXPECT_EQ(-EUSERS, tk_cq_create(&cq));
	EXPECT_EQ(-EUSERS, tk_gates_create(&(struct tk_gates){ 0 }, 0, 1));
	tk_gates_close(&gates);
	ASSERT_EQ(0, tk_cq_create(&cq));
	tk_cq_close(&cq);
	ASSERT_EQ(0, tk_become(0));
}

TEST_HARNESS_MAIN
