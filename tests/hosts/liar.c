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
 *   frames    proves who it is, and then sends COUNT frames of which most are wrong
 *             in some way, over as many connections as it takes
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
#include "net/topology.h"

#define ROOM 65536
#define LIMIT_S 10

static struct {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct bridge_hello own;
	struct bridge_hello other;
	uint8_t in[ROOM];
	uint8_t out[ROOM];
	struct fi_context rx;
	struct fi_context tx;
} liar;

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
			 &liar.info),
	      "fi_getinfo");
	fi_freeinfo(hints);
	check(fi_fabric(liar.info->fabric_attr, &liar.fabric, NULL), "fabric");
	check(fi_domain(liar.fabric, liar.info, &liar.domain, NULL), "domain");
}

static void receive(void)
{
	check((int)fi_recv(liar.ep, liar.in, ROOM, NULL, 0, &liar.rx), "recv");
}

static void hang_up(void)
{
	if (!liar.ep)
		return;
	fi_close(&liar.ep->fid);
	fi_close(&liar.cq->fid);
	fi_close(&liar.eq->fid);
	liar.ep = NULL;
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
	check(fi_eq_open(liar.fabric, &eq, &liar.eq, NULL), "eq");
	check(fi_cq_open(liar.domain, &cq, &liar.cq, NULL), "cq");
	check(fi_endpoint(liar.domain, liar.info, &liar.ep, NULL), "endpoint");
	check(fi_ep_bind(liar.ep, &liar.eq->fid, 0), "bind");
	check(fi_ep_bind(liar.ep, &liar.cq->fid, FI_TRANSMIT | FI_RECV),
	      "bind");
	check(fi_enable(liar.ep), "enable");
	receive();
	check(fi_connect(liar.ep, liar.info->dest_addr, NULL, 0), "connect");
	do {
		got = fi_eq_read(liar.eq, &event, &entry, sizeof(entry), 0);
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
		ssize_t got = fi_cq_read(liar.cq, &entry, 1);

		if (got == 1 && entry.op_context == done)
			return false;
		if (got == 1 && entry.op_context == &liar.rx)
			receive();
		if (got == -FI_EAVAIL) {
			fi_cq_readerr(liar.cq, &error, 0);
			return true;
		}
		got = fi_eq_read(liar.eq, &event, &cm, sizeof(cm), 0);
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

	memcpy(liar.out, data, bytes);
	do {
		status = fi_send(liar.ep, liar.out, bytes, NULL, 0, &liar.tx);
	} while (status == -FI_EAGAIN && !hung_up(NULL));
	return !status && !hung_up(&liar.tx);
}

static void expect_refusal(void)
{
	/* An answer can come first. */
	for (int i = 0; i < 3; i++)
		if (hung_up(&liar.rx))
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
	liar.own = (struct bridge_hello){ .magic = BRIDGE_MAGIC,
					  .version = BRIDGE_VERSION,
					  .packets = class_,
					  .from = 1,
					  .to = 0,
					  .table = table(),
					  .session = session };
	if (getrandom(liar.own.nonce, BRIDGE_NONCE, 0) != BRIDGE_NONCE)
		err(1, "getrandom");
}

static void greet(void)
{
	call();
	if (!say(&liar.own, sizeof(liar.own)) || hung_up(&liar.rx))
		errx(1, "it does not answer a greeting");
	memcpy(&liar.other, liar.in, sizeof(liar.other));
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
	hmac_sha256_update(&hmac, sizeof(liar.own), (uint8_t *)&liar.own);
	hmac_sha256_update(&hmac, sizeof(liar.other), (uint8_t *)&liar.other);
	hmac_sha256_digest(&hmac, sizeof(proof.mac), proof.mac);
	return proof;
}

static void tell_version(void)
{
	hello(TOFU_REQUEST, 1);
	liar.own.version = 999;
	call();
	say(&liar.own, sizeof(liar.own));
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

/* A frame that could be one, of a node that is up or not. */
static uint32_t draw_frame(struct bridge_frame *frame)
{
	static const uint32_t bodies[] = { 0, 0, 8, 16, 96, 104, 200, 1120 };
	uint32_t body = bodies[draw() % 8];
	struct tofu_packet *packet = (void *)(frame + 1);

	memset(frame, 0, sizeof(*frame) + body);
	frame->bytes = (uint32_t)sizeof(*frame) + body;
	frame->type = (uint16_t)(draw() % 10);
	frame->flags = draw() % 8 ? 0 : BRIDGE_F_LOST;
	frame->src = (uint32_t)(draw() % 6);
	frame->dst = (uint32_t)(draw() % 6);
	frame->src_gen = (uint32_t)(draw() % 3);
	frame->dst_gen = (uint32_t)(draw() % 3);
	if (body >= sizeof(*packet)) {
		packet->src = frame->src;
		packet->type = (uint8_t)(draw() % 20);
		packet->flags = (uint8_t)draw();
		packet->payload = body - (uint32_t)sizeof(*packet);
		packet->length = (uint32_t)(draw() % 2 ? packet->payload : draw());
	}
	/* Something is wrong with most. */
	for (unsigned int wrong = (unsigned int)(draw() % 4); wrong; wrong--)
		((uint8_t *)frame)[draw() % (sizeof(*frame) + body)] =
			(uint8_t)draw();
	return (uint32_t)sizeof(*frame) + body;
}

/* Messages of some frames, until it hangs up. Return: frames sent */
static unsigned long pester(unsigned long most)
{
	unsigned long frames = 0;

	while (frames < most) {
		static uint8_t message[16384];
		const unsigned long some = 1 + draw() % 8;
		uint32_t bytes = 0;

		for (unsigned long i = 0; i < some; i++)
			bytes += bridge_round(
				draw_frame((void *)(message + bytes)));
		frames += some;
		if (!say(message, bytes))
			break;
	}
	return frames;
}

static void tell_frames(unsigned long count)
{
	unsigned long calls = 0;

	for (unsigned long frames = 0; frames < count; calls++) {
		struct bridge_proof proof;

		hello(calls % 2 ? TOFU_REQUEST : TOFU_RESPONSE, calls + 1);
		greet();
		proof = prove();
		if (say(&proof, sizeof(proof)) && !hung_up(&liar.rx)) {
			receive();
			frames += pester(count - frames);
		} else {
			errx(1, "it does not believe the truth");
		}
	}
	printf("%lu frames over %lu connections\n", count, calls);
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
