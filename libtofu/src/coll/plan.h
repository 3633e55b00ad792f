/* SPDX-License-Identifier: MIT */
/*
 * What an algorithm makes of a collective: a plan for one member, as pure
 * arithmetic. run.c carries plans out.
 *
 * A plan consists of *lanes*, short programs that run side by side, of *links*,
 * by which the member puts to others, and of *ports*, at which it counts the
 * notices of puts that come. A lane is a sequence of steps, which a function
 * computes from their index: so a plan takes no memory for its segments, however
 * many they are. The only thing that a lane waits for is a count: of notices at
 * a port, of its own puts under way, of steps that another lane has done.
 *
 * A port has a *tag*, by which the members that put to it name it: the port of
 * tag t on engine e is where notices of engine e with this tag are counted.
 * Algorithms choose tags so that a member knows those of its peers without
 * communication.
 *
 * Rules, which tests/unit/coll-plan.c checks for every algorithm:
 *
 * - Notices of a round. Every notice that a member gets in a round is awaited
 *   in this round: struct coll_port.due of them. So none is under way to a
 *   member that has ended its round, and counts can go on from round to round.
 * - Order. Notices of a port with one sender come in the order of its puts. A
 *   port with several senders counts notices of one round only, because no
 *   sender is in the next round.
 * - Memory. A put may write when it is posted, or as late as its notice; it may
 *   read until FLUSH has seen its end. One of up to COLL_CARRIED bytes reads when
 *   it is posted, and may end after its round. A member that has ended a round may be
 *   in the next one, while others are not. What it puts then must not hit what
 *   they still use: the receiver has said that it is ready, by a put without
 *   bytes or by data of this round, or the memory is another one in even and in
 *   odd rounds, and nobody can be two rounds ahead.
 * - Progress. Waits do not form a circle: each algorithm's file says why.
 */
#ifndef COLL_PLAN_H
#define COLL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/coll.h>

#define COLL_ENGINES_MAX 8
/* Tags go through the 8 bits of a notice's edata. */
#define COLL_TAGS 256
/* Bytes of a segment that was not asked for, where no machine's time decides */
#define COLL_SEGMENT 16384
/* Notices that may wait for a member that does not poll: its MRQ has room */
#define COLL_NOTICES_MAX 1536
/* A put of so few bytes has them in its command. */
#define COLL_CARRIED 8

/* ---- Steps ---- */

/**
 * enum coll_area - memory of a member
 * @COLL_SEND: the user's @send
 * @COLL_RECV: the user's @recv
 * @COLL_WORK: memory of the collective
 */
enum coll_area {
	COLL_SEND,
	COLL_RECV,
	COLL_WORK,
	COLL_AREAS,
};

/**
 * struct coll_place - a byte of an area
 * @area: of the member that acts, or, as a put's destination, of its peer
 */
struct coll_place {
	enum coll_area area;
	uint64_t offset;
};

/**
 * enum coll_do - what a step does; a lane goes on when it is done
 * @COLL_END:    the lane has come to its end
 * @COLL_AWAIT:  until port @which has @count notices of this round
 * @COLL_FLUSH:  until at most @count puts of this lane are under way
 * @COLL_JOIN:   until lane @which has done its first @count steps, or ended
 * @COLL_PUT:    put @bytes from @a to @dst of link @which's peer, with a notice
 *               there; 0 bytes: the notice alone
 * @COLL_BLOCKS: put @count blocks of @bytes, one after the other in memory, on
 *               a link in session mode: each has a notice of its own, and
 *               releases a block that waits in its target's session queue
 * @COLL_COPY:   copy @bytes from @a to @dst, here
 * @COLL_REDUCE: @dst = @a op @b for @bytes, here; @dst may be @a or @b
 * @COLL_GATE:   start the barrier gate: a reduction of @a, if it has @bytes
 * @COLL_RESULT: until the barrier gate has ended; its result goes to @dst
 */
enum coll_do {
	COLL_END,
	COLL_AWAIT,
	COLL_FLUSH,
	COLL_JOIN,
	COLL_PUT,
	COLL_BLOCKS,
	COLL_COPY,
	COLL_REDUCE,
	COLL_GATE,
	COLL_RESULT,
};

/**
 * struct coll_step - a step
 * @what:  enum coll_do
 * @which: a port, a link or a lane
 */
struct coll_step {
	enum coll_do what;
	unsigned int which;
	uint64_t count;
	struct coll_place dst;
	struct coll_place a;
	struct coll_place b;
	uint64_t bytes;
};

/* ---- Members ---- */

/**
 * struct coll_torus - how the members of a group lie, by their numbers
 * @size: along each axis; member number fastest along the last one
 */
struct coll_torus {
	uint32_t size[TOFU_COLL_AXES];
};

/**
 * struct coll_job - what has to be done, by a member
 * @kind:   enum tofu_coll_kind
 * @members: how many
 * @number: of this member
 * @root:   member, 0 where there is none
 * @torus:  of the members
 * @bytes:  of a block: @count elements; elements are not cut
 * @element: bytes of an element, 1 or more
 * @engines: to be used, 1 … COLL_ENGINES_MAX
 * @routes: asked for, or 0
 * @segment: bytes, a multiple of @element and not 0; only until coll_choose() 0,
 *           where none was asked for
 * @in_place: @send is @recv
 * @gate_words: words that barrier gates combine of this type and operation, or 0
 */
struct coll_job {
	enum tofu_coll_kind kind;
	uint32_t members;
	uint32_t number;
	uint32_t root;
	struct coll_torus torus;
	uint64_t bytes;
	uint32_t element;
	unsigned int engines;
	unsigned int routes;
	uint64_t segment;
	bool in_place;
	unsigned int gate_words;
};

/* ---- Plans ---- */

#define COLL_NOBODY UINT32_MAX

/**
 * struct coll_port - where notices are counted
 * @peer:   member that puts to it, or COLL_NOBODY: several
 * @due:    notices of a round
 * @engine: that they come by
 * @tag:    its name
 * @session: on the engine's session-mode queue
 */
struct coll_port {
	uint32_t peer;
	uint64_t due;
	uint8_t engine;
	uint8_t tag;
	bool session;
};

/**
 * struct coll_link - a way to a port of another member
 * @peer:   the member; not this one
 * @engine: that sends, and that the port is on
 * @tag:    of the port
 * @session: to the port on the peer's session-mode queue of the engine, for
 *           COLL_BLOCKS alone
 * @waits:   and through this member's session-mode queue, where each block
 *           waits for one that arrives there
 */
struct coll_link {
	uint32_t peer;
	uint8_t engine;
	uint8_t tag;
	bool session;
	bool waits;
};

struct coll_plan;

/**
 * typedef coll_step_fn - compute a step
 * @lane:  below @plan->lanes
 * @index: from 0; not beyond the one that is COLL_END
 * @odd:   the round is odd: rounds are counted from 0
 * @step:  all zero; filled
 */
typedef void coll_step_fn(const struct coll_plan *plan, unsigned int lane,
			  uint64_t index, bool odd, struct coll_step *step);

/**
 * struct coll_plan - the plan of a member
 * @job:    it is for
 * @step:   function of the lanes
 * @lanes:  how many
 * @port, @ports: allocated
 * @link, @links: allocated
 * @work:   bytes of COLL_WORK that are used
 * @routes: chains or rings at the same time, for people
 * @state:  what @step needs, allocated, or NULL
 * @full:   there was no memory for something
 */
struct coll_plan {
	struct coll_job job;
	coll_step_fn *step;
	unsigned int lanes;
	struct coll_port *port;
	unsigned int ports;
	struct coll_link *link;
	unsigned int links;
	uint64_t work;
	unsigned int routes;
	void *state;
	bool full;
};

/**
 * struct coll_algorithm - how plans are made
 * @kind, @algorithm: what it is for
 * @unfit: return why a job can not be done so, as the end of a sentence
 *         "… does not fit: "; NULL if it can. The answer is the same on all
 *         members.
 * @plan:  fill a plan, which is all zero but for @job, of two members or more
 *         and, but for a barrier, one byte or more
 */
struct coll_algorithm {
	enum tofu_coll_kind kind;
	enum tofu_coll_algorithm algorithm;
	const char *(*unfit)(const struct coll_job *job);
	void (*plan)(struct coll_plan *plan);
};

/* coll_algorithm_at - algorithm number @index, or NULL past the last */
const struct coll_algorithm *coll_algorithm_at(unsigned int index);

/* coll_algorithm_find - the one of a kind, or NULL */
const struct coll_algorithm *
coll_algorithm_find(enum tofu_coll_kind kind,
		    enum tofu_coll_algorithm algorithm);

/* coll_algorithm_cuts - whether it cuts a message into segments */
bool coll_algorithm_cuts(const struct coll_algorithm *algorithm);

/* coll_whole - the greatest multiple of an element's bytes, but one at least */
static inline uint64_t coll_whole(uint64_t bytes, uint32_t element)
{
	return bytes < element ? element : bytes - bytes % element;
}

/**
 * coll_plan_make - make the plan of a member
 * @algorithm: that fits the job
 * @plan: filled; coll_plan_clear() in any case
 *
 * Where nothing has to be moved, a plan has no lanes.
 *
 * Return: 0 or -ENOMEM.
 */
int coll_plan_make(const struct coll_algorithm *algorithm,
		   const struct coll_job *job, struct coll_plan *plan);

/* coll_plan_clear - free what a plan has allocated */
void coll_plan_clear(struct coll_plan *plan);

/* ---- For algorithms ---- */

/**
 * coll_port_add, coll_link_add - add one to a plan
 *
 * A plan without memory for it stays so: coll_plan_make() tells.
 *
 * Return: its number.
 */
unsigned int coll_port_add(struct coll_plan *plan, uint32_t peer,
			   unsigned int engine, unsigned int tag, uint64_t due);
unsigned int coll_link_add(struct coll_plan *plan, uint32_t peer,
			   unsigned int engine, unsigned int tag);

/* coll_state - allocate the state of a plan, all zero; NULL without memory */
void *coll_state(struct coll_plan *plan, size_t size);

/* coll_log2 - the greatest k with 2^k <= members */
static inline unsigned int coll_log2(uint32_t members)
{
	return 31 - (unsigned int)__builtin_clz(members);
}

/*
 * coll_part_begin - where a part of the message begins, and at @parts its end
 *
 * Parts have whole elements, the first ones perhaps one more.
 */
static inline uint64_t coll_part_begin(const struct coll_job *job,
				       uint32_t part, uint32_t parts)
{
	const uint64_t elements = job->bytes / job->element;
	const uint64_t more = elements % parts;

	return (part * (elements / parts) + (part < more ? part : more)) *
	       job->element;
}

/* coll_source - where a member's contribution is */
static inline enum coll_area coll_source(const struct coll_job *job)
{
	return job->in_place ? COLL_RECV : COLL_SEND;
}

/* coll_place - a byte of an area */
static inline struct coll_place coll_place(enum coll_area area, uint64_t offset)
{
	return (struct coll_place){ area, offset };
}

/*
 * Steps, by which functions of lanes answer. coll_nothing() is a step of those
 * that are the same for every segment, where a segment has nothing to do.
 */
void coll_await(struct coll_step *step, unsigned int port, uint64_t count);
void coll_flush(struct coll_step *step, uint64_t count);
void coll_join(struct coll_step *step, unsigned int lane, uint64_t count);
void coll_nothing(struct coll_step *step);
void coll_put(struct coll_step *step, unsigned int link, struct coll_place a,
	      struct coll_place dst, uint64_t bytes);
void coll_tell(struct coll_step *step, unsigned int link);
void coll_copy(struct coll_step *step, struct coll_place dst,
	       struct coll_place a, uint64_t bytes);
void coll_reduce(struct coll_step *step, struct coll_place dst,
		 struct coll_place a, struct coll_place b, uint64_t bytes);

/* coll_at, coll_number - from a number to the place in a torus, and back */
void coll_at(const struct coll_torus *torus, uint32_t number,
	     uint32_t at[TOFU_COLL_AXES]);
uint32_t coll_number(const struct coll_torus *torus,
		     const uint32_t at[TOFU_COLL_AXES]);

/* coll_axes - axes that are longer than 1 */
unsigned int coll_axes(const struct coll_torus *torus);

/**
 * struct coll_fold - a torus whose axes are folded into fewer ones, on which
 * neighbours are neighbours in the torus, too
 * @torus: that is folded
 * @axes:  of the fold, 1 … TOFU_COLL_AXES, all longer than 1 unless there is
 *         one member only
 * @size:  along each
 * @part:  axes of the torus that an axis is made of, then -1
 */
struct coll_fold {
	struct coll_torus torus;
	unsigned int axes;
	uint32_t size[TOFU_COLL_AXES];
	int part[TOFU_COLL_AXES][TOFU_COLL_AXES];
};

/**
 * coll_snake, coll_snake_at - the ring through all of a plane, whose neighbours
 * are neighbours in the plane
 * @place: in the ring; 0 is row 0 of column 0
 */
uint32_t coll_snake(uint32_t rows, uint32_t columns, uint32_t row,
		    uint32_t column);
void coll_snake_at(uint32_t rows, uint32_t columns, uint32_t place,
		   uint32_t *row, uint32_t *column);

/* coll_fold - fold to at most @axes axes, 1 or more */
struct coll_fold coll_fold(const struct coll_torus *torus, unsigned int axes);

/* coll_fold_at, coll_fold_number - from a member to its place, and back */
void coll_fold_at(const struct coll_fold *fold, uint32_t number,
		  uint32_t at[TOFU_COLL_AXES]);
uint32_t coll_fold_number(const struct coll_fold *fold,
			  const uint32_t at[TOFU_COLL_AXES]);

#endif /* COLL_PLAN_H */
