/* SPDX-License-Identifier: MIT */
/*
 * The simplest home for a node: memory in one piece, one CQ, and one region
 * with all the memory behind the rings.
 */
#ifndef NODE_UTIL_H
#define NODE_UTIL_H

#include <fcntl.h>

#include "fabric-util.h"
#include "node/node.h"

#define HOME_BYTES (64ULL << 20)
#define HOME_STAG 1
#define HOME_TNI 0
#define HOME_CQ 0

/* Where things are in the memory. */
#define HOME_TOQ 0x10000
#define HOME_TCQ 0x20000
#define HOME_MRQ 0x30000
#define HOME_STT 0x50000
#define HOME_MBT 0x51000
#define HOME_TABLE 0x52000
#define HOME_DATA 0x100000
#define HOME_DATA_BYTES (HOME_BYTES - HOME_DATA)

/**
 * struct home
 * @icc:    of @node; a test can have it without a node
 * @ram, @base: memory and its bus address
 * @data:   first byte of the region
 * @page:   of the CQ
 * @tail, @tcq_read, @mrq_read: free-running positions
 * @session: in session mode
 */
struct home {
	struct tofu_node *node;
	struct icc *icc;
	uint8_t *ram;
	uint64_t base;
	uint8_t *data;
	uint8_t *pages;
	struct tofu_cq_page *page;
	uint64_t tail, tcq_read, mrq_read;
	unsigned int irqs;
	bool session;
};

static void *home_map(void *arg, uint64_t addr, size_t *len, bool write)
{
	struct home *home = arg;
	uint64_t at = addr - home->base;

	(void)write;
	if (at >= HOME_BYTES)
		return NULL;
	if (*len > HOME_BYTES - at)
		*len = HOME_BYTES - at;
	return home->ram + at;
}

static void home_irq(void *arg, unsigned int vector)
{
	struct home *home = arg;

	(void)vector;
	__atomic_fetch_add(&home->irqs, 1, __ATOMIC_SEQ_CST);
}

static void home_misuse(void *arg, const char *format, va_list args)
{
	(void)arg;
	fputs("# misuse: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

static void home_reg(struct home *home, unsigned int reg, uint64_t value)
{
	icc_reg_write(home->icc,
		      TOFU_CQ_REGS(HOME_TNI, HOME_CQ) + reg, value, 8);
}

static void home_tables(struct home *home)
{
	struct tofu_steering *stt = (void *)(home->ram + HOME_STT);
	struct tofu_memory_block *mbt = (void *)(home->ram + HOME_MBT);
	uint64_t *table = (void *)(home->ram + HOME_TABLE);

	table[0] = home->base + HOME_DATA;
	mbt[0].ctrl =
		TOFU_SET(TOFU_MB_ENABLE, 1) | TOFU_SET(TOFU_MB_PAGE_SHIFT, 26);
	mbt[0].table = home->base + HOME_TABLE;
	mbt[0].npage = 1;
	stt[HOME_STAG].ctrl = TOFU_SET(TOFU_STEERING_ENABLE, 1);
	stt[HOME_STAG].length = HOME_DATA_BYTES;
}

static void home_enable(struct home *home)
{
	home_reg(home, TOFU_CQ_TOQ_BASE, home->base + HOME_TOQ);
	home_reg(home, TOFU_CQ_TCQ_BASE, home->base + HOME_TCQ);
	home_reg(home, TOFU_CQ_MRQ_BASE, home->base + HOME_MRQ);
	home_reg(home, TOFU_CQ_RINGS,
		 TOFU_SET(TOFU_CQ_RINGS_SESSION, home->session));
	home_reg(home, TOFU_CQ_STT_BASE, home->base + HOME_STT);
	home_reg(home, TOFU_CQ_STT_COUNT, 64);
	home_reg(home, TOFU_CQ_MBT_BASE, home->base + HOME_MBT);
	home_reg(home, TOFU_CQ_MBT_COUNT, 1);
	home_reg(home, TOFU_CQ_GPID, 0);
	home_reg(home, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
}

static const struct tofu_node_ops home_ops = {
	.map = home_map,
	.irq = home_irq,
	.misuse = home_misuse,
};

/**
 * home_open - a node
 * @process: memory is the process's own, else a file
 */
static UNUSED bool home_open(struct home *home, const char *path, int number,
			     bool process, bool assist)
{
	struct tofu_node_params params = {
		.fabric = path,
		.node = number,
		.tnis = 1,
		.ram_pages = true,
		.inline_max = 256,
		.mtu = 1000,
		.armw = true,
		.assist = assist,
		.ops = &home_ops,
		.home = home,
	};
	struct tofu_ram ram = { .len = HOME_BYTES, .fd = -1 };
	char *why = NULL;

	memset(home, 0, sizeof(*home));
	home->pages = params.pages = aligned_alloc(4096, TOFU_PAGES_HALF);
	memset(home->pages, 0, TOFU_PAGES_HALF);
	if (!process) {
		ram.fd = memfd_create("ram", MFD_ALLOW_SEALING);
		if (ftruncate(ram.fd, HOME_BYTES) ||
		    fcntl(ram.fd, F_ADD_SEALS, F_SEAL_SHRINK))
			return false;
	}
	home->ram = mmap(NULL, HOME_BYTES, PROT_READ | PROT_WRITE,
			 process ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED,
			 ram.fd, 0);
	if (home->ram == MAP_FAILED)
		return false;
	/* A guest's bus addresses begin anywhere; a process's are pointers. */
	home->base = process ? (uintptr_t)home->ram : 0x40000000;
	ram.addr = home->base;
	home->data = home->ram + HOME_DATA;
	home->page = (void *)(home->pages + TOFU_CQ_PAGE(HOME_TNI, HOME_CQ));
	if (tofu_node_create(&params, &why, &home->node)) {
		fprintf(stderr, "# %s\n", why);
		return false;
	}
	if (tofu_fabric_publish(tofu_node_fabric(home->node), &ram, 1))
		return false;
	home->icc = tofu_node_icc(home->node);
	home_tables(home);
	tofu_node_lock(home->node);
	home_enable(home);
	tofu_node_unlock(home->node);
	return true;
}

/* home_session - enable the CQ again in session mode, before any post */
static UNUSED void home_session(struct home *home)
{
	tofu_node_lock(home->node);
	home_reg(home, TOFU_CQ_CTRL, 0);
	home->session = true;
	home_enable(home);
	tofu_node_unlock(home->node);
}

static UNUSED void home_close(struct home *home)
{
	tofu_node_destroy(home->node);
	munmap(home->ram, HOME_BYTES);
	free(home->pages);
}

static uint64_t home_addr(uint64_t offset)
{
	return TOFU_SET(TOFU_ADDR_OFFSET, offset) |
	       TOFU_SET(TOFU_ADDR_STAG, HOME_STAG) |
	       TOFU_SET(TOFU_ADDR_CQ, HOME_CQ);
}

/* Post a command with a step, without a kick. */
static UNUSED void home_post_step(struct home *home, enum tofu_command cmd,
				  unsigned int flags, uint32_t to,
				  uint64_t length, uint64_t rmt, uint64_t lcl,
				  unsigned int step)
{
	struct tofu_toq_desc *toq = (void *)(home->ram + HOME_TOQ);
	struct tofu_toq_desc *slot = &toq[home->tail % TOFU_RING_ENTRIES(0)];
	const struct tofu_shape *shape =
		tofu_fabric_shape(tofu_node_fabric(home->node));
	struct tofu_coords coords = tofu_coords_of(shape, to);

	slot->route = tofu_coords_pack(&coords) |
		      TOFU_SET(TOFU_ROUTE_TNI, HOME_TNI) |
		      TOFU_SET(TOFU_ROUTE_LENGTH, length);
	slot->rmt = home_addr(rmt);
	slot->lcl = cmd == TOFU_CMD_PUT_PIGGYBACK ? lcl : home_addr(lcl);
	slot->ctrl = TOFU_SET(TOFU_TOQ_FLIP, tofu_ring_flip(home->tail, 0)) |
		     TOFU_SET(TOFU_TOQ_CMD, cmd) |
		     TOFU_SET(TOFU_TOQ_FLAGS, flags) |
		     TOFU_SET(TOFU_TOQ_SPS, step);
	__atomic_store_n(&home->page->fetch_start, ++home->tail,
			 __ATOMIC_RELEASE);
}

static UNUSED void home_post(struct home *home, enum tofu_command cmd,
			     unsigned int flags, uint32_t to, uint64_t length,
			     uint64_t rmt, uint64_t lcl)
{
	home_post_step(home, cmd, flags, to, length, rmt, lcl, 0);
}

/* Kick if wanted: after a post, or after a poll that found nothing. */
static UNUSED void home_kick(struct home *home, bool poll)
{
	uint32_t want = poll ? TOFU_NEED_KICK_POLL : TOFU_NEED_KICK_TAIL;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&home->page->need_kick, __ATOMIC_RELAXED) & want)
		tofu_node_kick(home->node, poll);
}

/* The status of the next TCQ entry, or -1 where there is none. */
static UNUSED int home_tcq(struct home *home)
{
	uint64_t *tcq = (void *)(home->ram + HOME_TCQ);
	uint64_t entry = __atomic_load_n(
		&tcq[home->tcq_read % TOFU_RING_ENTRIES(0)], __ATOMIC_ACQUIRE);

	if (TOFU_GET(entry, TOFU_TCQ_FLIP) != tofu_ring_flip(home->tcq_read, 0))
		return -1;
	__atomic_store_n(&home->page->tcq_read, ++home->tcq_read,
			 __ATOMIC_RELAXED);
	return (int)TOFU_GET(entry, TOFU_TCQ_STATUS);
}

/* The status of the next MRQ entry, or -1 where there is none. */
static UNUSED int home_mrq(struct home *home)
{
	struct tofu_mrq_entry *mrq = (void *)(home->ram + HOME_MRQ);
	uint64_t ctrl = __atomic_load_n(
		&mrq[home->mrq_read % TOFU_RING_ENTRIES(0)].ctrl,
		__ATOMIC_ACQUIRE);

	if (TOFU_GET(ctrl, TOFU_MRQ_FLIP) != tofu_ring_flip(home->mrq_read, 0))
		return -1;
	__atomic_store_n(&home->page->mrq_full_pointer, ++home->mrq_read,
			 __ATOMIC_RELAXED);
	return (int)TOFU_GET(ctrl, TOFU_MRQ_STATUS);
}

#endif /* NODE_UTIL_H */
