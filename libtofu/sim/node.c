/* SPDX-License-Identifier: MIT */
/*
 * The home of a node's controller: its memory, which is the process's, and its
 * way into the network. All events of a time are handled in an order that
 * depends on virtual time alone, as in virtual machines (node/virtual.c):
 * credits, packets by sender and number, the controller's calendar; then the
 * program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "icc/word.h"
#include "port/debug.h"
#include "sim/doorbells.h"
#include "sim/ranks.h"
#include "sim/sim.h"
#include "sim/task.h"
#include "sim/trace.h"

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- The node's memory ---- */

/* Where bytes of the node are now, and how many of @len lie together there. */
static void *place(struct sim_node *node, uint64_t addr, size_t *len)
{
	return node->sim->params.software->place(node, addr, len);
}

static int mem_read(void *host, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		size_t part = len - done;
		const void *from = place(host, addr + done, &part);

		memcpy((uint8_t *)buf + done, from, part);
		done += part;
	}
	return 0;
}

static int mem_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	size_t done = 0;

	sim_see(host);
	while (done < len) {
		size_t part = len - done;
		void *to = place(host, addr + done, &part);

		memcpy(to, (const uint8_t *)buf + done, part);
		done += part;
	}
	return 0;
}

static int mem_store64(void *host, uint64_t addr, uint64_t value)
{
	return mem_write(host, addr, &value, sizeof(value));
}

static int mem_armw(void *host, uint64_t addr, unsigned int size,
		    enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		    uint64_t *old)
{
	size_t len = size;
	void *word = place(host, addr, &len);

	if (len < size)
		return -EFAULT;
	sim_see(host);
	return icc_word_armw(word, size, op, operand, compare, old);
}

/* ---- Mail ---- */

/* Two sizes: descriptions and small payload, and whole packets */
#define SMALL 64

static struct sim_mail **spare_of(struct sim *sim, size_t room)
{
	return room <= SMALL ? &sim->spare_small : &sim->spare_large;
}

struct sim_mail *sim_mail_new(struct sim *sim, size_t payload)
{
	const size_t room = payload <= SMALL ? SMALL : TOFU_PKT_MTU_MAX;
	struct sim_mail **spare = spare_of(sim, room);
	struct sim_mail *mail = *spare;

	if (mail) {
		*spare = mail->next;
		return mail;
	}
	mail = malloc(sizeof(*mail) + room);
	if (mail)
		mail->room = (uint32_t)room;
	return mail;
}

void sim_mail_free(struct sim *sim, struct sim_mail *mail)
{
	struct sim_mail **spare = spare_of(sim, mail->room);

	mail->next = *spare;
	*spare = mail;
}

/* ---- The way out ---- */

static struct tofu_packet *tx_begin(void *host, uint32_t to,
				    enum tofu_class class_, size_t payload,
				    int *err)
{
	struct sim_node *node = host;

	(void)class_;
	node->open = sim_mail_new(node->sim, payload);
	if (!node->open) {
		*err = -EHOSTDOWN;
		node->sim->stop = "out of memory";
		return NULL;
	}
	node->open->to = to;
	return &node->open->pkt;
}

static void tx_commit(void *host)
{
	struct sim_node *node = host;
	struct sim_mail *mail = node->open;
	const struct tofu_net_packet packet = {
		.time = mail->pkt.time,
		.src = node->number,
		.dst = mail->to,
		.seq = node->seq++,
		.path = mail->pkt.path,
		.class_ = (uint8_t)tofu_class_of(mail->pkt.type),
		.engine = tofu_packet_engine(mail->pkt.type,
					     mail->pkt.src_tni),
		.taker = tofu_packet_engine(mail->pkt.type,
					    mail->pkt.dst_tni),
		.payload = mail->pkt.payload,
		.cookie = mail,
	};

	mail->pkt.src = node->number;
	if (tofu_net_send(node->sim->net, &packet))
		node->sim->stop = "out of memory";
	node->moved += packet.payload;
	node->sim->stats.packets++;
}

static bool tx_room(void *host, uint32_t to, enum tofu_class class_)
{
	(void)host;
	(void)to;
	(void)class_;
	return true;
}

/* No packet refers to memory: a fence has nothing to wait for. */
static void fence_begin(void *host)
{
	(void)host;
}

static bool fence_done(void *host)
{
	(void)host;
	return true;
}

static void release(void *host, const struct tofu_packet *pkt)
{
	struct sim_node *node = host;
	const size_t at = offsetof(struct sim_mail, pkt);

	sim_mail_free(node->sim, (struct sim_mail *)((char *)pkt - at));
}

static void irq(void *host, unsigned int vector)
{
	struct sim_node *node = host;

	(void)vector;
	if (node->sim->params.software->irq)
		node->sim->params.software->irq(node);
}

__attribute__((format(printf, 2, 3))) static void
misuse(void *host, const char *format, ...)
{
	const struct sim_node *node = host;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tofu_debug("node %u: %s", node->number, text);
}

static uint64_t host_now(void *host)
{
	return ((struct sim_node *)host)->now;
}

static void host_trace(void *host, const struct icc_trace *record)
{
	sim_trace_add(host, record);
}

static const struct icc_host_ops host_ops = {
	.read = mem_read,
	.write = mem_write,
	.write_ordered = mem_write,
	.store64 = mem_store64,
	.armw = mem_armw,
	.tx_begin = tx_begin,
	.tx_commit = tx_commit,
	.tx_room = tx_room,
	.fence_begin = fence_begin,
	.fence_done = fence_done,
	.irq = irq,
	.release = release,
	.misuse = misuse,
	.now = host_now,
	.trace = host_trace,
};

/* ---- The links ---- */

/* Remember the engine's number: the packet may be gone by then. */
static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct sim *sim = ctx;
	struct sim_node *node = sim_node_at(sim, packet->src);
	const struct sim_mail *mail = packet->cookie;

	if (!tofu_heap_push(&node->credits,
			    time + tofu_preset_flight_ns(sim->params.machine),
			    packet->seq,
			    (void *)(uintptr_t)mail->pkt.src_tni))
		sim->stop = "out of memory";
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct sim *sim = ctx;
	struct sim_mail *mail = packet->cookie;
	struct sim_node *node = sim_node_at(sim, packet->dst);
	const uint64_t due = time + sim->params.machine->receive_ns;

	if (!tofu_heap_push(&node->due, due,
			    tofu_heap_order(packet->src, packet->seq), mail))
		sim->stop = "out of memory";
	sim_touch(sim, node->number, due);
}

static void leaves(void *ctx, const struct tofu_net_packet *packet,
		   uint32_t node, uint64_t ps, unsigned int at)
{
	sim_ranks_post(ctx, node, packet, ps, at);
}

static void touches(void *ctx, uint32_t node, uint64_t time)
{
	sim_touch(ctx, node, time);
}

static void credits(void *ctx, const struct tofu_net_credit *credit)
{
	sim_ranks_credit(ctx, credit);
}

static const struct tofu_net_ops net_ops = {
	.departs = departs,
	.arrives = arrives,
	.crosses = sim_trace_link,
	.touches = touches,
	.leaves = leaves,
	.credits = credits,
};

/* ---- Events ---- */

static void deliver_one(struct sim_node *node)
{
	struct sim_mail *mail = tofu_heap_pop(&node->due);

	node->moved += mail->pkt.payload;
	if (icc_receive(node->soft.icc, &mail->pkt, mail->payload) != ICC_KEPT)
		sim_mail_free(node->sim, mail);
}

static void credit_one(struct sim_node *node)
{
	const uint64_t time =
		tofu_heap_time(&node->credits) -
		tofu_preset_flight_ns(node->sim->params.machine);

	icc_credit(node->soft.icc,
		   (unsigned int)(uintptr_t)tofu_heap_pop(&node->credits),
		   time);
}

static void progress(struct sim_node *node)
{
	if (icc_next_visible(node->soft.icc))
		sim_see(node);
	icc_progress(node->soft.icc);
}

static bool do_one(struct sim_node *node)
{
	if (tofu_heap_time(&node->credits) <= node->now)
		credit_one(node);
	else if (tofu_heap_time(&node->due) <= node->now)
		deliver_one(node);
	else if (icc_next_time(node->soft.icc) <= node->now)
		progress(node);
	else
		return false;
	return true;
}

uint64_t sim_node_events(const struct sim_node *node)
{
	return min64(icc_next_time(node->soft.icc),
		     min64(tofu_heap_time(&node->due),
			   tofu_heap_time(&node->credits)));
}

uint64_t sim_node_next(const struct sim_node *node)
{
	return min64(min64(sim_node_events(node), node->wake),
		     tofu_net_next_at(node->sim->net, node->number));
}

/* A program that sleeps wakes before what it can see happens. */
static void wake_for(struct sim_node *node, uint64_t time)
{
	if (node->poll.asleep && icc_next_time(node->soft.icc) == time &&
	    icc_next_visible(node->soft.icc))
		sim_wake(node, time);
}

/* What an engine takes is due receive_ns later. */
uint64_t sim_node_unknown(const struct sim_node *node)
{
	const uint64_t next =
		tofu_net_next_at(node->sim->net, node->number);
	const uint64_t receive = node->sim->params.machine->receive_ns;

	return next > UINT64_MAX - receive ? UINT64_MAX : next + receive;
}

/*
 * Advance the links as far as this node has come: an engine may take something
 * that is due before what the node has next. The links are not advanced beyond
 * the time at which that could be answered.
 */
static void links_run(struct sim_node *node, uint64_t until)
{
	struct tofu_net *net = node->sim->net;
	const uint64_t answer =
		tofu_preset_answer_ns(node->sim->params.machine);

	for (;;) {
		const uint64_t next = tofu_net_next_at(net, node->number);
		uint64_t time = min64(min64(sim_node_events(node), node->wake),
				      until);

		if (next >= time)
			return;
		time = min64(time, sim_node_unknown(node) + answer);
		if (time == next) /* of a machine where both take no time */
			time++;
		tofu_net_advance_at(net, node->number, time, &net_ops,
				    node->sim);
	}
}

void sim_node_run(struct sim_node *node, uint64_t until)
{
	for (;;) {
		uint64_t events, time;

		links_run(node, until);
		events = sim_node_events(node);
		/* What comes later may not be known yet. */
		if (events < until)
			wake_for(node, events);
		time = min64(events, node->wake);
		if (time >= until)
			return;
		node->now = time;
		if (events <= time) {
			sim_event(node->sim, time);
			while (do_one(node))
				;
		}
		if (node->wake <= time && !node->ended)
			sim_go_on(node);
	}
}

/* ---- Life ---- */

static int instance_create(struct sim_node *node)
{
	node->instance = sim_arena_alloc(sizeof(*node->instance));
	if (!node->instance)
		return -ENOMEM;
	tofu_instance_init(node->instance);
	return 0;
}

int sim_node_create(struct sim *sim, struct sim_node *node, uint32_t number)
{
	const struct sim_params *p = &sim->params;
	struct icc_params params = { .tnis = p->tnis,
				     .shape = p->shape,
				     .node = number,
				     .mtu = p->machine->mtu,
				     .doorbells = true,
				     .blank = true,
				     .armw = p->armw,
				     .changes = &node->soft.changes,
				     .machine = p->machine,
				     .ops = &host_ops,
				     .host = node };

	node->sim = sim;
	node->number = number;
	node->wake = UINT64_MAX;
	node->soft.pages = sim_arena_alloc(TOFU_PAGES_HALF);
	if (!node->soft.pages)
		return -ENOMEM;
	params.pages = node->soft.pages;
	node->soft.icc = icc_create(&params);
	if (!node->soft.icc)
		return -errno;
	sim_port_init(node);
	return instance_create(node);
}

void sim_node_destroy(struct sim_node *node)
{
	while (node->due.count)
		sim_mail_free(node->sim, tofu_heap_pop(&node->due));
	tofu_heap_free(&node->due);
	tofu_heap_free(&node->credits);
	sim_task_destroy(node->task);
	if (node->soft.icc)
		icc_destroy(node->soft.icc);
	sim_trace_close(node);
	sim_doorbells_close(node);
}
