/* SPDX-License-Identifier: MIT */
/*
 * Tagged messages between the processes of a program, in memory that does not
 * grow with their number. Documentation/library/p2p.rst describes the
 * protocols.
 *
 * Functions return enum utofu_return_code. An endpoint, with all that belongs
 * to it, belongs to one thread at a time. Each call that can return
 * UTOFU_ERR_NOT_COMPLETED or UTOFU_ERR_NOT_FOUND makes progress, as
 * tofu_p2p_progress() does.
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
 * enum tofu_p2p_mode - what a process keeps for each peer that sends to it
 * @TOFU_P2P_AUTO:   a large ring for each peer, a small one, or nothing: as
 *                   memory allows
 * @TOFU_P2P_FAST:   a large ring for each peer, at first contact
 * @TOFU_P2P_SAVING: a small ring for each peer, at first contact
 * @TOFU_P2P_SHARED: nothing
 *
 * In all modes, peers for which there is no memory share a ring.
 *
 * On a machine without remote atomics no ring can be shared. There, a process
 * keeps a ring for each other process from the start: a large one, in saving
 * mode a small one, in automatic mode a large one where all take at most a
 * quarter of the memory. Shared mode is not supported.
 */
enum tofu_p2p_mode {
	TOFU_P2P_AUTO = 0,
	TOFU_P2P_FAST = 1,
	TOFU_P2P_SAVING = 2,
	TOFU_P2P_SHARED = 3
};

/**
 * enum tofu_p2p_transfer - how the bytes of a message travel
 * @TOFU_P2P_EAGER: through a ring
 * @TOFU_P2P_GET:   the receiver gets them
 * @TOFU_P2P_PUT:   the sender puts them when the receiver is ready
 */
enum tofu_p2p_transfer {
	TOFU_P2P_EAGER = 0,
	TOFU_P2P_GET = 1,
	TOFU_P2P_PUT = 2
};

/* Value of a threshold: the machine's */
#define TOFU_P2P_DEFAULT SIZE_MAX

/* Value of tofu_p2p_params.pinned: no buffer stays registered */
#define TOFU_P2P_PIN_NONE SIZE_MAX

/**
 * struct tofu_p2p_params - parameters of an endpoint
 * @processes: processes of the program
 * @rank:      rank of this process, below @processes
 * @tni:       TNI to use
 * @component: component IDs of the VCQs: this number and the one after it, used
 *             by nothing else on the TNI; the same on all processes
 * @where:     returns where a process is: the coordinates of its node. Several
 *             endpoints on a node need TNIs or components of their own, which
 *             @where then returns, too
 * @arg:       argument of @where
 * @mode:      enum tofu_p2p_mode
 * @memory:    bytes that all buffers and tables may take, without what uTofu
 *             itself keeps for queues and registered memory
 * @ring:      bytes of the shared ring for requests, a power of two, the same
 *             on all processes; 0: a default. On a machine without remote
 *             atomics @mode, @memory, @large and @small have to be the same on
 *             all processes instead
 * @large:     bytes of a peer's ring in fast mode, a power of two; 0: a default
 * @small:     bytes of a peer's ring in saving mode; 0: a default
 * @machine:   machine whose thresholds are used; NULL: "k"
 * @eager:     bytes up to which a message is eager; TOFU_P2P_DEFAULT
 * @get:       bytes up to which a longer message is transferred by get, larger
 *             ones by put; TOFU_P2P_DEFAULT
 * @pinned:    bytes of the program's buffers that may stay registered, and so
 *             pinned, after their messages; beside @memory. 0: a default;
 *             TOFU_P2P_PIN_NONE
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
	size_t pinned;
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
 * tofu_p2p_create - create an endpoint
 * @params: parameters; copied
 * @p2p:    set to the endpoint
 *
 * From here on other processes can send to it. All processes must have created
 * their endpoints before the first one sends, or waits for a message: a process
 * whose endpoint is missing is taken for gone.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (processes, rank), UTOFU_ERR_INVALID_ARG (mode, machine),
 * UTOFU_ERR_INVALID_SIZE (a ring; or @params->memory is less than what is
 * always needed, see tofu_p2p_need(), which without remote atomics includes
 * rings of all processes); UTOFU_ERR_NOT_SUPPORTED: shared mode without remote
 * atomics; UTOFU_ERR_NOT_AVAILABLE: another process
 * is where this one claims to be; UTOFU_ERR_OUT_OF_MEMORY; or what uTofu or
 * @params->where() returns.
 */
int tofu_p2p_create(const struct tofu_p2p_params *params,
		    struct tofu_p2p **p2p);

/**
 * tofu_p2p_free - free an endpoint
 * @p2p: endpoint, or NULL
 *
 * Frees its incomplete requests, too. No process may still send to it, or wait
 * for an answer from it. A message that has been received may still have to be
 * answered, and its sender waits for that; so the caller first runs a barrier,
 * during which all processes call tofu_p2p_progress().
 */
void tofu_p2p_free(struct tofu_p2p *p2p);

/* ---- Messages ---- */

#define TOFU_P2P_ANY_SOURCE UINT32_MAX
#define TOFU_P2P_ANY_TAG UINT64_MAX

struct tofu_p2p_request;

/**
 * struct tofu_p2p_status - status of a message
 * @source: rank of the sender
 * @tag:    tag
 * @bytes:  bytes that were sent
 */
struct tofu_p2p_status {
	uint32_t source;
	uint64_t tag;
	size_t bytes;
};

/**
 * tofu_p2p_isend - begin to send a message
 * @p2p:     endpoint
 * @buf:     the message; not to be written until it has been sent
 * @bytes:   length of the message
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
 * @buf:     buffer; not to be touched until the message is there
 * @room:    size of the buffer
 * @source:  rank, or TOFU_P2P_ANY_SOURCE
 * @tag:     tag, or TOFU_P2P_ANY_TAG
 * @request: set; to be given to tofu_p2p_test() or tofu_p2p_wait()
 *
 * Return: as tofu_p2p_isend().
 */
int tofu_p2p_irecv(struct tofu_p2p *p2p, void *buf, size_t room,
		   uint32_t source, uint64_t tag,
		   struct tofu_p2p_request **request);

/**
 * tofu_p2p_test - make progress, and check whether a message has been sent or
 * received
 * @p2p:     endpoint
 * @request: set to NULL, and freed, when it has ended; NULL counts as ended
 * @status:  set for a receive; may be NULL
 *
 * A message has been sent when it is in a ring of its receiver, or in its
 * buffer.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_COMPLETED;
 * UTOFU_ERR_INVALID_SIZE: the message was longer than the buffer, which has its
 * beginning; UTOFU_ERR_MRQ_PEER and the like: it could not be sent or got; or
 * as tofu_p2p_progress().
 */
int tofu_p2p_test(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status);

/**
 * tofu_p2p_wait - make progress until a message has been sent or received
 * @p2p:     endpoint
 * @request: set to NULL, and freed; NULL counts as ended
 * @status:  set for a receive; may be NULL
 *
 * Yields the processor when nothing comes.
 *
 * Return: as tofu_p2p_test(), without UTOFU_ERR_NOT_COMPLETED.
 */
int tofu_p2p_wait(struct tofu_p2p *p2p, struct tofu_p2p_request **request,
		  struct tofu_p2p_status *status);

/**
 * tofu_p2p_send - send a message, and wait until it has been sent
 * @p2p:   endpoint
 * @buf:   the message
 * @bytes: length of the message
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
 * @buf:    buffer
 * @room:   size of the buffer
 * @source: rank, or TOFU_P2P_ANY_SOURCE
 * @tag:    tag, or TOFU_P2P_ANY_TAG
 * @status: set; may be NULL
 *
 * Return: as tofu_p2p_irecv() and tofu_p2p_wait().
 */
int tofu_p2p_recv(struct tofu_p2p *p2p, void *buf, size_t room, uint32_t source,
		  uint64_t tag, struct tofu_p2p_status *status);

/**
 * tofu_p2p_probe - look for a message that no receive has matched
 * @p2p:    endpoint
 * @source: rank, or TOFU_P2P_ANY_SOURCE
 * @tag:    tag, or TOFU_P2P_ANY_TAG
 * @status: set to what such a receive would get
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND; UTOFU_ERR_INVALID_POINTER,
 * UTOFU_ERR_INVALID_NUMBER (@source); or as tofu_p2p_progress().
 */
int tofu_p2p_probe(struct tofu_p2p *p2p, uint32_t source, uint64_t tag,
		   struct tofu_p2p_status *status);

/**
 * tofu_p2p_cancel - cancel a receive
 * @p2p:     endpoint
 * @request: set to NULL, and freed
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_BUSY: a message
 * is arriving in it, or it is a send: wait for it.
 */
int tofu_p2p_cancel(struct tofu_p2p *p2p, struct tofu_p2p_request **request);

/**
 * tofu_p2p_progress - make progress
 * @p2p: endpoint
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; the error that has broken
 * the endpoint, such as UTOFU_ERR_MRQ_OTHER: notices were lost. Every later
 * call returns the same.
 */
int tofu_p2p_progress(struct tofu_p2p *p2p);

/**
 * tofu_p2p_flush - make progress, and check whether a peer waits for this
 * process
 * @p2p: endpoint
 *
 * A receive can end before its sender has the answer. A process that has ended
 * all its requests, and will make no calls for a while, calls this until it
 * succeeds.
 *
 * Return: UTOFU_SUCCESS: all that was to be sent, including answers, is in the
 * peers' rings, and nothing is moving; UTOFU_ERR_NOT_COMPLETED; or as tofu_p2p_progress().
 */
int tofu_p2p_flush(struct tofu_p2p *p2p);

/* ---- Posted messages ---- */

/*
 * Messages with all that they can have. tofu_p2p_ended() tells the ends of all
 * of them, in the order in which they come, so that none has to be tested; of a
 * received message only when its sender has heard of it, too, so that nobody
 * waits for a process that has been told of all it had posted. They match, and
 * are matched by, messages of tofu_p2p_isend() and tofu_p2p_irecv().
 */

/* Flags of a send, and of an end: the message carries immediate data */
#define TOFU_P2P_DATA 1U

/* Flag of a send: it ends when the message is in its receiver's buffer */
#define TOFU_P2P_SYNCHRONOUS 2U

/*
 * Flag of a send or put: the buffer may be written as soon as the call returns.
 * Copies what cannot be sent at once.
 */
#define TOFU_P2P_COPY 4U

/* Flag of whatever is posted: its end is told only if it is an error */
#define TOFU_P2P_SILENT 8U

/* Flag of an end: it is that of a send */
#define TOFU_P2P_SENT 16U

/* Flag of an end: it is that of a put, get or atomic operation */
#define TOFU_P2P_ONESIDED 32U

/*
 * Flag of a send: it ends when its receiver has taken the message, in a call: into the
 * buffer of a receive that was posted by then, or else into memory of its own
 */
#define TOFU_P2P_DELIVERED 64U

/**
 * struct tofu_p2p_send - a message to send
 * @buf:     the message; not to be written until it has been sent
 * @bytes:   length of the message
 * @tag:     any but TOFU_P2P_ANY_TAG
 * @dest:    rank, which may be this one
 * @data:    immediate data, with TOFU_P2P_DATA
 * @flags:   TOFU_P2P_DATA, TOFU_P2P_SYNCHRONOUS, TOFU_P2P_DELIVERED, TOFU_P2P_COPY,
 *           TOFU_P2P_SILENT
 * @context: for tofu_p2p_ended()
 */
struct tofu_p2p_send {
	const void *buf;
	size_t bytes;
	uint64_t tag;
	uint32_t dest;
	uint32_t data;
	unsigned int flags;
	void *context;
};

/**
 * struct tofu_p2p_receive - a message to receive
 * @buf:     buffer; not to be touched until the message is there
 * @room:    size of the buffer
 * @tag:     tag
 * @ignore:  bits of the tag that may differ
 * @source:  rank, or TOFU_P2P_ANY_SOURCE
 * @flags:   TOFU_P2P_SILENT
 * @context: for tofu_p2p_ended()
 *
 * A receive costs the same whatever it ignores, unless a program uses more than
 * six values of @ignore, beside none and all, at the same time.
 */
struct tofu_p2p_receive {
	void *buf;
	size_t room;
	uint64_t tag;
	uint64_t ignore;
	uint32_t source;
	unsigned int flags;
	void *context;
};

/**
 * struct tofu_p2p_end - the end of a posted message
 * @context: of what was posted
 * @code:    how it has ended: UTOFU_SUCCESS, or as tofu_p2p_test()
 * @flags:   TOFU_P2P_SENT, TOFU_P2P_ONESIDED; TOFU_P2P_DATA: @data has been
 *           received
 * @source:  rank of the sender; of a send or one-sided operation: of the other
 *           process
 * @data:    immediate data
 * @tag:     tag
 * @bytes:   bytes that were sent
 */
struct tofu_p2p_end {
	void *context;
	int code;
	unsigned int flags;
	uint32_t source;
	uint32_t data;
	uint64_t tag;
	size_t bytes;
};

/**
 * tofu_p2p_post_send - begin to send a message
 * @p2p:     endpoint
 * @send:    the message; copied
 * @request: set to what tofu_p2p_cancel() takes until the end has been told; may
 *           be NULL
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (rank, tag), UTOFU_ERR_INVALID_FLAGS; UTOFU_ERR_OUT_OF_MEMORY: try again when
 * others have ended; or as tofu_p2p_progress().
 */
int tofu_p2p_post_send(struct tofu_p2p *p2p, const struct tofu_p2p_send *send,
		       struct tofu_p2p_request **request);

/**
 * tofu_p2p_away - check whether a posted send still needs this process
 * @p2p:     endpoint
 * @request: of tofu_p2p_post_send(), whose end tofu_p2p_ended() has not told
 *
 * For callers that take a copied message for sent. It makes no progress.
 *
 * Return: UTOFU_SUCCESS: the message arrives, whatever this process does next,
 * while both endpoints live; UTOFU_ERR_NOT_COMPLETED: that will be so after more
 * progress, and if a ring is full, also of its receiver; UTOFU_ERR_BUSY: the
 * receiver has to ask for it; UTOFU_ERR_INVALID_POINTER; or as tofu_p2p_progress().
 */
int tofu_p2p_away(const struct tofu_p2p *p2p,
		  const struct tofu_p2p_request *request);

/**
 * tofu_p2p_post_receive - begin to receive a message
 * @p2p:     endpoint
 * @receive: what to receive; copied
 * @request: as for tofu_p2p_post_send()
 *
 * Return: as tofu_p2p_post_send().
 */
int tofu_p2p_post_receive(struct tofu_p2p *p2p,
			  const struct tofu_p2p_receive *receive,
			  struct tofu_p2p_request **request);

/**
 * tofu_p2p_ended - make progress, and get the end of a posted message
 * @p2p: endpoint
 * @end: filled
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND: none has ended;
 * UTOFU_ERR_INVALID_POINTER; or as tofu_p2p_progress().
 */
int tofu_p2p_ended(struct tofu_p2p *p2p, struct tofu_p2p_end *end);

/**
 * tofu_p2p_told - get the end of a posted message without making progress
 * @p2p: endpoint
 * @end: filled
 *
 * For those that the last tofu_p2p_ended() has found beside its own, and those that ended
 * when they were posted: who has one need not look for more before it does something with
 * it. tofu_p2p_ended() makes no progress, either, where it has such an end to tell.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND, which says nothing of what may have come;
 * UTOFU_ERR_INVALID_POINTER.
 */
int tofu_p2p_told(struct tofu_p2p *p2p, struct tofu_p2p_end *end);

struct tofu_p2p_claim;

/**
 * tofu_p2p_peek - look for a message that no receive has matched
 * @p2p:     endpoint
 * @receive: a receive that would get it; only source and tag matter
 * @end:     filled with what that receive would get
 * @claim:   set: no receive will match the message any more, it waits for
 *           tofu_p2p_post_claimed(); NULL: only look
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND; UTOFU_ERR_INVALID_POINTER,
 * UTOFU_ERR_INVALID_NUMBER (source); or as tofu_p2p_progress().
 */
int tofu_p2p_peek(struct tofu_p2p *p2p, const struct tofu_p2p_receive *receive,
		  struct tofu_p2p_end *end, struct tofu_p2p_claim **claim);

/**
 * tofu_p2p_post_claimed - begin to receive a message that has been claimed
 * @p2p:     endpoint
 * @claim:   the message; not to be used any more
 * @receive: its buffer, flags and context; source and tag do not matter
 * @request: as for tofu_p2p_post_send()
 *
 * Return: as tofu_p2p_post_send(); after an error the claim stands.
 */
int tofu_p2p_post_claimed(struct tofu_p2p *p2p, struct tofu_p2p_claim *claim,
			  const struct tofu_p2p_receive *receive,
			  struct tofu_p2p_request **request);

/* ---- One-sided operations ---- */

/*
 * On memory that the other process has registered with a VCQ of its own, and
 * whose STADD it has told by a message. tofu_p2p_ended() tells their ends: what
 * was put is in the memory of the target then, what was got in the buffer. They
 * have no order among each other and with messages, beside that one that begins
 * after another's end comes later.
 */

/**
 * struct tofu_p2p_remote - memory of another process
 * @rank:  of the process
 * @vcq:   ID of the VCQ with which it is registered
 * @stadd: its STADD
 */
struct tofu_p2p_remote {
	uint32_t rank;
	utofu_vcq_id_t vcq;
	utofu_stadd_t stadd;
};

/**
 * struct tofu_p2p_move - a put or get
 * @buf:     buffer here; not to be touched until the end, unless it is copied
 * @bytes:   of it; any number
 * @remote:  where it goes, or comes from
 * @flags:   TOFU_P2P_SILENT; of a put: TOFU_P2P_COPY
 * @context: for tofu_p2p_ended()
 */
struct tofu_p2p_move {
	void *buf;
	size_t bytes;
	struct tofu_p2p_remote remote;
	unsigned int flags;
	void *context;
};

/**
 * tofu_p2p_post_put, tofu_p2p_post_get - begin to put to, and to get from, the
 * memory of another process
 * @p2p: endpoint
 * @put, @get: what; copied
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (rank), UTOFU_ERR_INVALID_FLAGS; UTOFU_ERR_OUT_OF_MEMORY: try again when
 * others have ended; or as tofu_p2p_progress().
 */
int tofu_p2p_post_put(struct tofu_p2p *p2p, const struct tofu_p2p_move *put);
int tofu_p2p_post_get(struct tofu_p2p *p2p, const struct tofu_p2p_move *get);

/**
 * struct tofu_p2p_atomic - an atomic operation
 * @op:       without @compares
 * @compares: the word becomes @value if it is @compare
 * @bytes:    of the word, 4 or 8, to which it is aligned
 * @value:    operand
 * @compare:  with @compares
 * @remote:   the word
 * @result:   for the word's value before the operation, of @bytes; may be NULL
 * @flags:    TOFU_P2P_SILENT
 * @context:  for tofu_p2p_ended()
 */
struct tofu_p2p_atomic {
	enum utofu_armw_op op;
	int compares;
	size_t bytes;
	uint64_t value;
	uint64_t compare;
	struct tofu_p2p_remote remote;
	void *result;
	unsigned int flags;
	void *context;
};

/**
 * tofu_p2p_post_atomic - begin an operation on a word of another process
 * @p2p:    endpoint
 * @atomic: what; copied
 *
 * On a machine without remote atomics it ends with UTOFU_ERR_NOT_SUPPORTED.
 *
 * Return: as tofu_p2p_post_put(), and UTOFU_ERR_INVALID_SIZE.
 */
int tofu_p2p_post_atomic(struct tofu_p2p *p2p,
			 const struct tofu_p2p_atomic *atomic);

/* ---- Memory ---- */

/**
 * struct tofu_p2p_memory - bytes that an endpoint takes
 * @shared:     rings shared by all peers
 * @own:        rings of one sender each
 * @peers:      tables
 * @unexpected: messages that no receive has matched
 * @pool:       buffers for sending
 * @peak:       the largest total so far
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
 * tofu_p2p_memory - get how much memory an endpoint takes
 * @p2p:    endpoint
 * @memory: filled
 */
void tofu_p2p_memory(const struct tofu_p2p *p2p,
		     struct tofu_p2p_memory *memory);

/**
 * tofu_p2p_need - compute how much memory an endpoint would take
 * @params: parameters of the endpoint; with @memory SIZE_MAX: what it takes at
 *          most
 * @peers:  peers that send to it, and that it sends to
 * @memory: filled, without messages that no receive has matched
 *
 * Fills the same members as tofu_p2p_memory(). Before the process has used the
 * interconnect, for a machine with remote atomics.
 *
 * Return: as tofu_p2p_create().
 */
int tofu_p2p_need(const struct tofu_p2p_params *params, uint64_t peers,
		  struct tofu_p2p_memory *memory);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_P2P_H */
