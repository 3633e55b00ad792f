/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "srb-util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct srb_scene *playing;

uint64_t srb_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* ---- Letters ---- */

static uint64_t sum_of(const unsigned char *at, size_t bytes, uint64_t sum)
{
	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ at[i]) * 0x100000001b3ULL;
	return sum;
}

void letter_write(void *to, uint64_t from, uint64_t number, uint64_t bytes)
{
	struct letter letter = {
		.from = from,
		.number = number,
		.bytes = bytes,
	};
	unsigned char *text = (unsigned char *)to + sizeof(letter);
	size_t rest = bytes - sizeof(letter);
	uint64_t random = from << 32 | number;

	for (size_t i = 0; i < rest; i++)
		text[i] = (unsigned char)srb_random(&random);
	letter.sum = sum_of(text, rest, from ^ number);
	memcpy(to, &letter, sizeof(letter));
}

bool letter_read(const struct tofu_srb_record *record, struct letter *letter)
{
	static char copy[LETTER_MAX];
	const struct iovec *part = record->part;

	if (record->bytes > sizeof(copy) || record->bytes < sizeof(*letter) ||
	    part[0].iov_len + part[1].iov_len != record->bytes)
		return false;
	memcpy(copy, part[0].iov_base, part[0].iov_len);
	memcpy(copy + part[0].iov_len, part[1].iov_base, part[1].iov_len);
	memcpy(letter, copy, sizeof(*letter));
	return letter->bytes == record->bytes &&
	       letter->sum == sum_of((unsigned char *)copy + sizeof(*letter),
				     record->bytes - sizeof(*letter),
				     letter->from ^ letter->number);
}

/* ---- Both sides ---- */

utofu_vcq_hdl_t scene_vcq(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq;

	CHECK(!utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq));
	CHECK(!utofu_query_vcq_id(vcq, &nodes->vcq[node]));
	return vcq;
}

static struct tofu_srb_params params_of(const struct srb_scene *scene)
{
	return (struct tofu_srb_params){
		.bytes = scene->bytes,
		.stag = SRB_STAG,
		.patience_ns = scene->patience_ns,
	};
}

struct tofu_srb *scene_ring(const struct srb_scene *scene, utofu_vcq_hdl_t vcq)
{
	struct tofu_srb_params params = params_of(scene);
	struct tofu_srb *srb;

	CHECK(!tofu_srb_create_at(vcq, &params, scene->place, &srb));
	return srb;
}

struct tofu_srb_peer scene_peer(const struct srb_scene *scene,
				utofu_vcq_id_t vcq)
{
	struct tofu_srb_params params = params_of(scene);
	struct tofu_srb_peer peer = { 0 };

	CHECK(!tofu_srb_address(vcq, &params, &peer.address));
	return peer;
}

/* ---- Sending ---- */

/* Letters end in their order. */
static void poll_ended(struct tofu_srb_sender *sender, uint64_t *ended)
{
	void *cbdata;
	int result, code = tofu_srb_poll(sender, &cbdata, &result);

	if (code == UTOFU_ERR_NOT_FOUND) {
		sched_yield();
		return;
	}
	CHECK(!code);
	CHECK(!result);
	CHECK((uintptr_t)cbdata == *ended);
	++*ended;
}

void scene_send(const struct srb_scene *scene, utofu_vcq_hdl_t vcq,
		utofu_vcq_id_t to, unsigned int from)
{
	struct tofu_srb_peer peer = scene_peer(scene, to);
	struct tofu_srb_sender *sender;
	uint64_t sent = 0, ended = 0, random = from;
	char *text = malloc(scene->most);

	CHECK(!tofu_srb_sender_create(vcq, &scene->sender, &sender));
	while (ended < scene->letters) {
		uint64_t state = from << 20 | sent;
		struct iovec part = { text,
				      scene->least +
					      srb_random(&state) %
						      (scene->most -
						       scene->least + 1) };
		int code = UTOFU_ERR_BUSY;

		if (sent < scene->letters) {
			letter_write(text, from, sent, part.iov_len);
			code = tofu_srb_send(sender, &peer, &part, 1,
					     (void *)(uintptr_t)sent);
			CHECK(!code || code == UTOFU_ERR_BUSY);
		}
		sent += !code;
		if (code || sent == scene->letters)
			poll_ended(sender, &ended);
		if (scene->nap && srb_random(&random) % scene->nap == 0)
			usleep(random % 3000);
	}
	CHECK(!peer.flow);
	tofu_srb_sender_free(sender);
	free(text);
}

/* ---- Receiving ---- */

void scene_await(struct tofu_srb *srb, struct tofu_srb_record *record)
{
	time_t since = time(NULL);
	int code;

	while ((code = tofu_srb_receive(srb, record)) == UTOFU_ERR_NOT_FOUND) {
		CHECK(time(NULL) - since <= WAIT_SECONDS);
		sched_yield();
	}
	CHECK(!code);
}

void scene_take(const struct srb_scene *scene, struct tofu_srb *srb,
		uint64_t next[])
{
	struct tofu_srb_record record;
	struct letter letter;

	scene_await(srb, &record);
	CHECK(letter_read(&record, &letter));
	CHECK(letter.from <= scene->senders);
	CHECK(letter.number == next[letter.from]);
	next[letter.from]++;
	if (scene->slow && letter.sum % scene->slow == 0)
		usleep(letter.sum % 2000);
	CHECK(!tofu_srb_release(srb));
}

void scene_take_all(const struct srb_scene *scene, struct tofu_srb *srb)
{
	uint64_t next[NODES_MAX] = { 0 };

	for (uint64_t i = 0; i < scene->senders * scene->letters; i++)
		scene_take(scene, srb, next);
	for (unsigned int s = 1; s <= scene->senders; s++)
		CHECK(next[s] == scene->letters);
}

/* ---- Scenes ---- */

static void play(struct tofu_nodes *nodes, unsigned int node)
{
	utofu_vcq_hdl_t vcq = scene_vcq(nodes, node);
	struct tofu_srb *srb = node ? NULL : scene_ring(playing, vcq);

	tofu_nodes_meet(nodes);
	if (node)
		scene_send(playing, vcq, nodes->vcq[0], node);
	else
		scene_take_all(playing, srb);
	tofu_srb_free(srb);
	CHECK(!utofu_free_vcq(vcq));
	tofu_nodes_meet(nodes);
}

int scene_play(const struct srb_scene *scene)
{
	playing = scene;
	return tofu_nodes_run(scene->senders + 1, play, -1);
}
