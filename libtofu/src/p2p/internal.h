/* SPDX-License-Identifier: MIT */
/*
 * An endpoint from the inside. Documentation/library/p2p.rst describes the
 * protocol.
 *
 * VCQs: the owners of the two shared rings have component IDs, so that every
 * process can name them. The two senders, one for requests and one for replies,
 * and the VCQ for data have none. Own rings and the users' buffers are
 * registered with the VCQ for data.
 *
 * An own ring is one that a process keeps for a single peer.
 *
 * Work waits for memory of its own kind only: lists hold what has to be sent or
 * answered, and each tofu_p2p_progress() advances it as far as there is room.
 *
 * May include: srb/, utofu/
 */
#ifndef P2P_CORE_H
#define P2P_CORE_H

#include <sys/queue.h>

#include <tofu/p2p.h>

#include "p2p/account.h"
#include "p2p/hold.h"
#include "p2p/match.h"
#include "p2p/regions.h"
#include "p2p/request.h"
#include "srb/srb.h"

/* Receives that wait for a notice: the range of its edata */
#define P2P_SLOTS 256

/* Most transfers under way at a time */
#define P2P_MOVING_MAX 64

/* Records of a sender */
#define P2P_RECORDS 256

/* Bytes of the shared ring for replies, and of the pool for sending them */
#define P2P_REPLY_RING (32U << 10)
#define P2P_REPLY_POOL (24U << 10)

/*
 * Tests without success before checking that the other process is there.
 * Counted, not timed, so that in virtual time it is always the same test. A
 * prime number: if several requests are tested in turn, each of them gets its
 * check.
 */
#define P2P_HELLO_TESTS 65537U

/* ---- Peers ---- */

/**
 * enum p2p_path - the ring that requests to a peer go through
 * @P2P_BY_SHARED: the shared ring
 * @P2P_ASKED:   the shared ring; an answer is to come
 * @P2P_MOVING_IN: the shared ring; the peer has to learn that it is left
 * @P2P_BY_OWN:    its own ring
 * @P2P_LEAVING: its own ring; the peer has to learn that it is left
 * @P2P_LEFT:    none until that has been written
 */
enum p2p_path {
	P2P_BY_SHARED,
	P2P_ASKED,
	P2P_MOVING_IN,
	P2P_BY_OWN,
	P2P_LEAVING,
	P2P_LEFT,
};

/**
 * struct p2p_peer - what is known of a process
 * @pins:     number of reasons to keep it
 * @flying, @flying_bytes: records of requests to it under way, and their bytes
 * @returning: records of replies to it under way
 * @sent:     messages through the shared ring
 * @ask_at:   value of @sent at which to ask again
 * @never:    it gives no own rings
 * @spare:    one of the entries that must not be kept for long: without own
 *            rings
 * @taken:    its own ring has to be given back as soon as it is in use
 * @requests, @replies: its shared rings
 * @own:      the ring that it has for this process
 * @queue:    sends that are not posted
 * @replying: requests that have a reply for it
 * @untaken:  sends of which it has to say that they are taken, in their order
 * @took:     handle of the last of its sends that is, which has to be said; or 0
 * @ring:     its own ring here
 * @answer:   reply to send: P2P_OWN, P2P_NONE, P2P_NEVER; 0: none
 * @take_back: P2P_BACK has to be sent
 * @withheld, @holding: when it, or this process, is short of room for messages
 * @active:   in the list of peers to which something has to be sent
 * @link:     in that list
 * @idle:     in the list of peers without pins
 */
struct p2p_peer {
	uint32_t rank;
	uint32_t pins;
	uint32_t flying;
	uint32_t returning;
	size_t flying_bytes;
	uint64_t sent;
	uint64_t ask_at;
	enum p2p_path path;
	bool never;
	bool spare;
	bool taken;
	bool take_back;
	bool active;
	uint8_t answer;
	struct tofu_srb_peer requests;
	struct tofu_srb_peer replies;
	struct tofu_srb_single own;
	struct p2p_requests queue;
	struct p2p_requests replying;
	struct p2p_requests untaken;
	uint64_t took;
	struct p2p_ring *ring;
	struct p2p_withheld withheld;
	struct p2p_holding holding;
	TAILQ_ENTRY(p2p_peer) link;
	TAILQ_ENTRY(p2p_peer) idle;
};

TAILQ_HEAD(p2p_peer_list, p2p_peer);

/**
 * struct p2p_peers - the known processes
 * @slot:  hash table of @slots slots, a power of two; NULL is free
 * @count: entries
 * @idle:  peers without pins, @idles of them, the longest idle first
 * @active: peers to which something has to be sent
 * @spares: P2P_SPARES entries for when there is no memory for others
 * @spare: unused ones of these
 * @spares_used: number of pinned ones
 */
struct p2p_peers {
	struct p2p_peer **slot;
	size_t slots;
	size_t count;
	struct p2p_peer_list idle;
	size_t idles;
	struct p2p_peer_list active;
	struct p2p_peer *spares;
	struct p2p_peer_list spare;
	unsigned int spares_used;
};

/* Idle entries that are kept: what is known of a ring saves a read. */
#define P2P_IDLE_MAX 256

/*
 * Entries that are always there. Sends may keep theirs for as long as peers
 * like, so some are reserved for answers, for which peers may wait.
 */
#define P2P_SPARES 16
#define P2P_SPARES_OF_SENDS 12

/* ---- Own rings ---- */

/**
 * struct p2p_ring - a peer's own ring, here
 * @ring:   in @memory, behind the consumer's word
 * @stadd:  STADD of @memory
 * @class:  P2P_LARGE or P2P_SMALL
 * @open:   the peer has begun to use it
 * @taken:  P2P_BACK is sent, or about to be
 * @heard:  the endpoint's clock at the last record
 * @came:   records in a small ring since the last check whether a large one
 *          fits
 */
struct p2p_ring {
	struct srb_ring ring;
	struct p2p_peer *peer;
	char *memory;
	utofu_stadd_t stadd;
	enum p2p_class class;
	bool open;
	bool taken;
	uint64_t heard;
	uint64_t came;
	TAILQ_ENTRY(p2p_ring) link;
};

TAILQ_HEAD(p2p_rings, p2p_ring);

/* ---- Standing rings ---- */

/* Bytes of a standing ring for replies: room for several */
#define P2P_STANDING_REPLIES 1024

enum p2p_standing_kind {
	P2P_STANDING_REQUEST,
	P2P_STANDING_REPLY,
	P2P_STANDING_KINDS,
};

/**
 * struct p2p_standing_peer - the standing rings between this process and another
 * @ring:  its rings here
 * @to:    this process's rings there; all 0 until first use
 * @heard: something has come from it
 * @link:  in the list of those
 */
struct p2p_standing_peer {
	struct srb_ring ring[P2P_STANDING_KINDS];
	struct tofu_srb_single to[P2P_STANDING_KINDS];
	bool heard;
	TAILQ_ENTRY(p2p_standing_peer) link;
};

TAILQ_HEAD(p2p_standing_peers, p2p_standing_peer);

/**
 * struct p2p_standing - what a process has instead of shared rings on a machine
 * without remote atomics
 * @memory: all rings here; @stadd: its STADD, where @registered
 * @peer:   by rank
 * @heard:  processes that have sent something, @heards of them
 * @next:   process whose rings are looked at next, if it has not been heard
 */
struct p2p_standing {
	char *memory;
	utofu_stadd_t stadd;
	bool registered;
	struct p2p_standing_peer *peer;
	struct p2p_standing_peers heard;
	uint32_t heards;
	uint32_t next;
};

/* ---- Ports ---- */

/**
 * @peer:   pinned; NULL while the flight is free
 * @handle: handle of the record's request, or 0
 * @bytes:  size of the record
 * @hello:  only to find out whether the peer is there
 * @moved:  on arrival, the peer's own ring is left
 * @offer:  of the request, which its arrival says nothing about
 */
struct p2p_flight {
	struct p2p_peer *peer;
	uint64_t handle;
	size_t bytes;
	bool hello;
	bool moved;
	bool offer;
	struct p2p_flight *next;
};

/**
 * struct p2p_sender - one of the two senders
 * @flight: all flights; @free: the unused ones
 * @flying: number of used ones
 */
struct p2p_sender {
	utofu_vcq_hdl_t vcq;
	struct tofu_srb_sender *sender;
	struct p2p_flight flight[P2P_RECORDS];
	struct p2p_flight *free;
	unsigned int flying;
};

/* ---- The endpoint ---- */

/**
 * struct p2p_config - parameters with all defaults filled in
 * @standing:   there are standing rings instead of shared ones, of @ring bytes
 *              for requests
 * @ring, @large, @small: bytes of rings
 * @pinned:     bytes of buffers that may stay registered
 * @pool:       bytes of the pool for requests
 * @fixed:      bytes that are always in use, by class
 * @floor:      bytes that no other class can take: @fixed, and what the class
 *              needs to make progress
 * @silence:    requests of others, without one of a peer, until the peer counts
 *              as silent
 * @ask_again:  messages through the shared ring after which to ask for an own
 *              ring again
 */
struct p2p_config {
	struct tofu_p2p_params params;
	bool standing;
	size_t ring;
	size_t large;
	size_t small;
	size_t eager;
	size_t get;
	size_t pinned;
	size_t pool;
	size_t fixed[P2P_CLASSES];
	size_t floor[P2P_CLASSES];
	uint64_t silence;
	uint64_t ask_again;
};

/**
 * struct tofu_p2p
 * @requests, @replies: the shared rings, with the VCQs of their owners; NULL
 *                 with standing rings, which belong to @requests_vcq
 * @standing:    of a machine without remote atomics
 * @out, @back:  senders of requests and of replies
 * @data:        VCQ of transfers; @data_id: its ID
 * @chunk:       most bytes of a transfer
 * @regions:     remembered registrations with @data
 * @rings:       peers' own rings, the most recently heard first
 * @taken:       number of rings that are being taken back
 * @clock:       requests received
 * @turn:   of receiving; in odd ones own rings are read before the shared one
 * @mark:   of tofu_work_turns()
 * @peerless:    sends that wait for an entry, and everything behind them
 * @orphans:     receives that wait for an entry
 * @starting, @posting, @moving: requests in these states
 * @movers:      number of requests in the last two
 * @awaited:     receives that wait for a notice, by slot, @awaits of them
 * @holds:       peers that are asked to hold messages back
 * @episodes:    number of times that one was
 * @sought:      receives that have been posted while there were some
 * @claimed:     messages that the user has taken from the matching
 * @told:        posted requests that have ended
 * @tests:       tests without success since the last success
 * @doubted:     index of the request whose peer is checked next
 * @error:       the error that broke the endpoint
 */
struct tofu_p2p {
	struct p2p_config config;
	struct p2p_account account;
	utofu_vcq_hdl_t requests_vcq;
	utofu_vcq_hdl_t replies_vcq;
	struct tofu_srb *requests;
	struct tofu_srb *replies;
	struct p2p_standing standing;
	struct p2p_sender out;
	struct p2p_sender back;
	utofu_vcq_hdl_t data;
	utofu_vcq_id_t data_id;
	size_t chunk;
	struct p2p_regions regions;
	struct p2p_slabs slabs;
	struct p2p_peers peers;
	struct p2p_rings rings;
	unsigned int taken;
	uint64_t clock;
	unsigned int turn;
	unsigned int mark;
	struct p2p_match match;
	struct p2p_requests peerless;
	struct p2p_requests orphans;
	struct p2p_requests starting;
	struct p2p_requests posting;
	struct p2p_requests moving;
	unsigned int movers;
	struct tofu_p2p_request *awaited[P2P_SLOTS];
	unsigned int awaits;
	struct p2p_peer_list holds;
	uint32_t episodes;
	struct p2p_requests sought;
	struct p2p_claimed claimed;
	struct p2p_told told;
	unsigned int tests;
	uint32_t doubted;
	int error;
};

/* ---- config.c: sizes, and accounts ---- */

/* p2p_config_make - fill in a configuration. Return: as tofu_p2p_create() */
int p2p_config_make(const struct tofu_p2p_params *params,
		    struct p2p_config *config);

/*
 * p2p_account_open - open an account, less what is always in use
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_SIZE.
 */
int p2p_account_open(struct p2p_account *account,
		     const struct p2p_config *config);

/* p2p_eager_max - compute the longest eager message for a ring of this size */
static inline size_t p2p_eager_max(size_t ring)
{
	return ring / 2 - TOFU_SRB_OVERHEAD - sizeof(struct p2p_head);
}

/* STAGs of the shared rings: each has its own VCQ. */
#define P2P_STAG 0

static inline struct tofu_srb_params p2p_srb_params(size_t bytes)
{
	return (struct tofu_srb_params){
		.bytes = bytes,
		.stag = P2P_STAG,
	};
}

/* ---- p2p.c ---- */

/* Check the arguments of a send, and of a receive, and the endpoint. */
int p2p_send_check(const struct tofu_p2p *p2p, const void *buf, size_t bytes,
		   uint32_t dest, uint64_t tag);
int p2p_receive_check(const struct tofu_p2p *p2p, const void *buf, size_t room,
		      uint32_t source);

/* ---- peers.c ---- */

/*
 * p2p_peer_get - get the entry of a process, or make one
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_OUT_OF_MEMORY: there is no room for it now;
 * or what tofu_p2p_params.where() returns.
 */
int p2p_peer_get(struct tofu_p2p *p2p, uint32_t rank, struct p2p_peer **peer);

/* p2p_peer_find - get the entry of a process, or NULL */
struct p2p_peer *p2p_peer_find(const struct tofu_p2p *p2p, uint32_t rank);

/* p2p_peer_pinned, p2p_peer_unpinned - after the first pin, and the last */
void p2p_peer_pinned(struct tofu_p2p *p2p, struct p2p_peer *peer);
void p2p_peer_unpinned(struct tofu_p2p *p2p, struct p2p_peer *peer);

static inline void p2p_peer_pin(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (!peer->pins++)
		p2p_peer_pinned(p2p, peer);
}

static inline void p2p_peer_unpin(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (!--peer->pins)
		p2p_peer_unpinned(p2p, peer);
}

/*
 * p2p_peer_lends - check whether a send may keep its entry: it is no spare one,
 * or enough of these are left
 */
bool p2p_peer_lends(const struct tofu_p2p *p2p, const struct p2p_peer *peer);

/* p2p_peer_wake - note that a peer has something to be sent */
void p2p_peer_wake(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_table_slots - compute the slots for these entries and the spare ones */
size_t p2p_table_slots(size_t entries);

/* p2p_where - get the owners of the rings of a process: requests, replies */
int p2p_where(const struct tofu_p2p_params *params, uint32_t rank,
	      utofu_vcq_id_t vcq[2]);

int p2p_peers_make(struct tofu_p2p *p2p);
void p2p_peers_free(struct tofu_p2p *p2p);

/* ---- sender.c: outgoing records ---- */

/* p2p_sender_fits - check whether a record may go to a peer now */
bool p2p_sender_fits(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		     size_t bytes);

/**
 * struct p2p_record - contents of a record
 * @head, @head_bytes: struct p2p_head, and what its kind has behind it
 * @known: of these bytes, those that are not in a ring of one sender
 * @data, @bytes: of an eager message
 * @last, @last_bytes: immediate data
 */
struct p2p_record {
	const struct p2p_head *head;
	size_t head_bytes;
	size_t known;
	const void *data;
	size_t bytes;
	const void *last;
	size_t last_bytes;
};

/* p2p_sender_send - send to the shared ring for requests, or to an own ring */
int p2p_sender_send(struct tofu_p2p *p2p, struct p2p_peer *peer,
		    const struct p2p_record *record, uint64_t handle, bool own);

/* Most bytes of a message that is in its command with its tag */
#define P2P_EXPRESS (TOFU_SRB_EXPRESS - sizeof(uint64_t))

/*
 * p2p_sender_express - send an eager message of up to P2P_EXPRESS bytes to a ring
 * of one sender, at once; p2p_sender_note() has to follow. Return: whether it is
 * sent.
 */
bool p2p_sender_express(struct tofu_p2p *p2p, struct tofu_srb_single *single,
			uint64_t tag, const void *data, size_t bytes);

/* p2p_sender_note - note the record of @bytes, with its whole head, as @handle's */
void p2p_sender_note(struct tofu_p2p *p2p, struct p2p_peer *peer, size_t bytes,
		     uint64_t handle);

/* p2p_sender_reply - send to the shared ring for replies */
int p2p_sender_reply(struct tofu_p2p *p2p, struct p2p_peer *peer,
		     const struct p2p_reply *reply, uint64_t handle);

/* p2p_senders_poll - handle ended records; UTOFU_SUCCESS, or what is broken */
int p2p_senders_poll(struct tofu_p2p *p2p);

int p2p_senders_make(struct tofu_p2p *p2p);
void p2p_senders_free(struct tofu_p2p *p2p);

/* ---- send.c ---- */

/**
 * p2p_send_express - send a short message that nothing is before: its command comes
 * first, and everything else is noted behind it
 *
 * Return: the send, which is on its way; NULL: it has to be begun as any other.
 */
struct tofu_p2p_request *p2p_send_express(struct tofu_p2p *p2p, const void *buf,
					  size_t bytes, uint32_t dest,
					  uint64_t tag);

static inline bool p2p_is_express(size_t bytes)
{
	return bytes <= P2P_EXPRESS;
}

/* p2p_send_begin - begin a send to another process, as far as there is room */
void p2p_send_begin(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/**
 * p2p_send_announce - announce a send that is held back
 * @flags: P2P_OFFER; P2P_ANSWER: it is the last one that is asked for; or 0
 * @offer: for these, with its own members filled in
 *
 * Return: whether it is on its way, or has ended; else it has to wait.
 */
bool p2p_send_announce(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		       unsigned int flags, struct p2p_offer *offer);

/* p2p_send_take_back - free a send that has just begun, and is not on its way */
void p2p_send_take_back(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_send_push - send what waits for a peer, as far as there is room */
void p2p_send_push(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_send_peerless - retry sends that wait for entries */
void p2p_send_peerless(struct tofu_p2p *p2p);

/* p2p_send_flown - handle the end of a send's record, arrived or failed */
void p2p_send_flown(struct tofu_p2p *p2p, uint64_t handle, int code);

/* p2p_send_took - a peer says that it has taken a send, and those before it */
void p2p_send_took(struct tofu_p2p *p2p, struct p2p_peer *peer, uint64_t handle);

/* Handle a peer's replies about the ring that it keeps for this process */
void p2p_send_own(struct tofu_p2p *p2p, struct p2p_peer *peer,
		  const struct p2p_reply *reply);
void p2p_send_answered(struct tofu_p2p *p2p, struct p2p_peer *peer, bool never);
void p2p_send_taken(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_send_left - the peer knows, or will not know, that its ring is left */
void p2p_send_left(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* ---- receive.c ---- */

/* p2p_receive_begin - match a receive with a message, or post it */
void p2p_receive_begin(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		       const struct p2p_match_want *want);

/* p2p_receive_claimed - receive a claimed message, which is then freed */
void p2p_receive_claimed(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 struct p2p_unexpected *claimed);

/* p2p_receive_self - send to this process. Return: false if out of memory */
bool p2p_receive_self(struct tofu_p2p *p2p, struct tofu_p2p_request *send);

/*
 * p2p_receive_probe - look up what such a receive would get, or NULL; then peers
 * that hold messages back are asked
 */
struct p2p_unexpected *p2p_receive_probe(struct tofu_p2p *p2p,
					 const struct p2p_match_want *want);

/* p2p_receive_claim - take a message out of the matching */
void p2p_receive_claim(struct tofu_p2p *p2p, struct p2p_unexpected *message);

/* p2p_receive_unpost - a posted receive has its message, or is taken back */
void p2p_receive_unpost(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_receive_all - read the rings; UTOFU_SUCCESS, or what is broken */
int p2p_receive_all(struct tofu_p2p *p2p);

/* p2p_receive_orphans - retry receives that wait for entries */
void p2p_receive_orphans(struct tofu_p2p *p2p);

/* p2p_receive_make, p2p_receive_free - set up and free the matching */
void p2p_receive_make(struct tofu_p2p *p2p);
void p2p_receive_free(struct tofu_p2p *p2p);

/* ---- hold.c: messages that nobody waits for, when there is no room ---- */

/* p2p_hold_kept - a message of a peer has come that nobody waits for, and is @kept */
void p2p_hold_kept(struct tofu_p2p *p2p, uint32_t source, bool kept);

/* p2p_hold_freed - a message that was kept has been freed */
void p2p_hold_freed(struct tofu_p2p *p2p);

/* p2p_hold_posted, p2p_hold_unposted - a receive waits for a message; no longer */
void p2p_hold_posted(struct tofu_p2p *p2p, struct tofu_p2p_request *request);
void p2p_hold_unposted(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_hold_probe - somebody looks for a message that is not here */
void p2p_hold_probe(struct tofu_p2p *p2p, const struct p2p_match_want *want);

/**
 * p2p_hold_offered - find the receive for a message that a peer has offered
 *
 * Return: the receive, still posted; NULL: the offer will be declined.
 */
struct tofu_p2p_request *
p2p_hold_offered(struct tofu_p2p *p2p, struct p2p_peer *peer,
		 const struct p2p_message *message,
		 const struct p2p_offer *offer);

/* p2p_hold_answered - a message has come with P2P_ANSWER */
void p2p_hold_answered(struct tofu_p2p *p2p, uint32_t source,
		       const struct p2p_offer *offer);

/* p2p_hold_replies - whether there may be replies for all this to a peer */
static inline bool p2p_hold_replies(const struct p2p_peer *peer)
{
	return peer->holding.held || peer->holding.tell ||
	       peer->holding.declined;
}

/* p2p_hold_reply - send a peer these replies. Return: false without room */
bool p2p_hold_reply(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_hold_come - handle a reply of a known peer */
void p2p_hold_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
		   const struct p2p_reply *reply);

/* p2p_hold_queued - a send is at the end of its queue */
void p2p_hold_queued(struct tofu_p2p_request *request);

/* p2p_hold_run - offer and send to a peer that has asked for it, as there is room */
void p2p_hold_run(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_hold_dequeue - a send leaves its queue */
void p2p_hold_dequeue(struct tofu_p2p_request *request);

/* p2p_hold_gone - a peer is gone: nothing is held back any more, on either side */
void p2p_hold_gone(struct tofu_p2p *p2p, struct p2p_peer *peer);

static inline bool p2p_holds(const struct tofu_p2p *p2p)
{
	return !TAILQ_EMPTY(&p2p->holds);
}

/* ---- rings.c: other processes' own rings, here ---- */

/* p2p_ring_open - a peer begins to use its own ring */
void p2p_ring_open(struct tofu_p2p *p2p, uint32_t rank);

/*
 * p2p_ring_take - take memory for the next peer's ring
 * @class: set to its class; @bytes: set to its size
 *
 * Return: false if there is no memory for it.
 */
bool p2p_ring_take(struct p2p_account *account,
		   const struct p2p_config *config, enum p2p_class *class,
		   size_t *bytes);

/* p2p_ring_asked - a peer asks for a ring: prepare an answer */
void p2p_ring_asked(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_ring_answer - make the reply to a peer that has asked: peer->answer */
void p2p_ring_answer(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		     struct p2p_reply *reply);

/* p2p_ring_heard - a record has come in this ring */
void p2p_ring_heard(struct tofu_p2p *p2p, struct p2p_ring *ring);

/* p2p_ring_gone - the peer no longer takes replies: it is gone */
void p2p_ring_gone(struct tofu_p2p *p2p, struct p2p_peer *peer);

/* p2p_ring_free - free a ring to which no peer can write any more */
void p2p_ring_free(struct tofu_p2p *p2p, struct p2p_ring *ring);
void p2p_rings_free(struct tofu_p2p *p2p);

/* ---- standing.c: rings on machines without remote atomics ---- */

/* p2p_standing_bytes - compute the memory that the standing rings take */
size_t p2p_standing_bytes(const struct p2p_config *config);

int p2p_standing_make(struct tofu_p2p *p2p);
void p2p_standing_free(struct tofu_p2p *p2p);

/* p2p_standing_find - fill in where this process's ring is at a peer */
int p2p_standing_find(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		      enum p2p_standing_kind kind,
		      struct tofu_srb_single *single);

/*
 * p2p_standing_look - look for processes that have sent for the first time, @turns
 * after the last look
 */
void p2p_standing_look(struct tofu_p2p *p2p, unsigned int turns);

/* p2p_standing_rotate - let another process be the first to be read */
void p2p_standing_rotate(struct tofu_p2p *p2p, unsigned int turns);

static inline uint32_t p2p_standing_rank(const struct tofu_p2p *p2p,
					 const struct p2p_standing_peer *peer)
{
	return (uint32_t)(peer - p2p->standing.peer);
}

/* ---- rendezvous.c ---- */

/* p2p_rendezvous_begin - begin to receive an announced message */
void p2p_rendezvous_begin(struct tofu_p2p *p2p,
			  struct tofu_p2p_request *request);

/* p2p_rendezvous_tell - end the receive of a short message when its sender has heard */
void p2p_rendezvous_tell(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 uint64_t handle);

/* p2p_rendezvous_move - get or put, now that the addresses are known */
void p2p_rendezvous_move(struct tofu_p2p *p2p,
			 struct tofu_p2p_request *request);

/* p2p_rendezvous_received - end a receive that waited for the sender's put */
void p2p_rendezvous_received(struct tofu_p2p *p2p,
			     struct tofu_p2p_request *request, int code);

/* p2p_rendezvous_poll - take notices; UTOFU_SUCCESS, or what is broken */
int p2p_rendezvous_poll(struct tofu_p2p *p2p);

/* p2p_rendezvous_run - retry transfers that wait for slots or for room */
void p2p_rendezvous_run(struct tofu_p2p *p2p);

/* ---- onesided.c ---- */

/* p2p_onesided_post - queue an atomic operation. Return: as uTofu */
int p2p_onesided_post(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_onesided_result - give the user the word's value before the operation */
void p2p_onesided_result(const struct tofu_p2p_request *request,
			 uint64_t value);

/* ---- reply.c ---- */

/* p2p_reply_of - get a reply of this kind, to be filled in */
struct p2p_reply p2p_reply_of(const struct tofu_p2p *p2p, enum p2p_kind kind);

/* p2p_reply_all - read the ring of replies; UTOFU_SUCCESS, or what is broken */
int p2p_reply_all(struct tofu_p2p *p2p);

/* p2p_reply_later - queue a request's reply to its peer */
void p2p_reply_later(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     enum p2p_kind kind, bool last);

/* p2p_reply_took - a peer's send with the handle is kept: tell it so in this turn */
void p2p_reply_took(struct tofu_p2p *p2p, struct p2p_peer *peer, uint64_t handle);

/* p2p_reply_push - send the replies for a peer. Return: false without room */
bool p2p_reply_push(struct tofu_p2p *p2p, struct p2p_peer *peer);

/*
 * p2p_reply_hello - check that the process that a request waits for is there
 *
 * Return: whether it waits for one.
 */
bool p2p_reply_hello(struct tofu_p2p *p2p, struct tofu_p2p_request *request);

/* p2p_reply_flown - handle the end of a request's reply, arrived or failed */
void p2p_reply_flown(struct tofu_p2p *p2p, uint64_t handle, bool hello,
		     int code);

#endif /* P2P_CORE_H */
