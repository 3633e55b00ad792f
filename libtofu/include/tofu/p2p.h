/* SPDX-License-Identifier: MIT */
/*
 * Tagged messages between the processes of a program, in memory that does not
 * grow with their number. Documentation/library/p2p.rst tells of the protocols.
 *
 * Functions return enum utofu_return_code. All of an endpoint belongs to one
 * thread at a time. Whatever is under way goes on in each call that can return
 * UTOFU_ERR_NOT_COMPLETED or UTOFU_ERR_NOT_FOUND, and in tofu_p2p_progress().
 */
#ifndef TOFU_P2P_H
#define TOFU_P2P_H

#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Endpoints ---- */

struct tofu_p2p;

/**
 * enum tofu_p2p_mode - what a process keeps for those that send to it
 * @TOFU_P2P_AUTO:   whatever of the others fits into the memory
 * @TOFU_P2P_FAST:   a large ring for each peer, at first contact
 * @TOFU_P2P_SAVING: a small ring for each peer, at first contact
 * @TOFU_P2P_SHARED: nothing
 *
 * What does not fit into the memory is shared in all modes.
 */
enum tofu_p2p_mode {
	TOFU_P2P_AUTO = 0,
	TOFU_P2P_FAST = 1,
	TOFU_P2P_SAVING = 2,
	TOFU_P2P_SHARED = 3
};

/**
 * enum tofu_p2p_transfer - how a message's bytes go
 * @TOFU_P2P_EAGER: through a ring
 * @TOFU_P2P_GET:   the receiver gets them
 * @TOFU_P2P_PUT:   the sender puts them when the receiver is ready
 */
enum tofu_p2p_transfer {
	TOFU_P2P_EAGER = 0,
	TOFU_P2P_GET = 1,
	TOFU_P2P_PUT = 2
};

/* Bytes of a ring and thresholds: the machine's */
#define TOFU_P2P_DEFAULT SIZE_MAX

/**
 * struct tofu_p2p_params - an endpoint
 * @processes: of the program
 * @rank:      of this one, below @processes
 * @tni:       that is used
 * @component: of the VCQs: a number that nothing else on the TNI uses, and the
 *             one after it; the same on all processes
 * @where:     tells where a process is: the coordinates of its node. More than
 *             one endpoint on a node want TNIs or components of their own, and
 *             @where tells those, too
 * @arg:       of @where
 * @mode:      enum tofu_p2p_mode
 * @memory:    bytes that all buffers and tables may take; what uTofu itself keeps
 *             for queues and registered memory is not among them
 * @ring:      bytes of the shared ring for requests, a power of two, the same
 *             on all processes; 0: a default
 * @large:     bytes of an own ring in fast mode, a power of two; 0: a default
 * @small:     bytes of one in saving mode; 0: a default
 * @machine:   whose thresholds are used; NULL: "k"
 * @eager:     bytes up to which a message is eager; TOFU_P2P_DEFAULT
 * @get:       bytes up to which a longer one is got, the others are put;
 *             TOFU_P2P_DEFAULT
 */
struct tofu_p2p_params {
	uint32_t processes;
	uint32_t rank;
	utofu_tni_id_t tni;
	utofu_cmp_id_t component;
	int (*where)(void *arg, uint32_t rank, uint8_t coords[6],
		     utofu_tni_id_t *tni, utofu_cmp_id_t *component);
	void *arg;
	enum tofu_p2p_mode mode;
	size_t memory;
	size_t ring;
	size_t large;
	size_t small;
	const char *machine;
	size_t eager;
	size_t get;
};

/**
 * tofu_p2p_machine - tell the thresholds of a machine
 * @machine: k, fx10, fx100 or fugaku
 * @eager:   set to the bytes up to which a message is eager
 * @get:     set to the bytes up to which a longer one is got
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_FOUND where
 * there is no such machine.
 */
int tofu_p2p_machine(const char *machine, size_t *eager, size_t *get);

/**
 * tofu_p2p_create - make an endpoint
 * @params: how; copied
 * @p2p:    set to it
 *
 * The others can send to it from here on. All processes have to have theirs
 * before the first one sends, or waits for a message: who finds none where one
 * should be takes that process for gone.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (processes, rank), UTOFU_ERR_INVALID_ARG (mode, machine),
 * UTOFU_ERR_INVALID_SIZE (a ring; or @params->memory has no room for what is
 * always there, see tofu_p2p_need()); UTOFU_ERR_NOT_AVAILABLE: another process
 * is where this one says that it is; UTOFU_ERR_OUT_OF_MEMORY; or what uTofu or
 * @params->where() returns.
 */
int tofu_p2p_create(const struct tofu_p2p_params *params,
		    struct tofu_p2p **p2p);

/**
 * tofu_p2p_free - free an endpoint
 * @p2p: endpoint; NULL is nothing
 *
 * Requests that are not completed are freed with it. Nobody may send to it any
 * more, or wait for an answer from it: a barrier before is the caller's, in which
 * all call tofu_p2p_progress(). A message that has been received may still have to
 * be answered, and its sender waits for that.
 */
void tofu_p2p_free(struct tofu_p2p *p2p);

/* ---- Messages ---- */

#define TOFU_P2P_ANY_SOURCE UINT32_MAX
#define TOFU_P2P_ANY_TAG UINT64_MAX

struct tofu_p2p_request;

/**
 * struct tofu_p2p_status - of a message
 * @source: rank
 * @tag:    of it
 * @bytes:  that were sent
 */
struct tofu_p2p_status {
	uint32_t source;
	uint64_t tag;
	size_t bytes;
};

/**
 * tofu_p2p_isend - begin to send a message
 * @p2p:     endpoint
 * @buf:     of the message; not to be written until it has been sent
 * @bytes:   of it
 * @dest:    rank, which may be this one
 * @tag:     any but TOFU_P2P_ANY_TAG
 * @request: set; to be given to tofu_p2p_test() or tofu_p2p_wait()
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (@dest, @tag); UTOFU_ERR_OUT_OF_MEMORY.
 */
int tofu_p2p_isend(struct tofu_p2p *p2p, const void *buf, size_t bytes,
		   uint32_t dest, uint64_t tag,
		   struct tofu_p2p_request **request);

/**
 * tofu_p2p_irecv - begin to receive a message
 * @p2p:     endpoint
 * @buf:     for the message; not to be touched until it is there
 * @room:    bytes of it
 * @source:  rank, or TOFU_P2P_ANY_SOURCE
 * @tag:     or TOFU_P2P_ANY_TAG
 * @request: set
 *
 * Return: as tofu_p2p_isend().
 */
int tofu_p2p_irecv(struct tofu_p2p *p2p, void *buf, size_t room,
		   uint32_t source, uint64_t tag,
		   struct tofu_p2p_request **request);

/**
 * tofu_p2p_test - make progress, and see whether a message has been sent or
 * received
 * @p2p:     endpoint
 * @request: set to NULL, and freed, when it has ended; NULL is one that has
 * @status:  set for one that was received; may be NULL
 *
 * A message has been sent when it is in a ring of its receiver, or in its buffer.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_COMPLETED;
 * UTOFU_ERR_INVALID_SIZE: the message was longer than the buffer, which has its
 * beginning; UTOFU_ERR_MRQ_PEER and the like: it could not be sent, or got; or as
 * tofu_p2p_progress().
 */
int tofu_p2p_test(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status);

/**
 * tofu_p2p_wait - make progress until a message has been sent or received
 * @p2p:     endpoint
 * @request: set to NULL, and freed; NULL is one that has ended
 * @status:  set for one that was received; may be NULL
 *
 * Gives the processor to others when nothing comes.
 *
 * Return: as tofu_p2p_test(), but for UTOFU_ERR_NOT_COMPLETED.
 */
int tofu_p2p_wait(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status);

/**
 * tofu_p2p_send - send a message, and wait until it has been sent
 * @p2p:   endpoint
 * @buf:   of the message
 * @bytes: of it
 * @dest:  rank
 * @tag:   any but TOFU_P2P_ANY_TAG
 *
 * Return: as tofu_p2p_isend() and tofu_p2p_wait().
 */
int tofu_p2p_send(struct tofu_p2p *p2p, const void *buf, size_t bytes,
		  uint32_t dest, uint64_t tag);

/**
 * tofu_p2p_recv - receive a message, and wait until it is there
 * @p2p:    endpoint
 * @buf:    for the message
 * @room:   bytes of it
 * @source: rank, or TOFU_P2P_ANY_SOURCE
 * @tag:    or TOFU_P2P_ANY_TAG
 * @status: set; may be NULL
 *
 * Return: as tofu_p2p_irecv() and tofu_p2p_wait().
 */
int tofu_p2p_recv(struct tofu_p2p *p2p, void *buf, size_t room, uint32_t source,
		  uint64_t tag, struct tofu_p2p_status *status);

/**
 * tofu_p2p_probe - look whether a message has come that nobody has asked for yet
 * @p2p:    endpoint
 * @source: as in tofu_p2p_irecv()
 * @tag:    likewise
 * @status: set to what such a receive would get
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND; UTOFU_ERR_INVALID_POINTER,
 * UTOFU_ERR_INVALID_NUMBER (@source); or as tofu_p2p_progress().
 */
int tofu_p2p_probe(struct tofu_p2p *p2p, uint32_t source, uint64_t tag,
		   struct tofu_p2p_status *status);

/**
 * tofu_p2p_cancel - take a receive back
 * @p2p:     endpoint
 * @request: set to NULL, and freed
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_BUSY: a message is
 * on its way into it, or it is a send: wait for it.
 */
int tofu_p2p_cancel(struct tofu_p2p *p2p, struct tofu_p2p_request **request);

/**
 * tofu_p2p_progress - go on with what is under way
 * @p2p: endpoint
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; what has broken the endpoint,
 * such as UTOFU_ERR_MRQ_OTHER: notices were lost. Every later call says the same.
 */
int tofu_p2p_progress(struct tofu_p2p *p2p);

/**
 * tofu_p2p_flush - make progress, and see whether somebody waits for this process
 * @p2p: endpoint
 *
 * A receive can have ended before its sender has been told. Who has ended all
 * requests, and will not call for a while, calls this until it succeeds.
 *
 * Return: UTOFU_SUCCESS: all that was to be sent, answers too, is in the rings of
 * the others; UTOFU_ERR_NOT_COMPLETED; or as tofu_p2p_progress().
 */
int tofu_p2p_flush(struct tofu_p2p *p2p);

/* ---- Memory ---- */

/**
 * struct tofu_p2p_memory - bytes that an endpoint takes
 * @shared:     rings of all
 * @own:        rings of one sender each
 * @peers:      tables
 * @unexpected: messages that nobody has asked for
 * @pool:       of what is sent
 * @peak:       the most that all were together
 */
struct tofu_p2p_memory {
	size_t shared;
	size_t own;
	size_t peers;
	size_t unexpected;
	size_t pool;
	size_t peak;
};

/**
 * tofu_p2p_memory - tell how much memory an endpoint takes
 * @p2p:    endpoint
 * @memory: set
 */
void tofu_p2p_memory(const struct tofu_p2p *p2p,
		     struct tofu_p2p_memory *memory);

/**
 * tofu_p2p_need - compute how much memory an endpoint would take
 * @params: of it; with @memory SIZE_MAX what it would like to have
 * @peers:  that send to it, and that it sends to
 * @memory: set; without messages that nobody has asked for
 *
 * The same accounts as tofu_p2p_memory()'s.
 *
 * Return: UTOFU_SUCCESS; as tofu_p2p_create().
 */
int tofu_p2p_need(const struct tofu_p2p_params *params, uint64_t peers,
		  struct tofu_p2p_memory *memory);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_P2P_H */
