/* SPDX-License-Identifier: MIT */
/*
 * Records of tests: each tells its sender, its number, and what its bytes have to
 * be.
 */
#ifndef UNIT_SRB_UTIL_H
#define UNIT_SRB_UTIL_H

#include <stdbool.h>

#include "srb/srb.h"
#include "utofu-util.h"

#define SRB_STAG 7
#define LETTER_MAX 65536

/**
 * struct letter - what a record begins with
 * @bytes: of the record
 * @sum:   of what follows
 */
struct letter {
	uint64_t from;
	uint64_t number;
	uint64_t bytes;
	uint64_t sum;
};

/**
 * struct srb_scene - senders and one receiver, which is node 0
 * @bytes:    of the ring
 * @place:    where it begins
 * @patience_ns: of the receiver
 * @senders:  nodes
 * @letters:  of each sender
 * @least, @most: bytes of a letter, struct letter at least
 * @sender:     of the senders; .pool is set
 * @slow:     the receiver sleeps once in @slow letters; 0: never
 * @nap:      a sender sleeps once in @nap polls; 0: never
 */
struct srb_scene {
	uint64_t bytes;
	uint64_t place;
	uint64_t patience_ns;
	unsigned int senders;
	uint64_t letters;
	size_t least;
	size_t most;
	struct tofu_srb_sender_params sender;
	unsigned int slow;
	unsigned int nap;
};

/* srb_random - the next number; the state is any */
uint64_t srb_random(uint64_t *state);

/* letter_write - into @to, which has room for it */
void letter_write(void *to, uint64_t from, uint64_t number, uint64_t bytes);

/* letter_read - the one in a record; whether it is whole */
bool letter_read(const struct tofu_srb_record *record, struct letter *letter);

/* scene_vcq - of this process; its ID is told to the others */
utofu_vcq_hdl_t scene_vcq(struct tofu_nodes *nodes, unsigned int node);

/* scene_ring - the receiver's, of a scene */
struct tofu_srb *scene_ring(const struct srb_scene *scene, utofu_vcq_hdl_t vcq);

/* scene_peer - the receiver, as a sender begins to know it */
struct tofu_srb_peer scene_peer(const struct srb_scene *scene,
				utofu_vcq_id_t vcq);

/* scene_send - all letters of a sender; ends the process where one fails */
void scene_send(const struct srb_scene *scene, utofu_vcq_hdl_t vcq,
		utofu_vcq_id_t to, unsigned int from);

/* scene_await - wait for a record; ends the process where none comes */
void scene_await(struct tofu_srb *srb, struct tofu_srb_record *record);

/**
 * scene_take - wait for a record, look at it, and give it back
 * @next: number of each sender's next letter
 *
 * Ends the process where it is not whole, or not that one.
 */
void scene_take(const struct srb_scene *scene, struct tofu_srb *srb,
		uint64_t next[]);

/* scene_take_all - all letters of all senders, 1 … @scene->senders */
void scene_take_all(const struct srb_scene *scene, struct tofu_srb *srb);

/* scene_play - the whole; returns how many processes found something wrong */
int scene_play(const struct srb_scene *scene);

#endif /* UNIT_SRB_UTIL_H */
