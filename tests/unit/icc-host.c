// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "icc-clock.h"

const struct net_mode by_reference = NET_BY_REFERENCE;

/* ---- Memory ---- */

void *ram_at(struct net_node *node, uint64_t addr, uint64_t len)
{
	uint64_t offset = addr - node->base;

	if (addr < node->base || offset > RAM_SIZE || len > RAM_SIZE - offset)
		return NULL;
	for (unsigned int i = 0; i < node->holes; i++) {
		if (addr < node->hole[i] + 4096 && node->hole[i] < addr + len)
			return NULL;
	}
	return node->ram + offset;
}

uint64_t ram_alloc(struct net_node *node, uint64_t size, uint64_t align)
{
	uint64_t addr = (node->next + align - 1) / align * align;

	node->next = addr + size;
	if (node->next > node->base + RAM_SIZE)
		abort();
	return addr;
}

static int host_read(void *host, uint64_t addr, void *buf, size_t len)
{
	const void *at = ram_at(host, addr, len);
	struct net_node *node = host;

	node->reads++;
	if (!at)
		return -EFAULT;
	memcpy(buf, at, len);
	return 0;
}

static int host_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	void *at = ram_at(host, addr, len);

	if (!at)
		return -EFAULT;
	memcpy(at, buf, len);
	return 0;
}

static int host_write_ordered(void *host, uint64_t addr, const void *buf,
			      size_t len)
{
	((struct net_node *)host)->writes_ordered++;
	return host_write(host, addr, buf, len);
}

static int host_store64(void *host, uint64_t addr, uint64_t value)
{
	struct net_node *node = host;

	if (addr % 8)
		abort();
	node->stored[node->stores++ % NET_STORES] = addr;
	return host_write(host, addr, &value, sizeof(value));
}

static uint64_t armw(enum tofu_armw_op op, uint64_t old, uint64_t operand,
		     uint64_t compare)
{
	switch (op) {
	case TOFU_ARMW_CSWAP:
		return old == compare ? operand : old;
	case TOFU_ARMW_SWAP:
		return operand;
	case TOFU_ARMW_ADD:
		return old + operand;
	case TOFU_ARMW_XOR:
		return old ^ operand;
	case TOFU_ARMW_AND:
		return old & operand;
	case TOFU_ARMW_OR:
		return old | operand;
	default:
		abort();
	}
}

static int host_armw(void *host, uint64_t addr, unsigned int size,
		     enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		     uint64_t *old)
{
	uint8_t *at = ram_at(host, addr, size);
	uint64_t result;

	if ((size != 4 && size != 8) || addr % size)
		abort();
	if (!at)
		return -EFAULT;
	*old = 0;
	memcpy(old, at, size);
	result = armw(op, *old, operand, compare);
	memcpy(at, &result, size);
	return 0;
}

static int host_pull(void *host, uint32_t number, uint64_t src, uint64_t dst,
		     size_t len)
{
	struct net_node *node = host;
	struct net_node *peer = &node->net->node[number];
	const void *from = peer->down ? NULL : ram_at(peer, src, len);
	void *to = ram_at(node, dst, len);

	node->pulls++;
	if (!from)
		return -EHOSTDOWN;
	if (!to)
		return -EFAULT;
	memmove(to, from, len);
	return 0;
}

static int host_pull_ordered(void *host, uint32_t number, uint64_t src,
			     uint64_t dst, size_t len)
{
	((struct net_node *)host)->writes_ordered++;
	return host_pull(host, number, src, dst, len);
}

/* ---- Network ---- */

/* Payload for which a tight queue has room: a few references */
#define TIGHT_BYTES 512

static struct tofu_packet *host_tx_begin(void *host, uint32_t number,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	struct net_node *node = host;
	struct net_node *peer = &node->net->node[number];

	if (payload > TOFU_PKT_INLINE_MAX || number >= node->net->nodes)
		abort();
	*err = peer->down ? -EHOSTDOWN : -EAGAIN;
	node->tx_queue = &peer->queue[class_];
	if (peer->down || node->tx_queue->count >= node->tx_queue->room ||
	    (node->tx_queue->tight && payload > TIGHT_BYTES))
		return NULL;
	/* Exactly the size asked for, so that a sanitizer sees an overrun. */
	free(node->tx);
	node->tx = malloc(sizeof(struct tofu_packet) + payload);
	return &node->tx->pkt;
}

static void host_tx_commit(void *host)
{
	struct net_node *node = host;

	node->tx_queue->packet[node->tx_queue->count++] = node->tx;
	node->tx = NULL;
}

static bool host_tx_room(void *host, uint32_t number, enum tofu_class class_)
{
	struct net_node *peer = &((struct net_node *)host)->net->node[number];

	return peer->down ||
	       (peer->queue[class_].count < peer->queue[class_].room &&
		!peer->queue[class_].tight);
}

void net_send(struct net *net, uint32_t to, const struct tofu_packet *pkt,
	      const void *payload)
{
	struct net_queue *queue =
		&net->node[to].queue[tofu_class_of(pkt->type)];
	struct net_packet *p = malloc(sizeof(*pkt) + pkt->payload);

	p->pkt = *pkt;
	if (pkt->payload)
		memcpy(p->payload, payload, pkt->payload);
	if (net->clock)
		clock_send(net, to, p);
	else
		queue->packet[queue->count++] = p;
}

/* Take one packet of a class; false where there is none, or it must wait. */
static bool take(struct net_node *node, enum tofu_class class_)
{
	struct net_queue *queue = &node->queue[class_];
	struct net_packet *p = queue->packet[0];
	struct tofu_packet header;

	if (!queue->count || node->held || node->down)
		return false;
	header = p->pkt;
	if (icc_receive(node->icc, &header, p->payload)) {
		if (class_ == TOFU_RESPONSE)
			abort(); /* responses must always be taken */
		return false;
	}
	free(p);
	queue->count--;
	memmove(queue->packet, queue->packet + 1,
		queue->count * sizeof(queue->packet[0]));
	return true;
}

bool net_step(struct net *net)
{
	bool done = false;

	for (unsigned int i = 0; i < net->nodes; i++) {
		struct net_node *node = &net->node[i];

		if (node->down)
			continue;
		while (take(node, TOFU_RESPONSE))
			done = true;
		while (take(node, TOFU_REQUEST))
			done = true;
		done |= icc_progress(node->icc);
	}
	return done;
}

void net_run(struct net *net)
{
	if (net->clock) {
		clock_run(net);
		return;
	}
	for (unsigned int i = 0; net_step(net); i++) {
		if (i > 1000000)
			abort();
	}
}

void net_down(struct net *net, uint32_t number)
{
	net->node[number].down = true;
	for (unsigned int i = 0; i < net->nodes; i++) {
		if (!net->node[i].down)
			icc_peer_down(net->node[i].icc, number);
	}
}

/* Whether a response with references of this node has not been taken. */
static bool refs_under_way(const struct net_node *node)
{
	for (unsigned int i = 0; i < node->net->nodes; i++) {
		const struct net_node *peer = &node->net->node[i];
		const struct net_queue *queue = &peer->queue[TOFU_RESPONSE];

		for (unsigned int p = 0; p < queue->count && !peer->down; p++) {
			if (queue->packet[p]->pkt.src == node->number &&
			    queue->packet[p]->pkt.flags & TOFU_PKT_F_REFS)
				return true;
		}
	}
	return false;
}

static void host_fence_begin(void *host)
{
	((struct net_node *)host)->fences++;
}

static bool host_fence_done(void *host)
{
	struct net_node *node = host;

	return !node->fence_held && !refs_under_way(node);
}

static void host_irq(void *host, unsigned int vector)
{
	((struct net_node *)host)->irq[vector]++;
}

static void host_misuse(void *host, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	((struct net_node *)host)->misuses++;
}

const struct icc_host_ops net_ops = {
	.read = host_read,
	.write = host_write,
	.write_ordered = host_write_ordered,
	.store64 = host_store64,
	.armw = host_armw,
	.pull = host_pull,
	.pull_ordered = host_pull_ordered,
	.tx_begin = host_tx_begin,
	.tx_commit = host_tx_commit,
	.tx_room = host_tx_room,
	.fence_begin = host_fence_begin,
	.fence_done = host_fence_done,
	.irq = host_irq,
	.misuse = host_misuse,
};

static void node_init(struct net *net, uint32_t number,
		      const struct tofu_shape *shape,
		      const struct icc_params *like)
{
	struct net_node *node = &net->node[number];
	struct icc_params params = *like;

	node->net = net;
	node->number = number;
	node->base = (number + 1ULL) << 40;
	node->next = node->base;
	node->ram = calloc(1, RAM_SIZE);
	node->pages = aligned_alloc(4096, TOFU_PAGES_HALF);
	memset(node->pages, 0, TOFU_PAGES_HALF);
	for (int c = 0; c < TOFU_CLASSES; c++)
		node->queue[c].room = NET_QUEUE / 2;
	params.pages = node->pages;
	params.shape = *shape;
	params.node = number;
	params.host = node;
	node->icc = icc_create(&params);
	if (!node->icc || !node->ram)
		abort();
}

struct net *net_create_with(const char *text, unsigned int tnis,
			    const struct net_mode *mode,
			    const struct icc_host_ops *ops)
{
	const struct icc_params params = { .tnis = tnis,
					   .ram_pages = !mode->doorbells,
					   .inline_max = mode->inline_max,
					   .mtu = mode->mtu,
					   .doorbells = mode->doorbells,
					   .armw = !mode->no_armw,
					   .changes = mode->changes,
					   .machine = mode->machine,
					   .ops = ops };
	struct net *net = calloc(1, sizeof(*net));
	struct tofu_shape shape;

	if (tofu_shape_parse(text, &shape) ||
	    tofu_shape_nodes(&shape) > NET_NODES)
		abort();
	net->nodes = tofu_shape_nodes(&shape);
	net->mode = *mode;
	for (uint32_t i = 0; i < net->nodes; i++)
		node_init(net, i, &shape, &params);
	return net;
}

static unsigned int host_patience(void *host)
{
	return ((struct net_node *)host)->net->mode.patience;
}

struct net *net_create(const char *text, unsigned int tnis,
		       const struct net_mode *mode)
{
	static struct icc_host_ops refers;

	if (mode->machine)
		return clock_create(text, mode->machine);
	refers = net_ops;
	refers.patience = host_patience;
	return net_create_with(text, tnis, mode,
			       mode->refers ? &refers : &net_ops);
}

void net_destroy(struct net *net)
{
	if (net->clock)
		clock_end(net);
	for (unsigned int i = 0; i < net->nodes; i++) {
		struct net_node *node = &net->node[i];

		for (int c = 0; c < TOFU_CLASSES; c++) {
			while (node->queue[c].count)
				free(node->queue[c]
					     .packet[--node->queue[c].count]);
		}
		icc_destroy(node->icc);
		free(node->tx);
		free(node->pages);
		free(node->ram);
	}
	free(net);
}

/* ---- CQs ---- */

uint64_t cq_reg(struct cq *cq, unsigned int reg)
{
	return icc_reg_read(cq->node->icc, TOFU_CQ_REGS(cq->tni, cq->cq) + reg,
			    8);
}

void cq_reg_set(struct cq *cq, unsigned int reg, uint64_t value)
{
	icc_reg_write(cq->node->icc, TOFU_CQ_REGS(cq->tni, cq->cq) + reg, value,
		      8);
}

void cq_settings(struct cq *cq)
{
	cq_reg_set(cq, TOFU_CQ_TOQ_BASE, cq->toq);
	cq_reg_set(cq, TOFU_CQ_TCQ_BASE, cq->tcq);
	cq_reg_set(cq, TOFU_CQ_MRQ_BASE, cq->mrq);
	cq_reg_set(cq, TOFU_CQ_RINGS,
		   TOFU_SET(TOFU_CQ_RINGS_TOQ, cq->toq_code) |
			   TOFU_SET(TOFU_CQ_RINGS_MRQ, cq->mrq_code) |
			   TOFU_SET(TOFU_CQ_RINGS_SESSION, cq->session));
	cq_reg_set(cq, TOFU_CQ_STT_BASE, cq->stt);
	cq_reg_set(cq, TOFU_CQ_STT_COUNT, CQ_STAGS);
	cq_reg_set(cq, TOFU_CQ_MBT_BASE, cq->mbt);
	cq_reg_set(cq, TOFU_CQ_MBT_COUNT, CQ_BLOCKS);
	cq_reg_set(cq, TOFU_CQ_GPID, 1000);
}

void cq_enable(struct cq *cq)
{
	const uint64_t toq = TOFU_RING_ENTRIES(cq->toq_code);

	memset(ram_at(cq->node, cq->toq, toq * 32), 0, toq * 32);
	memset(ram_at(cq->node, cq->tcq, toq * 8), 0, toq * 8);
	memset(ram_at(cq->node, cq->mrq, TOFU_RING_ENTRIES(cq->mrq_code) * 32),
	       0, TOFU_RING_ENTRIES(cq->mrq_code) * 32);
	cq->tail = 0;
	cq->tcq_read = 0;
	cq->mrq_read = 0;
	cq->page->fetch_start = 0;
	cq->page->mrq_full_pointer = 0;
	cq_reg_set(cq, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
}

void cq_disable(struct cq *cq)
{
	cq_reg_set(cq, TOFU_CQ_CTRL, 0);
}

void cq_session(struct cq *cq)
{
	cq_disable(cq);
	cq->session = true;
	cq_settings(cq);
	cq_enable(cq);
}

struct cq *cq_create(struct net *net, uint32_t number, unsigned int tni,
		     unsigned int cq_number)
{
	struct net_node *node = &net->node[number];
	struct cq *cq = calloc(1, sizeof(*cq));

	cq->node = node;
	cq->tni = tni;
	cq->cq = cq_number;
	cq->toq = ram_alloc(node, TOFU_RING_ENTRIES(0) * 32, 4096);
	cq->tcq = ram_alloc(node, TOFU_RING_ENTRIES(0) * 8, 4096);
	cq->mrq = ram_alloc(node, TOFU_RING_ENTRIES(0) * 32, 4096);
	cq->stt = ram_alloc(node, CQ_STAGS * 32, 4096);
	cq->mbt = ram_alloc(node, CQ_BLOCKS * 32, 4096);
	cq->page = (void *)(node->pages + TOFU_CQ_PAGE(tni, cq_number));
	cq_settings(cq);
	cq_enable(cq);
	return cq;
}

void cq_destroy(struct cq *cq)
{
	free(cq);
}

void cq_push(struct cq *cq, const void *slot)
{
	const uint64_t mask = TOFU_RING_ENTRIES(cq->toq_code) - 1;

	memcpy(ram_at(cq->node, cq->toq + (cq->tail++ & mask) * 32, 32), slot,
	       32);
}

void cq_kick_to(struct cq *cq, uint64_t tail)
{
	const bool doorbells = cq->node->net->mode.doorbells;

	/* Where pages are registers, the word itself is not used. */
	__atomic_store_n(&cq->page->fetch_start, doorbells ? ~tail : tail,
			 __ATOMIC_RELEASE);
	if (doorbells)
		icc_doorbell(cq->node->icc, cq->tni, cq->cq, tail);
}

void cq_kick(struct cq *cq)
{
	cq_kick_to(cq, cq->tail);
}

bool cq_tcq(struct cq *cq, uint64_t *entry)
{
	const uint64_t mask = TOFU_RING_ENTRIES(cq->toq_code) - 1;
	const uint64_t addr = cq->tcq + (cq->tcq_read & mask) * 8;

	memcpy(entry, ram_at(cq->node, addr, 8), 8);
	if (TOFU_GET(*entry, TOFU_TCQ_FLIP) !=
	    tofu_ring_flip(cq->tcq_read, cq->toq_code))
		return false;
	cq->tcq_read++;
	return true;
}

bool cq_mrq(struct cq *cq, struct tofu_mrq_entry *entry)
{
	const uint64_t mask = TOFU_RING_ENTRIES(cq->mrq_code) - 1;
	const uint64_t addr = cq->mrq + (cq->mrq_read & mask) * 32;

	memcpy(entry, ram_at(cq->node, addr, 32), 32);
	if (TOFU_GET(entry->ctrl, TOFU_MRQ_FLIP) !=
	    tofu_ring_flip(cq->mrq_read, cq->mrq_code))
		return false;
	cq->mrq_read++;
	__atomic_store_n(&cq->page->mrq_full_pointer, cq->mrq_read,
			 __ATOMIC_RELEASE);
	return true;
}

int cq_tcq_status(struct cq *cq)
{
	uint64_t entry;

	return cq_tcq(cq, &entry) ? (int)TOFU_GET(entry, TOFU_TCQ_STATUS) : -1;
}

int cq_mrq_status(struct cq *cq)
{
	struct tofu_mrq_entry entry;

	return cq_mrq(cq, &entry) ?
		       (int)TOFU_GET(entry.ctrl, TOFU_MRQ_STATUS) :
		       -1;
}

/* ---- Regions ---- */

struct tofu_steering *region_steering(struct region *region)
{
	return ram_at(region->cq->node, region->cq->stt + region->stag * 32,
		      32);
}

struct tofu_memory_block *region_block(struct region *region)
{
	return ram_at(region->cq->node, region->cq->mbt + region->stag * 32,
		      32);
}

uint64_t *region_table(struct region *region)
{
	return ram_at(region->cq->node, region_block(region)->table,
		      region->pages * 8ULL);
}

struct region *region_create(struct cq *cq, unsigned int stag, uint64_t length,
			     uint64_t mbva, unsigned int shift, uint64_t skew)
{
	struct region *r = calloc(1, sizeof(*r));
	const uint64_t size = 1ULL << shift;
	uint64_t table;

	*r = (struct region){
		.cq = cq,
		.stag = stag,
		.length = length,
		.mbva = mbva,
		.shift = shift,
	};
	r->pages = (unsigned int)((mbva + length + size - 1) >> shift);
	if (r->pages > REGION_PAGES || stag >= CQ_STAGS)
		abort();
	table = ram_alloc(cq->node, r->pages * 8ULL, 8);
	/* Every third page follows the one before it, the others leave gaps. */
	for (unsigned int i = 0; i < r->pages; i++)
		r->page[i] = i % 3 == 1 && !skew ?
				     ram_alloc(cq->node, size, 1) :
				     ram_alloc(cq->node, size + skew + 64,
					       4096) +
					     skew;
	memcpy(ram_at(cq->node, table, r->pages * 8ULL), r->page,
	       r->pages * 8ULL);
	*region_block(r) = (struct tofu_memory_block){
		.ctrl = TOFU_SET(TOFU_MB_ENABLE, 1) |
			TOFU_SET(TOFU_MB_PAGE_SHIFT, shift),
		.table = table,
		.npage = r->pages,
	};
	*region_steering(r) = (struct tofu_steering){
		.ctrl = TOFU_SET(TOFU_STEERING_ENABLE, 1) |
			TOFU_SET(TOFU_STEERING_MBID, stag),
		.mbva = mbva,
		.length = length,
	};
	return r;
}

void region_destroy(struct region *region)
{
	free(region);
}

uint8_t *region_byte(struct region *region, uint64_t offset)
{
	const uint64_t at = region->mbva + offset;
	const struct net_node *node = region->cq->node;

	return node->ram + (region->page[at >> region->shift] - node->base) +
	       (at & ((1ULL << region->shift) - 1));
}

void region_fill(struct region *region, unsigned int seed)
{
	uint32_t x = seed * 2654435761U + 1;

	for (uint64_t i = 0; i < region->length; i++) {
		x = x * 1664525 + 1013904223;
		*region_byte(region, i) = (uint8_t)(x >> 24);
	}
}

int64_t region_differs(struct region *a, uint64_t a_offset, struct region *b,
		       uint64_t b_offset, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++) {
		if (*region_byte(a, a_offset + i) !=
		    *region_byte(b, b_offset + i))
			return (int64_t)i;
	}
	return -1;
}

/* ---- Transfers ---- */

uint64_t coords_word(struct net_node *node)
{
	return icc_reg_read(node->icc, TOFU_REG_COORDS, 8);
}

struct tofu_toq_desc transfer_desc(const struct transfer *t)
{
	struct tofu_toq_desc desc = {
		.ctrl = TOFU_SET(TOFU_TOQ_CMD, t->cmd) |
			TOFU_SET(TOFU_TOQ_FLAGS, t->flags) |
			TOFU_SET(TOFU_TOQ_EDATA, t->edata) |
			TOFU_SET(TOFU_TOQ_PATH, t->path) |
			TOFU_SET(TOFU_TOQ_SPS, t->sps) |
			TOFU_SET(TOFU_TOQ_GAP, t->gap) |
			TOFU_SET(TOFU_TOQ_MTU, t->mtu) |
			TOFU_SET(TOFU_TOQ_ARMW_OP, t->op) |
			TOFU_SET(TOFU_TOQ_ARMW_8, t->armw_8),
		.route = TOFU_SET(TOFU_ROUTE_LENGTH, t->length) |
			 TOFU_SET(TOFU_ROUTE_TAG, t->tag),
		.lcl = t->operand,
	};

	if (t->rmt) {
		desc.route |= coords_word(t->rmt->cq->node) |
			      TOFU_SET(TOFU_ROUTE_TNI, t->rmt->cq->tni);
		desc.rmt = TOFU_SET(TOFU_ADDR_CQ, t->rmt->cq->cq) |
			   TOFU_SET(TOFU_ADDR_STAG, t->rmt->stag) |
			   TOFU_SET(TOFU_ADDR_OFFSET, t->rmt_offset);
	}
	if (t->lcl)
		desc.lcl = TOFU_SET(TOFU_ADDR_CQ, t->cq->cq) |
			   TOFU_SET(TOFU_ADDR_STAG, t->lcl->stag) |
			   TOFU_SET(TOFU_ADDR_OFFSET, t->lcl_offset);
	return desc;
}

static void desc_push(struct cq *cq, struct tofu_toq_desc desc)
{
	desc.ctrl |= TOFU_SET(TOFU_TOQ_FLIP,
			      tofu_ring_flip(cq->tail, cq->toq_code));
	cq_push(cq, &desc);
}

void transfer_push(const struct transfer *t)
{
	struct tofu_toq_desc desc = transfer_desc(t);
	const struct tofu_toq_stride stride = { .stride = t->stride,
						.blocks = t->blocks };

	if (t->blocks)
		desc.ctrl |= TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE);
	desc_push(t->cq, desc);
	if (tofu_toq_slots(desc.ctrl, desc.route) > 1)
		cq_push(t->cq, t->blocks ? (const void *)&stride : t->second);
}

void transfer_post(const struct transfer *t)
{
	transfer_push(t);
	cq_kick(t->cq);
}

void desc_post(struct cq *cq, struct tofu_toq_desc desc)
{
	desc_push(cq, desc);
	cq_kick(cq);
}

/* ---- The usual two ---- */

void pair_create(struct pair *p, const struct net_mode *mode, uint64_t length)
{
	p->net = net_create("2x2", 4, mode);
	p->a = cq_create(p->net, 0, 0, 3);
	p->b = cq_create(p->net, 1, 1, 5);
	p->src = region_create(p->a, 1, length, 256, 12, 0);
	p->dst = region_create(p->b, 2, length, 512, 12, 40);
	region_fill(p->src, 1);
	region_fill(p->dst, 2);
	p->put = (struct transfer){
		.cmd = TOFU_CMD_PUT,
		.flags = ALL_NOTICES,
		.cq = p->a,
		.lcl = p->src,
		.rmt = p->dst,
		.length = 64,
		.edata = 0x5a,
		.tag = 0xc3,
	};
}

void pair_destroy(struct pair *p)
{
	region_destroy(p->src);
	region_destroy(p->dst);
	cq_destroy(p->a);
	cq_destroy(p->b);
	net_destroy(p->net);
}

int pair_run(struct pair *p, const struct transfer *t)
{
	transfer_post(t);
	net_run(p->net);
	return cq_mrq_status(p->a);
}
