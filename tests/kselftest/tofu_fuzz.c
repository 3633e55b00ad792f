// SPDX-License-Identifier: MIT
/*
 * Random system calls on the driver's files, by threads that share everything.
 * The calls know the structures, so that most of them get far; each field may
 * be wrong, and so may pointers, lengths, the state of a file and the order.
 * For any sequence the kernel does not complain, and nothing is left when the
 * files are closed and the memory is unmapped.
 *
 *   TOFU_FUZZ_CALLS   number of calls (10000)
 *   TOFU_FUZZ_SEED    first seed (1)
 *   TOFU_FUZZ_THREADS threads (4); with one of them a seed is a sequence
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tk_harness.h"

#define PAGE 4096UL
#define ARENA (128 * PAGE)
#define SLOTS 12
#define MAPS 24
#define THREADS_MAX 16
#define FUZZ_TIMEOUT_S 7200
#define CHILD_CALLS 20

/* What a file is, as far as is known: others may have closed it. */
enum kind {
	KIND_NONE,
	KIND_DEVICE,
	KIND_CQ,
	KIND_GATES,
};

/**
 * struct slot - a file that threads share; fields are changed without locks
 * @kind: what was opened last
 * @fd:   its descriptor
 * @maps: the mappings that it offers
 */
struct slot {
	enum kind kind;
	int fd;
	struct tofu_map maps[TOFU_MAPS + 1];
};

/**
 * struct fuzz - a thread
 * @state: of the random numbers
 * @calls: calls that are left
 * @touching: a fault is expected
 * @jump:  where it leads
 * @child: it is a process of its own, and has to leave soon
 */
struct fuzz {
	uint64_t state;
	long calls;
	volatile bool touching;
	sigjmp_buf jump;
	bool child;
};

/**
 * struct map - a mapping of a file
 * @addr:   first byte
 * @length: bytes; 0: none
 */
struct map {
	char *addr;
	size_t length;
};

static struct slot slots[SLOTS];
static struct map maps[MAPS];
static char *arena; /* anonymous, then of a file */
static int arena_file;
static char *read_only;
static __thread struct fuzz *self_fuzz;
static unsigned long *successes; /* by command; shared by all processes */

/* ---- Chance ---- */

static uint64_t any(struct fuzz *fuzz, uint64_t below)
{
	fuzz->state ^= fuzz->state << 13;
	fuzz->state ^= fuzz->state >> 7;
	fuzz->state ^= fuzz->state << 17;
	return (fuzz->state >> 11) % below;
}

static bool rarely(struct fuzz *fuzz)
{
	return !any(fuzz, 32);
}

static uint64_t odd_number(struct fuzz *fuzz)
{
	static const uint64_t odd[] = {
		0, 1, 2, 7, 8, 63, 64, 255, 4095, 4096, 4097, 65535, 65536,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffff000,
		0xffffffffffffffff,
	};
	uint64_t number = odd[any(fuzz, sizeof(odd) / sizeof(odd[0]))];

	return any(fuzz, 4) ? number : number ^ 1ULL << any(fuzz, 64);
}

/* Usually a number below the limit, sometimes any */
static uint64_t number(struct fuzz *fuzz, uint64_t below)
{
	return rarely(fuzz) ? odd_number(fuzz) : any(fuzz, below);
}

/* Usually 0 */
static uint64_t zero(struct fuzz *fuzz)
{
	return any(fuzz, 64) ? 0 : odd_number(fuzz);
}

static uint64_t address(struct fuzz *fuzz)
{
	const struct map *map = &maps[any(fuzz, MAPS)];

	switch (any(fuzz, 24)) {
	case 0:
		return odd_number(fuzz);
	case 1:
		return (uintptr_t)map->addr;
	case 2:
		return (uintptr_t)read_only + any(fuzz, PAGE);
	case 3:
		return (uintptr_t)arena + any(fuzz, ARENA);
	default:
		return (uintptr_t)arena + any(fuzz, ARENA / PAGE) * PAGE;
	}
}

/* ---- Arguments of ioctls ---- */

union arg {
	uint32_t size;
	struct tofu_ioc_info info;
	struct tofu_ioc_time time;
	struct tofu_ioc_cq_create cq;
	struct tofu_ioc_gates_create gates;
	struct tofu_ioc_gate_set set;
	struct tofu_ioc_mem_reg reg;
	struct tofu_ioc_mem_dereg dereg;
	struct tofu_ioc_watch watch;
	uint64_t words[PAGE / 8];
};

static void fill_cq(struct fuzz *fuzz, union arg *arg)
{
	arg->cq = (struct tofu_ioc_cq_create){
		.flags = number(fuzz, 2),
		.tni = number(fuzz, 4),
		.cq = any(fuzz, 2) ? TOFU_CQ_ANY : number(fuzz, 12),
		.toq_code = number(fuzz, 2),
		.mrq_code = number(fuzz, 2),
		.reserved = zero(fuzz),
	};
}

static void fill_gates(struct fuzz *fuzz, union arg *arg)
{
	arg->gates = (struct tofu_ioc_gates_create){
		.flags = zero(fuzz),
		.tni = number(fuzz, 4),
		.count = number(fuzz, 8),
		.reserved = zero(fuzz),
	};
	arg->gates.gate[any(fuzz, TOFU_GATES)] = zero(fuzz);
}

static uint64_t link_word(struct fuzz *fuzz)
{
	if (any(fuzz, 2))
		return zero(fuzz);
	return TOFU_SET(TOFU_LINK_VALID, 1) |
	       TOFU_SET(TOFU_LINK_GATE, any(fuzz, 64)) | zero(fuzz);
}

static void fill_set(struct fuzz *fuzz, union arg *arg)
{
	arg->set = (struct tofu_ioc_gate_set){
		.flags = zero(fuzz),
		.index = number(fuzz, 8),
		.reserved = zero(fuzz),
		.src_lcl = link_word(fuzz),
		.src_rmt = link_word(fuzz),
		.dst_lcl = link_word(fuzz),
		.dst_rmt = link_word(fuzz),
	};
}

static void fill_reg(struct fuzz *fuzz, union arg *arg)
{
	arg->reg = (struct tofu_ioc_mem_reg){
		.flags = number(fuzz, 4),
		.addr = address(fuzz),
		.length = rarely(fuzz) ? odd_number(fuzz) :
					 1 + any(fuzz, 16 * PAGE),
		.stag = any(fuzz, 2) ? TOFU_STAG_ANY : number(fuzz, 8),
		.reserved = zero(fuzz),
	};
}

static void fill_dereg(struct fuzz *fuzz, union arg *arg)
{
	uint64_t first = any(fuzz, 2) ? 0 : TOFU_STAG_AUTO;

	arg->dereg = (struct tofu_ioc_mem_dereg){
		.flags = zero(fuzz),
		.stag = first + number(fuzz, 8),
		.reserved = zero(fuzz),
	};
}

static void fill_flags(struct fuzz *fuzz, union arg *arg)
{
	arg->info.flags = zero(fuzz);
}

/* Rows with a weight: what takes long is rare. */
static const struct command {
	const char *name;
	unsigned long cmd;
	void (*fill)(struct fuzz *fuzz, union arg *arg);
	enum kind kind;
	unsigned int weight;
} commands[] = {
	{ "INFO", TOFU_IOC_INFO, fill_flags, KIND_DEVICE, 4 },
	{ "INFO of a CQ", TOFU_IOC_INFO, fill_flags, KIND_CQ, 4 },
	{ "TIME", TOFU_IOC_TIME, fill_flags, KIND_DEVICE, 4 },
	{ "TIME of a CQ", TOFU_IOC_TIME, fill_flags, KIND_CQ, 4 },
	{ "CQ_CREATE", TOFU_IOC_CQ_CREATE, fill_cq, KIND_DEVICE, 1 },
	{ "GATES_CREATE", TOFU_IOC_GATES_CREATE, fill_gates, KIND_DEVICE, 2 },
	{ "GATE_SET", TOFU_IOC_GATE_SET, fill_set, KIND_GATES, 12 },
	{ "MEM_REG", TOFU_IOC_MEM_REG, fill_reg, KIND_CQ, 40 },
	{ "MEM_DEREG", TOFU_IOC_MEM_DEREG, fill_dereg, KIND_CQ, 30 },
	{ "WATCH", TOFU_IOC_WATCH, fill_flags, KIND_CQ, 6 },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *choose_command(struct fuzz *fuzz)
{
	unsigned int sum = 0, at;
	size_t i;

	for (i = 0; i < COMMANDS; i++)
		sum += commands[i].weight;
	at = any(fuzz, sum);
	for (i = 0; at >= commands[i].weight; i++)
		at -= commands[i].weight;
	return &commands[i];
}

/* ---- Files ---- */

/* Usually a file of the kind, if there is one */
static struct slot *choose_slot(struct fuzz *fuzz, enum kind kind)
{
	size_t first = any(fuzz, SLOTS), i;

	if (!rarely(fuzz))
		for (i = 0; i < SLOTS; i++)
			if (slots[(first + i) % SLOTS].kind == kind)
				return &slots[(first + i) % SLOTS];
	return &slots[first];
}

/* Puts a new file into a slot; the descriptor there ends, perhaps in use. */
static void set_slot(struct fuzz *fuzz, enum kind kind, int fd,
		     const struct tofu_map *offered, size_t count)
{
	struct slot *slot = &slots[any(fuzz, SLOTS)];
	int old = slot->fd;

	memset(slot->maps, 0, sizeof(slot->maps));
	if (count)
		memcpy(slot->maps, offered, count * sizeof(*offered));
	slot->kind = kind;
	slot->fd = fd;
	if (old > 2)
		close(old);
}

static void open_device(struct fuzz *fuzz)
{
	int fd = open(TK_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		set_slot(fuzz, KIND_DEVICE, fd, NULL, 0);
}

static void close_file(struct fuzz *fuzz)
{
	struct slot *slot = &slots[any(fuzz, SLOTS)];
	int fd = slot->fd;

	slot->kind = KIND_NONE;
	slot->fd = -1;
	if (fd > 2)
		close(fd);
}

static void keep_result(struct fuzz *fuzz, struct slot *slot,
			const struct command *command, union arg *arg)
{
	if (command->cmd == TOFU_IOC_CQ_CREATE)
		set_slot(fuzz, KIND_CQ, arg->cq.fd, arg->cq.map, TOFU_MAPS);
	else if (command->cmd == TOFU_IOC_GATES_CREATE)
		set_slot(fuzz, KIND_GATES, arg->gates.fd, arg->gates.map,
			 TOFU_GATES_MAPS);
	else if (command->cmd == TOFU_IOC_WATCH)
		slot->maps[TOFU_MAPS] = arg->watch.map;
}

static void call_ioctl(struct fuzz *fuzz)
{
	const struct command *command = choose_command(fuzz);
	struct slot *slot = choose_slot(fuzz, command->kind);
	union arg arg = {};
	unsigned long cmd = command->cmd;
	void *at = &arg;

	command->fill(fuzz, &arg);
	arg.size = _IOC_SIZE(cmd);
	if (rarely(fuzz))
		arg.size = number(fuzz, PAGE);
	if (rarely(fuzz))
		arg.words[any(fuzz, 32)] ^= odd_number(fuzz);
	if (rarely(fuzz))
		cmd ^= 1UL << any(fuzz, 32);
	/* Answers go to memory that is read-only, ends early, or is not there. */
	if (rarely(fuzz) && cmd != TOFU_IOC_CQ_CREATE &&
	    cmd != TOFU_IOC_GATES_CREATE)
		at = (void *)(uintptr_t)address(fuzz);
	if (ioctl(slot->fd, cmd, at) || cmd != command->cmd)
		return;
	__atomic_add_fetch(&successes[command - commands], 1, __ATOMIC_RELAXED);
	if (at == &arg)
		keep_result(fuzz, slot, command, &arg);
}

/* Calls that the driver has nothing to do with, on its files */
static void call_other(struct fuzz *fuzz)
{
	struct slot *slot = &slots[any(fuzz, SLOTS)];
	struct stat stat;
	char path[64], buf[16];
	int fd;

	switch (any(fuzz, 8)) {
	case 0:
		(void)!read(slot->fd, buf, sizeof(buf));
		break;
	case 1:
		(void)!write(slot->fd, buf, 0);
		break;
	case 2:
		(void)!ftruncate(slot->fd, odd_number(fuzz));
		break;
	case 3:
		fallocate(slot->fd, any(fuzz, 8), 0, PAGE);
		break;
	case 4:
		if (!fstat(slot->fd, &stat))
			fchmod(slot->fd, stat.st_mode);
		break;
	case 5:
		flock(slot->fd, LOCK_NB | LOCK_EX);
		break;
	case 6:
		/* A file without a name, which cannot be opened again */
		snprintf(path, sizeof(path), "/proc/self/fd/%d", slot->fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			close(fd);
		break;
	case 7:
		fd = dup(slot->fd);
		if (fd >= 0)
			close(fd);
		break;
	}
}

static void call_poll(struct fuzz *fuzz)
{
	struct pollfd fds[SLOTS];
	size_t i;

	for (i = 0; i < SLOTS; i++)
		fds[i] = (struct pollfd){ .fd = slots[i].fd,
					  .events = any(fuzz, 8) };
	poll(fds, SLOTS, 0);
}

/* ---- Mappings ---- */

static void call_mmap(struct fuzz *fuzz)
{
	struct slot *slot = choose_slot(fuzz, KIND_CQ + any(fuzz, 2));
	struct tofu_map offered = slot->maps[any(fuzz, TOFU_MAPS + 1)];
	struct map *map = &maps[any(fuzz, MAPS)];
	int prot = any(fuzz, 16) ? PROT_READ | PROT_WRITE : any(fuzz, 8);
	int flags = rarely(fuzz) ? MAP_PRIVATE : MAP_SHARED;
	char *addr;

	if (any(fuzz, 2))
		prot = PROT_READ;
	if (rarely(fuzz))
		offered.length = number(fuzz, 16 * PAGE);
	if (rarely(fuzz))
		offered.key ^= 1ULL << any(fuzz, 64);
	if (rarely(fuzz))
		flags |= MAP_POPULATE;
	addr = mmap(NULL, offered.length, prot, flags, slot->fd, offered.key);
	if (addr == MAP_FAILED)
		return;
	if (map->length)
		munmap(map->addr, map->length);
	*map = (struct map){ addr, offered.length };
}

static void call_munmap(struct fuzz *fuzz)
{
	struct map *map = &maps[any(fuzz, MAPS)];
	struct map old = *map;

	if (!old.length)
		return;
	/* A part of it: the rest is forgotten, and ends with the process. */
	if (rarely(fuzz)) {
		munmap(old.addr + any(fuzz, old.length) / PAGE * PAGE, PAGE);
		return;
	}
	map->length = 0;
	munmap(old.addr, old.length);
}

static void call_advice(struct fuzz *fuzz)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_DONTFORK,	MADV_DOFORK, MADV_WILLNEED,
		MADV_FREE,     MADV_HUGEPAGE,	MADV_COLD,   MADV_PAGEOUT,
		MADV_REMOVE,   MADV_MERGEABLE,
	};
	struct map map = maps[any(fuzz, MAPS)];

	if (any(fuzz, 2) || !map.length)
		map = (struct map){ arena + any(fuzz, ARENA / PAGE) * PAGE,
				    PAGE };
	switch (any(fuzz, 8)) {
	case 0:
		mprotect(map.addr, map.length,
			 PROT_READ | (any(fuzz, 2) ? PROT_WRITE : 0));
		break;
	case 1:
		mlock(map.addr, map.length);
		munlock(map.addr, map.length);
		break;
	case 2:
		msync(map.addr, map.length, MS_SYNC);
		break;
	default:
		madvise(map.addr, map.length,
			advice[any(fuzz, sizeof(advice) / sizeof(advice[0]))]);
	}
}

/* New pages in the arena, under regions that are registered or watched */
static void call_remap(struct fuzz *fuzz)
{
	size_t at = any(fuzz, ARENA / PAGE) * PAGE;
	int prot = rarely(fuzz) ? PROT_READ : PROT_READ | PROT_WRITE;

	if (any(fuzz, 3))
		mmap(arena + at, PAGE, prot,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	else
		mmap(arena + at, PAGE, prot, MAP_SHARED | MAP_FIXED, arena_file,
		     at);
}

/* Writes what a careless program might: into rings and pages of the device. */
static void touch(struct fuzz *fuzz)
{
	struct map map = maps[any(fuzz, MAPS)];
	volatile uint64_t *word;

	if (map.length < PAGE)
		return;
	word = (volatile uint64_t *)map.addr + any(fuzz, map.length / 8);
	if (!sigsetjmp(fuzz->jump, 0)) {
		fuzz->touching = true;
		if (any(fuzz, 2))
			*word = odd_number(fuzz);
		else
			(void)*word;
	}
	fuzz->touching = false;
}

/* ---- Processes ---- */

static void fuzz_run(struct fuzz *fuzz);

static void call_fork(struct fuzz *fuzz)
{
	struct fuzz child = { .state = fuzz->state ^ 0x5555, .child = true };
	pid_t pid;

	if (fuzz->child || any(fuzz, 20))
		return;
	pid = fork();
	if (!pid) {
		child.calls = CHILD_CALLS;
		fuzz_run(&child);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void on_fault(int signal)
{
	if (self_fuzz && self_fuzz->touching)
		siglongjmp(self_fuzz->jump, signal);
	_exit(1);
}

static const struct {
	void (*call)(struct fuzz *fuzz);
	unsigned int weight;
} calls[] = {
	{ call_ioctl, 500 }, { call_mmap, 60 },	 { call_munmap, 40 },
	{ touch, 80 },	     { call_advice, 40 }, { call_remap, 40 },
	{ call_poll, 30 },   { call_other, 30 },  { close_file, 4 },
	{ open_device, 4 },  { call_fork, 4 },
};

static void fuzz_one(struct fuzz *fuzz)
{
	unsigned int sum = 0, at;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		sum += calls[i].weight;
	at = any(fuzz, sum);
	for (i = 0; at >= calls[i].weight; i++)
		at -= calls[i].weight;
	calls[i].call(fuzz);
}

static void fuzz_run(struct fuzz *fuzz)
{
	self_fuzz = fuzz;
	for (; fuzz->calls > 0; fuzz->calls--)
		fuzz_one(fuzz);
	self_fuzz = NULL;
}

static void *fuzz_thread(void *arg)
{
	fuzz_run(arg);
	return NULL;
}

/* ---- The test ---- */

static long from_environment(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? atol(text) : otherwise;
}

static bool set_up(void)
{
	struct sigaction action = { .sa_handler = on_fault,
				    .sa_flags = SA_NODEFER };
	size_t i;

	for (i = 0; i < SLOTS; i++)
		slots[i] = (struct slot){ .fd = -1 };
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
	arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	arena_file = memfd_create("arena", MFD_CLOEXEC);
	return arena != MAP_FAILED && read_only != MAP_FAILED &&
	       arena_file >= 0 && !ftruncate(arena_file, ARENA);
}

static void take_down(void)
{
	size_t i;

	for (i = 0; i < MAPS; i++)
		if (maps[i].length)
			munmap(maps[i].addr, maps[i].length);
	for (i = 0; i < SLOTS; i++)
		if (slots[i].fd > 2)
			close(slots[i].fd);
	munmap(arena, ARENA);
	munmap(read_only, PAGE);
	close(arena_file);
}

/* In a process of its own, with which all that it has forgotten ends */
static int fuzz_all(long count, long seed, long threads)
{
	struct fuzz fuzz[THREADS_MAX] = {};
	pthread_t thread[THREADS_MAX];
	long i;

	if (!set_up())
		return 1;
	for (i = 0; i < threads; i++) {
		fuzz[i].state = (seed + i) * 0x9e3779b97f4a7c15ULL;
		fuzz[i].calls = count / threads;
		if (pthread_create(&thread[i], NULL, fuzz_thread, &fuzz[i]))
			return 2;
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	take_down();
	return 0;
}

TEST_F_TIMEOUT(tofu, random_calls, FUZZ_TIMEOUT_S)
{
	long count = from_environment("TOFU_FUZZ_CALLS", 10000);
	long seed = from_environment("TOFU_FUZZ_SEED", 1);
	long threads = from_environment("TOFU_FUZZ_THREADS", 4);
	int status;
	pid_t child;
	size_t i;

	ASSERT_TRUE(seed > 0 && threads > 0 && threads <= THREADS_MAX);
	successes = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, successes);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		_exit(fuzz_all(count, seed, threads));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	TH_LOG("%ld calls of seed %ld by %ld threads", count, seed, threads);
	/* Otherwise it finds nothing but the checks of arguments. */
	for (i = 0; i < COMMANDS && count >= 10000; i++)
		EXPECT_LT(0, successes[i])
			TH_LOG("%s never succeeds", commands[i].name);
}

TEST_F_TIMEOUT(tofu, nothing_is_leaked, TK_TIMEOUT_S)
{
	TK_EXPECT_NO_LEAKS();
}

TEST_HARNESS_MAIN
