// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "tk.h"

#define DEBUGFS "/sys/kernel/debug"
#define TK_LEAK_AGE_S 6 /* kmemleak's is 5 */

static double tk_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

int tk_open(void)
{
	double end = tk_now() + TK_LIMIT_S;
	int fd;

	do {
		fd = open(TK_DEVICE, O_RDWR | O_CLOEXEC);
		if (fd >= 0 || errno != ENOENT)
			break;
		usleep(10000);
	} while (tk_now() < end);
	return fd < 0 ? -errno : fd;
}

int tk_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

/* ---- CQ ---- */

int tk_cq_create_as(struct tk_cq *cq, struct tofu_ioc_cq_create arg)
{
	int ret;

	memset(cq, 0, sizeof(*cq));
	cq->fd = -1;
	cq->dev = tk_open();
	if (cq->dev < 0)
		return cq->dev;
	cq->info.size = sizeof(cq->info);
	cq->create = arg;
	cq->create.size = sizeof(cq->create);
	ret = tk_ioctl(cq->dev, TOFU_IOC_INFO, &cq->info);
	if (!ret)
		ret = tk_ioctl(cq->dev, TOFU_IOC_CQ_CREATE, &cq->create);
	if (ret) {
		close(cq->dev);
		cq->dev = -1;
		return ret;
	}
	cq->fd = cq->create.fd;
	return 0;
}

int tk_cq_create(struct tk_cq *cq)
{
	return tk_cq_create_as(cq, (struct tofu_ioc_cq_create){
		.cq = TOFU_CQ_ANY,
	});
}

int tk_cq_map(struct tk_cq *cq)
{
	int i;

	for (i = 0; i < TOFU_MAPS; i++) {
		const struct tofu_map *map = &cq->create.map[i];

		cq->map[i] = mmap(NULL, map->length, PROT_READ | PROT_WRITE,
				  MAP_SHARED, cq->fd, map->key);
		if (cq->map[i] == MAP_FAILED) {
			cq->map[i] = NULL;
			return -errno;
		}
	}
	return 0;
}

int tk_cq_open(struct tk_cq *cq)
{
	int ret = tk_cq_create(cq);

	if (ret)
		return ret;
	ret = tk_cq_map(cq);
	if (ret)
		tk_cq_close(cq);
	return ret;
}

void tk_cq_unmap(struct tk_cq *cq)
{
	int i;

	for (i = 0; i < TOFU_MAPS; i++)
		if (cq->map[i])
			munmap(cq->map[i], cq->create.map[i].length);
	memset(cq->map, 0, sizeof(cq->map));
}

void tk_cq_close(struct tk_cq *cq)
{
	tk_cq_unmap(cq);
	if (cq->fd >= 0)
		close(cq->fd);
	if (cq->dev >= 0)
		close(cq->dev);
	cq->fd = -1;
	cq->dev = -1;
}

/* ---- Memory ---- */

int tk_mem_reg(struct tk_cq *cq, void *addr, size_t length, uint32_t flags,
	       struct tk_mem *mem)
{
	struct tofu_ioc_mem_reg reg = {
		.size = sizeof(reg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.stag = TOFU_STAG_ANY,
	};
	int ret = tk_ioctl(cq->fd, TOFU_IOC_MEM_REG, &reg);

	if (ret)
		return ret;
	mem->addr = addr;
	mem->length = length;
	mem->stag = reg.stag;
	mem->stadd = TOFU_SET(TOFU_ADDR_STAG, reg.stag) | reg.offset;
	return 0;
}

int tk_mem_new(struct tk_cq *cq, size_t length, struct tk_mem *mem)
{
	void *addr = mmap(NULL, length, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	if (addr == MAP_FAILED)
		return -errno;
	ret = tk_mem_reg(cq, addr, length, 0, mem);
	if (ret)
		munmap(addr, length);
	return ret;
}

int tk_mem_dereg(struct tk_cq *cq, const struct tk_mem *mem)
{
	struct tofu_ioc_mem_dereg dereg = {
		.size = sizeof(dereg),
		.stag = mem->stag,
	};

	return tk_ioctl(cq->fd, TOFU_IOC_MEM_DEREG, &dereg);
}

void tk_mem_free(struct tk_cq *cq, struct tk_mem *mem)
{
	tk_mem_dereg(cq, mem);
	munmap(mem->addr, mem->length);
}

/* ---- Rings ---- */

struct tofu_toq_desc tk_desc(const struct tk_cq *cq, const struct tk_cq *peer,
			     enum tofu_command cmd, unsigned int flags,
			     uint64_t rmt, uint64_t lcl, uint64_t length)
{
	bool named = cmd == TOFU_CMD_PUT || cmd == TOFU_CMD_GET;

	return (struct tofu_toq_desc) {
		.ctrl = TOFU_SET(TOFU_TOQ_CMD, cmd) |
			TOFU_SET(TOFU_TOQ_FLAGS, flags),
		.route = TOFU_SET(TOFU_ROUTE_COORDS, peer->info.coords) |
			 TOFU_SET(TOFU_ROUTE_TNI, peer->create.tni) |
			 TOFU_SET(TOFU_ROUTE_LENGTH, length),
		.rmt = rmt | TOFU_SET(TOFU_ADDR_CQ, peer->create.cq),
		.lcl = lcl | (named ? TOFU_SET(TOFU_ADDR_CQ, cq->create.cq) :
				      0),
	};
}

struct tofu_toq_desc tk_armw(const struct tk_cq *cq, const struct tk_cq *peer,
			     enum tofu_armw_op op, unsigned int size,
			     uint64_t rmt, uint64_t operand)
{
	struct tofu_toq_desc desc = tk_desc(cq, peer, TOFU_CMD_ARMW,
					    TOFU_TOQ_F_LCL_NOTICE, rmt,
					    operand, size);

	desc.ctrl |= TOFU_SET(TOFU_TOQ_ARMW_OP, op) |
		     TOFU_SET(TOFU_TOQ_ARMW_8, size == 8);
	return desc;
}

static uint64_t tk_load(const __le64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* The engine may sleep, or may want to run on the waiting processor. */
static void tk_kick(struct tk_cq *cq, uint32_t want, size_t offset)
{
	volatile uint64_t *kick = (void *)((char *)cq->map[TOFU_MAP_KICK] +
					   offset);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&tk_page(cq)->need_kick, __ATOMIC_RELAXED) & want)
		*kick = 1;
}

void tk_post(struct tk_cq *cq, struct tofu_toq_desc desc,
	     const struct tofu_toq_data *data)
{
	struct tofu_toq_desc *ring = cq->map[TOFU_MAP_TOQ];
	uint64_t entries = TOFU_RING_ENTRIES(cq->create.toq_code);

	desc.ctrl |= TOFU_SET(TOFU_TOQ_FLIP,
			      tofu_ring_flip(cq->toq_tail,
					     cq->create.toq_code));
	ring[cq->toq_tail++ % entries] = desc;
	if (data)
		memcpy(&ring[cq->toq_tail++ % entries], data, sizeof(*data));
	__atomic_store_n(&tk_page(cq)->fetch_start, cq->toq_tail,
			 __ATOMIC_RELEASE);
	tk_kick(cq, TOFU_NEED_KICK_TAIL, TOFU_KICK_TAIL);
}

static int tk_tcq_try(struct tk_cq *cq, uint64_t *entry)
{
	const __le64 *ring = cq->map[TOFU_MAP_TCQ];
	uint64_t at = cq->tcq_head % TOFU_RING_ENTRIES(cq->create.toq_code);
	uint64_t word = tk_load(&ring[at]);

	if (TOFU_GET(word, TOFU_TCQ_FLIP) !=
	    tofu_ring_flip(cq->tcq_head, cq->create.toq_code))
		return -EAGAIN;
	*entry = word;
	__atomic_store_n(&tk_page(cq)->tcq_read, ++cq->tcq_head,
			 __ATOMIC_RELEASE);
	return 0;
}

int tk_mrq_try(struct tk_cq *cq, struct tofu_mrq_entry *entry)
{
	const struct tofu_mrq_entry *ring = cq->map[TOFU_MAP_MRQ];
	uint64_t at = cq->mrq_head % TOFU_RING_ENTRIES(cq->create.mrq_code);
	uint64_t ctrl = tk_load(&ring[at].ctrl);

	if (TOFU_GET(ctrl, TOFU_MRQ_FLIP) !=
	    tofu_ring_flip(cq->mrq_head, cq->create.mrq_code))
		return -EAGAIN;
	*entry = ring[at];
	__atomic_store_n(&tk_page(cq)->mrq_full_pointer, ++cq->mrq_head,
			 __ATOMIC_RELEASE);
	return 0;
}

void tk_kick_poll(struct tk_cq *cq)
{
	tk_kick(cq, TOFU_NEED_KICK_POLL, TOFU_KICK_POLL);
}

bool tk_gone(struct tk_cq *cq)
{
	struct tofu_cq_page *page = tk_page(cq);

	return __atomic_load_n(&page->need_kick, __ATOMIC_RELAXED) ==
		       TOFU_WORD_GONE &&
	       __atomic_load_n(&page->status, __ATOMIC_RELAXED) ==
		       TOFU_WORD_GONE;
}

static void tk_wait_a_little(struct tk_cq *cq)
{
	tk_kick_poll(cq);
	sched_yield();
}

int tk_tcq(struct tk_cq *cq, uint64_t *entry)
{
	double end = tk_now() + TK_LIMIT_S;

	while (tk_tcq_try(cq, entry)) {
		if (tk_now() > end)
			return -ETIMEDOUT;
		tk_wait_a_little(cq);
	}
	return 0;
}

int tk_mrq(struct tk_cq *cq, struct tofu_mrq_entry *entry)
{
	double end = tk_now() + TK_LIMIT_S;

	while (tk_mrq_try(cq, entry)) {
		if (tk_now() > end)
			return -ETIMEDOUT;
		tk_wait_a_little(cq);
	}
	return 0;
}

int tk_put(struct tk_cq *cq, const struct tk_cq *peer, uint64_t rmt,
	   uint64_t lcl, uint64_t length)
{
	struct tofu_mrq_entry entry;
	int ret;

	tk_post(cq, tk_desc(cq, peer, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE,
			    rmt, lcl, length), NULL);
	ret = tk_mrq(cq, &entry);
	return ret ? ret : (int)TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS);
}

/* ---- Gates ---- */

int tk_gates_create(struct tk_gates *gates, uint32_t tni, uint32_t count)
{
	int ret;

	memset(gates, 0, sizeof(*gates));
	gates->fd = -1;
	gates->dev = tk_open();
	if (gates->dev < 0)
		return gates->dev;
	gates->info.size = sizeof(gates->info);
	gates->create.size = sizeof(gates->create);
	gates->create.tni = tni;
	gates->create.count = count;
	ret = tk_ioctl(gates->dev, TOFU_IOC_INFO, &gates->info);
	if (!ret)
		ret = tk_ioctl(gates->dev, TOFU_IOC_GATES_CREATE,
			       &gates->create);
	if (ret) {
		close(gates->dev);
		gates->dev = -1;
		return ret;
	}
	gates->fd = gates->create.fd;
	return 0;
}

int tk_gates_map(struct tk_gates *gates)
{
	int i;

	for (i = 0; i < TOFU_GATES_MAPS; i++) {
		const struct tofu_map *map = &gates->create.map[i];

		gates->map[i] = mmap(NULL, map->length, PROT_READ | PROT_WRITE,
				     MAP_SHARED, gates->fd, map->key);
		if (gates->map[i] == MAP_FAILED) {
			gates->map[i] = NULL;
			return -errno;
		}
	}
	return 0;
}

int tk_gates_open(struct tk_gates *gates, uint32_t tni, uint32_t count)
{
	int ret = tk_gates_create(gates, tni, count);

	if (ret)
		return ret;
	ret = tk_gates_map(gates);
	if (ret)
		tk_gates_close(gates);
	return ret;
}

void tk_gates_unmap(struct tk_gates *gates)
{
	int i;

	for (i = 0; i < TOFU_GATES_MAPS; i++)
		if (gates->map[i])
			munmap(gates->map[i], gates->create.map[i].length);
	memset(gates->map, 0, sizeof(gates->map));
}

void tk_gates_close(struct tk_gates *gates)
{
	tk_gates_unmap(gates);
	if (gates->fd >= 0)
		close(gates->fd);
	if (gates->dev >= 0)
		close(gates->dev);
	gates->fd = -1;
	gates->dev = -1;
}

uint64_t tk_link(const struct tk_gates *gates, unsigned int index)
{
	return TOFU_SET(TOFU_LINK_VALID, 1) |
	       TOFU_SET(TOFU_LINK_GATE, gates->create.gate[index]);
}

uint64_t tk_link_rmt(const struct tk_gates *gates, unsigned int index)
{
	return tk_link(gates, index) |
	       TOFU_SET(TOFU_LINK_COORDS, gates->info.coords) |
	       TOFU_SET(TOFU_LINK_TNI, gates->create.tni);
}

int tk_gate_set(struct tk_gates *gates, unsigned int index,
		struct tofu_ioc_gate_set arg)
{
	int ret;

	arg.size = sizeof(arg);
	arg.index = index;
	ret = tk_ioctl(gates->fd, TOFU_IOC_GATE_SET, &arg);
	if (!ret && !index)
		gates->ended = 0;
	return ret;
}

void tk_gates_start(struct tk_gates *gates, enum tofu_reduce_op op,
		    unsigned int count, const uint64_t *operand)
{
	volatile uint64_t *start = (void *)((char *)gates->map[TOFU_GATES_MAP_START] +
					    TOFU_CHANNEL_START);
	struct tofu_channel *channel = tk_channel(gates);

	if (count)
		memcpy(channel->operand, operand, count * sizeof(*operand));
	channel->command = TOFU_SET(TOFU_CHANNEL_OP, op) |
			   TOFU_SET(TOFU_CHANNEL_COUNT, count);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*start = 1;
}

static uint64_t tk_gates_done(struct tk_gates *gates)
{
	return tk_load(&tk_channel(gates)->done);
}

bool tk_gates_ended(struct tk_gates *gates)
{
	return TOFU_GET(tk_gates_done(gates), TOFU_CHANNEL_ENDED) !=
	       gates->ended;
}

int tk_gates_wait(struct tk_gates *gates)
{
	volatile uint64_t *poll = (void *)((char *)gates->map[TOFU_GATES_MAP_START] +
					   TOFU_CHANNEL_POLL);
	double end = tk_now() + TK_LIMIT_S;

	while (!tk_gates_ended(gates)) {
		if (tk_now() > end)
			return -ETIMEDOUT;
		*poll = 1;
		sched_yield();
	}
	gates->ended++;
	return TOFU_GET(tk_gates_done(gates), TOFU_CHANNEL_STATUS);
}

/* ---- The device ---- */

void tk_function(char *name, size_t size)
{
	DIR *dir = opendir(TK_DRIVER);
	struct dirent *entry;

	name[0] = 0;
	while (dir && (entry = readdir(dir)))
		if (strchr(entry->d_name, ':'))
			snprintf(name, size, "%.32s", entry->d_name);
	if (dir)
		closedir(dir);
}

static sigjmp_buf tk_fault_jump;

static void tk_on_sigbus(int signal)
{
	siglongjmp(tk_fault_jump, signal);
}

int tk_touch(volatile char *addr)
{
	struct sigaction action = { .sa_handler = tk_on_sigbus };
	int ret;

	sigaction(SIGBUS, &action, NULL);
	ret = sigsetjmp(tk_fault_jump, 1);
	if (!ret)
		(void)*addr;
	signal(SIGBUS, SIG_DFL);
	return ret;
}

/* ---- What is left ---- */

static int tk_read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	buf[n] = 0;
	return 0;
}

int tk_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int tk_param(const char *name)
{
	char path[128], text[32];
	int ret;

	snprintf(path, sizeof(path), "/sys/module/tofu/parameters/%s", name);
	ret = tk_read_file(path, text, sizeof(text));
	return ret ? ret : atoi(text);
}

int tk_module_place(unsigned long *start, unsigned long *size)
{
	FILE *file = fopen("/proc/modules", "re");
	char line[256];
	int ret = -ENOENT;

	while (file && ret && fgets(line, sizeof(line), file))
		if (sscanf(line, "tofu %lu %*s %*s %*s %lx", size, start) == 2)
			ret = 0;
	if (file)
		fclose(file);
	return ret;
}

int tk_become(unsigned int uid)
{
	/* Only who is effectively root can take another real user ID. */
	if (setresuid(-1, 0, 0) || setresuid(uid, uid, 0))
		return -errno;
	return 0;
}

int tk_count(const char *name)
{
	char path[128], text[32];
	int ret;

	snprintf(path, sizeof(path), DEBUGFS "/tofu/tofu0/%s", name);
	ret = tk_read_file(path, text, sizeof(text));
	if (ret == -ENOENT) {
		mount("none", DEBUGFS, "debugfs", 0, NULL);
		ret = tk_read_file(path, text, sizeof(text));
	}
	return ret ? ret : atoi(text);
}

long tk_pinned_kb(void)
{
	char text[8192];
	const char *at;

	if (tk_read_file("/proc/self/status", text, sizeof(text)))
		return -1;
	at = strstr(text, "VmPin:");
	return at ? atol(at + strlen("VmPin:")) : -1;
}

int tk_log_begin(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/*
 * What CONFIG_DMA_API_DEBUG says, with a trace, of a page that is mapped for the
 * ninth time: it has no room to count that. Memory may be registered any number
 * of times, and nothing is wrong with it.
 */
#define TK_LOG_KNOWN "overlapping mappings of cacheline"
#define TK_LOG_KNOWN_END "---[ end trace"

static const char *tk_log_bad(int log, char *record, size_t size)
{
	static const char * const bad[] = {
		"WARNING:", "BUG:", "Oops", "INFO: ", "UBSAN:", "RIP: 0010:",
		"refcount_t", "general protection", "Bad page", "Busy inodes",
		"nobody cared", "never became quiet", "a flush is late",
		"refuses its settings",
	};
	bool known = false;
	ssize_t n;
	size_t i;

	for (;;) {
		n = read(log, record, size - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return NULL;
		record[n] = 0;
		if (strstr(record, TK_LOG_KNOWN))
			known = true;
		if (strstr(record, TK_LOG_KNOWN_END))
			known = false;
		/* Whose race it is stands in later records: run-all looks. */
		if (known || strstr(record, "BUG: KCSAN"))
			continue;
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			if (strstr(record, bad[i]))
				return record;
	}
}

/* The kernel closes files of a killed child a little later. */
static int tk_count_settled(const char *name)
{
	double end = tk_now() + TK_LIMIT_S;
	int count;

	while ((count = tk_count(name)) > 0 && tk_now() < end)
		usleep(10000);
	return count;
}

const char *tk_left_over(int log)
{
	static const char * const names[] = {
		"cqs", "gates", "regions", "pinned_pages", "deferred",
	};
	static char text[8192];
	const char *found;
	size_t i;
	int count;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		count = tk_count_settled(names[i]);
		if (count) {
			snprintf(text, sizeof(text), "%s: %d", names[i], count);
			close(log);
			return text;
		}
	}
	if (log < 0)
		return "/dev/kmsg cannot be read";
	found = tk_log_bad(log, text, sizeof(text));
	close(log);
	return found;
}

int tk_leaks(const char **text)
{
	static char reports[4096];
	int i, ret;

	tk_count("cqs"); /* mounts debugfs */
	/* The first scan only notes what was changed meanwhile. */
	for (i = 0; i < 2; i++) {
		sleep(TK_LEAK_AGE_S);
		ret = tk_write(DEBUGFS "/kmemleak", "scan");
		if (ret)
			return ret;
	}
	ret = tk_read_file(DEBUGFS "/kmemleak", reports, sizeof(reports));
	if (!ret)
		*text = reports[0] ? reports : NULL;
	return ret;
}
