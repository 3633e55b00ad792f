// SPDX-License-Identifier: MIT
/*
 * A host that does not keep to the rules of bridges. It connects to the first
 * host of a table of two with two nodes each, of a machine of shape 4, and says
 * to be the other one.
 *
 * usage: liar ADDRESS PORT version|garbage|replay|frames [COUNT]
 *
 *   version   says to be of another version
 *   garbage   says something else
 *   replay    proves by a code of an earlier connection
 *   frames    proves who it is on both connections, and then sends COUNT frames of
 *             which many are wrong in some way, over as many pairs of connections as
 *             it takes. Frames count when they were read, or were the end of theirs.
 *             Some are right: nodes 2 and 3 come, in many lives, and send to nodes 0
 *             and 1, which have to be there in their first
 *
 * Status 0 when all was sent and refused.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <nettle/hmac.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "bridge/wire.h"
#include "fabric/clock.h"
#include "net/topology.h"

#define ROOM 65536
#define LIMIT_S 10

static struct {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
} net;

/* A connection, by its class; and the one of which functions speak */
static struct call {
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct bridge_hello own;
	struct bridge_hello other;
	uint8_t in[ROOM];
	uint8_t out[ROOM];
	struct fi_context rx;
	struct fi_context tx;
} calls[TOFU_CLASSES], *on = calls;

static const char *address, *port;
static uint64_t seed = 1;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void check(int status, const char *what)
{
	if (status)
		errx(1, "%s: %s", what, fi_strerror(-status));
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- Connections ---- */

static void find(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT;
	hints->fabric_attr->prov_name = strdup("tcp");
	check(fi_getinfo(FI_VERSION(1, 15), address, port, 0, hints,
			 &net.info),
	      "fi_getinfo");
	fi_freeinfo(hints);
	check(fi_fabric(net.info->fabric_attr, &net.fabric, NULL), "fabric");
	check(fi_domain(net.fabric, net.info, &net.domain, NULL), "domain");
}

/* Behind the last frame of a message the buffer is empty. */
static void receive(void)
{
	memset(on->in, 0, ROOM);
	check((int)fi_recv(on->ep, on->in, ROOM, NULL, 0, &on->rx), "recv");
}

static void hang_up(void)
{
	if (!on->ep)
		return;
	fi_close(&on->ep->fid);
	fi_close(&on->cq->fid);
	fi_close(&on->eq->fid);
	on->ep = NULL;
}

static bool try_to_call(void)
{
	struct fi_eq_attr eq = { 0 };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .size = 64 };
	struct fi_eq_cm_entry entry;
	const double end = now() + LIMIT_S;
	uint32_t event;
	ssize_t got;

	hang_up();
	check(fi_eq_open(net.fabric, &eq, &on->eq, NULL), "eq");
	check(fi_cq_open(net.domain, &cq, &on->cq, NULL), "cq");
	check(fi_endpoint(net.domain, net.info, &on->ep, NULL), "endpoint");
	check(fi_ep_bind(on->ep, &on->eq->fid, 0), "bind");
	check(fi_ep_bind(on->ep, &on->cq->fid, FI_TRANSMIT | FI_RECV),
	      "bind");
	check(fi_enable(on->ep), "enable");
	receive();
	check(fi_connect(on->ep, net.info->dest_addr, NULL, 0), "connect");
	do {
		got = fi_eq_read(on->eq, &event, &entry, sizeof(entry), 0);
	} while (got == -FI_EAGAIN && now() < end);
	return got > 0 && event == FI_CONNECTED;
}

/* It may have begun a moment ago. */
static void call(void)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	const double end = now() + LIMIT_S;

	while (!try_to_call()) {
		if (now() > end)
			errx(1, "it does not take the call");
		nanosleep(&nap, NULL);
	}
}

/* Whether the other side has hung up; else @done was completed. */
static bool hung_up(const void *done)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_eq_cm_entry cm;
	struct fi_cq_entry entry;
	const double end = now() + LIMIT_S;
	uint32_t event;

	for (;;) {
		ssize_t got = fi_cq_read(on->cq, &entry, 1);

		if (got == 1 && entry.op_context == done)
			return false;
		if (got == 1 && entry.op_context == &on->rx)
			receive();
		if (got == -FI_EAVAIL) {
			fi_cq_readerr(on->cq, &error, 0);
			return true;
		}
		got = fi_eq_read(on->eq, &event, &cm, sizeof(cm), 0);
		if (got == -FI_EAVAIL || (got > 0 && event == FI_SHUTDOWN))
			return true;
		if (now() > end)
			errx(1, "it neither answers nor hangs up");
	}
}

/* Return: false where the other side has hung up */
static bool say(const void *data, size_t bytes)
{
	ssize_t status;

	memcpy(on->out, data, bytes);
	do {
		status = fi_send(on->ep, on->out, bytes, NULL, 0, &on->tx);
	} while (status == -FI_EAGAIN && !hung_up(NULL));
	return !status && !hung_up(&on->tx);
}

static void expect_refusal(void)
{
	/* An answer can come first. */
	for (int i = 0; i < 3; i++)
		if (hung_up(&on->rx))
			return;
		else
			receive();
	errx(1, "it was not refused");
}

/* ---- Greetings ---- */

/* What the bridge computes of its table, with what this one knows of it. */
static uint64_t add(uint64_t hash, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3ULL;
	return hash;
}

static uint64_t table(void)
{
	const struct tofu_shape shape = { .size = { 4, 1, 1, 1, 1, 1 } };
	const uint32_t nodes = 2;
	uint64_t hash = add(0xcbf29ce484222325ULL, &shape, sizeof(shape));

	for (int h = 0; h < 2; h++) {
		hash = add(hash, h ? "b" : "a", 2);
		hash = add(hash, &nodes, sizeof(nodes));
	}
	return hash;
}

static void hello(enum tofu_class class_, uint64_t session)
{
	on->own = (struct bridge_hello){ .magic = BRIDGE_MAGIC,
					  .version = BRIDGE_VERSION,
					  .packets = class_,
					  .from = 1,
					  .to = 0,
					  .table = table(),
					  .session = session };
	if (getrandom(on->own.nonce, BRIDGE_NONCE, 0) != BRIDGE_NONCE)
		err(1, "getrandom");
}

static void greet(void)
{
	call();
	if (!say(&on->own, sizeof(on->own)) || hung_up(&on->rx))
		errx(1, "it does not answer a greeting");
	memcpy(&on->other, on->in, sizeof(on->other));
	receive();
}

static struct bridge_proof prove(void)
{
	const char *token = getenv("TOFU_BRIDGE_TOKEN");
	struct hmac_sha256_ctx hmac;
	struct bridge_proof proof;

	if (!token)
		errx(2, "no TOFU_BRIDGE_TOKEN");
	hmac_sha256_set_key(&hmac, strlen(token), (const uint8_t *)token);
	hmac_sha256_update(&hmac, 1, (const uint8_t *)"c");
	hmac_sha256_update(&hmac, sizeof(on->own), (uint8_t *)&on->own);
	hmac_sha256_update(&hmac, sizeof(on->other), (uint8_t *)&on->other);
	hmac_sha256_digest(&hmac, sizeof(proof.mac), proof.mac);
	return proof;
}

static void tell_version(void)
{
	hello(TOFU_REQUEST, 1);
	on->own.version = 999;
	call();
	say(&on->own, sizeof(on->own));
	expect_refusal();
}

static void tell_garbage(void)
{
	static const char text[100] = "GET / HTTP/1.0\r\n\r\n";

	call();
	say(text, sizeof(text));
	expect_refusal();
}

static void tell_old_proof(void)
{
	struct bridge_proof old;

	hello(TOFU_REQUEST, 1);
	greet();
	old = prove();
	say(&old, sizeof(old));
	/* The same words once more: but the other side has others. */
	greet();
	say(&old, sizeof(old));
	expect_refusal();
}

/* ---- Frames ---- */

/* A life of nodes 2 and 3, which others can believe */
static uint32_t life = 1;

/* Bytes behind a frame's head, of frames that can be right and others */
static uint32_t draw_body(unsigned int type)
{
	static const uint32_t bodies[] = { 0,  8,   16,  24,   32,
					   96, 104, 200, 1120, 1121 };
	const uint32_t payload = (uint32_t)(draw() % 200);

	if (draw() % 64 == 0)
		return bodies[draw() % 10];
	switch (type) {
	case BRIDGE_PACKET:
		return (uint32_t)sizeof(struct tofu_packet) + payload;
	case BRIDGE_CHUNK:
		return 1 + payload;
	case BRIDGE_CREDIT:
		return sizeof(struct bridge_credit);
	case BRIDGE_PING:
	case BRIDGE_PONG:
		return sizeof(struct bridge_ping);
	case BRIDGE_STATE:
		return sizeof(struct bridge_state);
	case BRIDGE_ENTRY:
		return sizeof(struct tofu_log_entry) +
		       (draw() % 2 ? (uint32_t)sizeof(struct tofu_packet) +
					     payload :
				     0);
	case BRIDGE_WORDS:
		return sizeof(struct bridge_words);
	default:
		return 0;
	}
}

/* By the connection of responses small requests come as well. */
static bool draw_class(enum tofu_class class_)
{
	return class_ == (enum tofu_class)(on - calls) || draw() % 32 == 0 ||
	       (on == &calls[TOFU_RESPONSE] && draw() % 2);
}

static void draw_packet(struct tofu_packet *packet, uint32_t src,
			uint32_t payload)
{
	static const uint8_t types[] = { TOFU_PKT_PUT,	TOFU_PKT_GET,
					 TOFU_PKT_ARMW, TOFU_PKT_SIGNAL,
					 TOFU_PKT_DONE, TOFU_PKT_DATA,
					 TOFU_PKT_VALUE };

	packet->src = src;
	do {
		packet->type = types[draw() % sizeof(types)];
	} while (!draw_class(tofu_class_of(packet->type)));
	packet->flags = draw() % 2 ? TOFU_PKT_F_REFS : (uint8_t)draw();
	if (on == &calls[TOFU_RESPONSE] && draw() % 8)
		packet->flags &= (uint8_t)~TOFU_PKT_F_REFS;
	packet->payload = payload;
	packet->length = (uint32_t)(draw() % 4 ? payload : draw());
}

/* Packets so far in this life, from 2 and 3 to 0 and 1 */
static uint32_t numbers[2][2][TOFU_CLASSES];

/* Most are in order; others leave some out, or come again. */
static uint32_t draw_number(const struct bridge_frame *frame)
{
	const struct tofu_packet *packet = (const void *)(frame + 1);
	uint32_t *number = &numbers[frame->src - 2][frame->dst]
				   [tofu_class_of(packet->type)];

	if (draw() % 64 == 0)
		return (uint32_t)draw();
	if (draw() % 32 == 0)
		*number += (uint32_t)(draw() % 3) - 1;
	return (*number)++;
}

/* Virtual time would end the other: only some runs have it. */
static unsigned int draw_type(bool timed)
{
	const unsigned int last = timed ? BRIDGE_WORDS : BRIDGE_PONG;
	const unsigned int type =
		BRIDGE_PACKET + (unsigned int)(draw() % last);

	if (draw() % 64 == 0)
		return (unsigned int)draw();
	/* The other side would hang up, as it should. */
	if (type == BRIDGE_BYE || (type == BRIDGE_CHUNK && draw() % 16))
		return BRIDGE_PACKET;
	return type;
}

/* A frame that could be one, of a node that is up or not. */
static uint32_t draw_frame(struct bridge_frame *frame, bool timed)
{
	const unsigned int type = draw_type(timed);
	const uint32_t body = draw_body(type);
	struct tofu_log_entry *entry = (void *)(frame + 1);
	bool numbered = false;

	memset(frame, 0, sizeof(*frame) + body);
	frame->bytes = (uint32_t)sizeof(*frame) + body;
	frame->type = (uint16_t)type;
	frame->flags = draw() % 64 ? 0 : BRIDGE_F_LOST;
	frame->src = 2 + (uint32_t)(draw() % 2);
	frame->dst = (uint32_t)(draw() % 2);
	frame->src_gen = life;
	frame->dst_gen = 1;
	frame->after = draw() % 8 ? 0 : (uint32_t)draw();
	if (type == BRIDGE_CREDIT) {
		frame->src = (uint32_t)(draw() % 2);
		frame->dst = 2 + (uint32_t)(draw() % 2);
		frame->src_gen = 1;
		frame->dst_gen = life;
	}
	if (type == BRIDGE_PACKET && body >= sizeof(struct tofu_packet)) {
		draw_packet((void *)(frame + 1), frame->src,
			    body - (uint32_t)sizeof(struct tofu_packet));
		numbered = true;
	}
	if (type == BRIDGE_STATE && body >= sizeof(struct bridge_state))
		*(uint64_t *)(frame + 1) = 1 + draw() % 2;
	if (type == BRIDGE_ENTRY && body >= sizeof(*entry)) {
		entry->dst = (uint32_t)(draw() % 4 ? draw() % 4 : draw());
		entry->time = draw();
		if (body >= sizeof(*entry) + sizeof(struct tofu_packet)) {
			struct tofu_packet *packet = (void *)(entry + 1);

			draw_packet(packet, frame->src,
				    body - (uint32_t)(sizeof(*entry) +
						      sizeof(*packet)));
			entry->type = packet->type;
		}
	}
	/* Of another life: dropped without a word. */
	if (draw() % 4 == 0)
		*(draw() % 2 ? &frame->src_gen : &frame->dst_gen) =
			(uint32_t)draw();
	else if (numbered)
		frame->number = draw_number(frame);
	/* Any byte of it may be wrong. */
	if (draw() % 32 == 0)
		((uint8_t *)frame)[draw() % (sizeof(*frame) + body)] =
			(uint8_t)draw();
	return (uint32_t)sizeof(*frame) + body;
}

static uint32_t put_life(uint8_t *to, enum bridge_type type, uint32_t node)
{
	*(struct bridge_frame *)to =
		(struct bridge_frame){ .bytes = sizeof(struct bridge_frame),
				       .type = (uint16_t)type,
				       .src = node,
				       .src_gen = life };
	return sizeof(struct bridge_frame);
}

/* Nodes 2 and 3 are there, by both connections. */
static bool come(void)
{
	uint8_t message[2 * sizeof(struct bridge_frame)];
	uint32_t bytes = put_life(message, BRIDGE_UP, 2);

	memset(numbers, 0, sizeof(numbers));
	bytes += put_life(message + bytes, BRIDGE_UP, 3);
	on = &calls[TOFU_REQUEST];
	if (!say(message, bytes))
		return false;
	on = &calls[TOFU_RESPONSE];
	return say(message, bytes);
}

static uint32_t put_ping(uint8_t *to, uint64_t time)
{
	const struct bridge_ping ping = { .time = time };
	struct bridge_frame *frame = (void *)to;

	*frame = (struct bridge_frame){ .bytes = sizeof(*frame) + sizeof(ping),
					.type = BRIDGE_PING };
	memcpy(frame + 1, &ping, sizeof(ping));
	return frame->bytes;
}

static bool has_pong(uint64_t time)
{
	for (uint32_t at = 0; at + sizeof(struct bridge_frame) <= ROOM;) {
		const struct bridge_frame *frame = (const void *)(on->in + at);

		if (!frame->bytes)
			return false;
		if (frame->type == BRIDGE_PONG &&
		    !memcmp(frame + 1, &time, sizeof(time)))
			return true;
		at += bridge_round(frame->bytes);
	}
	return false;
}

/* Until it has read a message to its end: false where it hangs up instead. */
static bool is_read(uint64_t time)
{
	bool read = false;

	while (!read) {
		if (hung_up(&on->rx))
			return false;
		read = has_pong(time);
		receive();
	}
	return true;
}

/* Messages of some frames by either, until one hangs up. Return: frames sent */
static unsigned long pester(unsigned long most, bool timed)
{
	unsigned long frames = 0;

	if (!come())
		return 0;
	while (frames < most) {
		static uint8_t message[16384];
		const unsigned long some = 1 + draw() % 8;
		uint32_t bytes = 0;

		on = &calls[draw() % TOFU_CLASSES];
		for (unsigned long i = 0; i < some; i++)
			bytes += bridge_round(
				draw_frame((void *)(message + bytes), timed));
		bytes += put_ping(message + bytes, frames);
		frames += some;
		if (!say(message, bytes) || !is_read(frames - some))
			break;
	}
	return frames;
}

/* Both connections of a session, as the bridge expects them. */
static void be_believed(uint64_t session)
{
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		struct bridge_proof proof;

		on = &calls[class_];
		hello((enum tofu_class)class_, session);
		greet();
		proof = prove();
		if (!say(&proof, sizeof(proof)) || hung_up(&on->rx))
			errx(1, "it does not believe the truth");
		receive();
	}
}

static void tell_frames(unsigned long count)
{
	unsigned long sessions = 0;

	for (unsigned long frames = 0; frames < count; sessions++, life++) {
		be_believed(sessions + 1);
		/*
		 * Virtual time only at the end: it does not go again, and then the
		 * bridge looks for callers only now and then.
		 */
		frames += pester(count - frames, frames > count / 20 * 19);
	}
	printf("%lu frames in %lu sessions\n", count, sessions);
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		on = &calls[class_];
		hang_up();
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		errx(2, "usage: liar ADDRESS PORT version|garbage|replay|frames [COUNT]");
	address = argv[1];
	port = argv[2];
	find();
	if (!strcmp(argv[3], "version"))
		tell_version();
	else if (!strcmp(argv[3], "garbage"))
		tell_garbage();
	else if (!strcmp(argv[3], "replay"))
		tell_old_proof();
	else if (!strcmp(argv[3], "frames") && argc == 5)
		tell_frames(strtoul(argv[4], NULL, 10));
	else
		errx(2, "no such lie: %s", argv[3]);
	hang_up();
	return 0;
}
