/* SPDX-License-Identifier: MIT */
/*
 * Persistent collectives of groups of processes: created once, with buffers,
 * then started and awaited again and again. See Documentation/library/coll.rst.
 *
 * Creating a collective registers memory and connects the processes. Starting
 * and testing allocate nothing, register nothing and make no system call.
 *
 * Functions return enum utofu_return_code. A boot, its groups and their
 * collectives belong to one thread at a time.
 */
#ifndef TOFU_COLL_H
#define TOFU_COLL_H

#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#include <tofu/boot.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Groups ---- */

#define TOFU_COLL_AXES 3

struct tofu_group;

/**
 * tofu_group_create - make a group of processes of a boot
 * @boot:  of the processes; has to live longer than the group
 * @ranks: ranks of the members, member number 0 first, each once; NULL: all
 *         processes of the boot
 * @count: number of @ranks; ignored without them
 * @size:  members along three axes of a torus, 1 or more, whose product is the
 *         number of members; NULL: as @ranks are listed, a ring; without
 *         @ranks, the machine's own torus
 * @group: set on success
 *
 * Members are numbered fastest along the last axis. The machine's torus has the
 * axes (X, A), (Y, B) and (Z, C) of the machine, along which nodes are next to
 * each other in a ring; processes of a node follow each other along the last
 * axis. Where nodes have different numbers of processes, or some have none, the
 * members are a ring in the order of their ranks.
 *
 * Local: no communication. Every member makes the same group.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER
 * for a rank that the boot does not have, or has been listed before;
 * UTOFU_ERR_NOT_FOUND if this process is not a member; UTOFU_ERR_INVALID_SIZE
 * for a @size that does not fit; UTOFU_ERR_OUT_OF_MEMORY.
 */
int tofu_group_create(struct tofu_boot *boot, const uint32_t ranks[],
		      uint32_t count, const uint32_t size[],
		      struct tofu_group **group);

/**
 * tofu_group_sub - make the line or plane of a group that this process is in
 * @group: of which it is a part, which may be freed before it
 * @axes:  bit i: members may differ along axis i; 1, 2 and 4 are lines
 * @sub:   set on success
 *
 * Its size is 1 along the other axes. Local, as tofu_group_create().
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_ARG for
 * other bits; UTOFU_ERR_OUT_OF_MEMORY.
 */
int tofu_group_sub(const struct tofu_group *group, unsigned int axes,
		   struct tofu_group **sub);

/**
 * struct tofu_group_info - a group, as one of its members sees it
 * @count:  number of members
 * @number: of this process, 0 ... @count - 1
 * @size:   members along each axis
 */
struct tofu_group_info {
	uint32_t count;
	uint32_t number;
	uint32_t size[TOFU_COLL_AXES];
};

/**
 * tofu_group_query - get the size of a group, and the number of this process
 * @group: the group
 * @info:  filled
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_group_query(const struct tofu_group *group,
		     struct tofu_group_info *info);

/**
 * tofu_group_rank - get the rank that a member has in the boot
 * @group:  the group
 * @number: of the member
 * @rank:   set to its rank
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER.
 */
int tofu_group_rank(const struct tofu_group *group, uint32_t number,
		    uint32_t *rank);

/**
 * tofu_group_free - free a group
 * @group: or NULL; its collectives have been freed
 */
void tofu_group_free(struct tofu_group *group);

/* ---- What is done ---- */

/**
 * enum tofu_coll_kind - a collective, by what it does with the buffers
 * @TOFU_COLL_BARRIER: no member's ends before all have started it
 * @TOFU_COLL_BCAST: @count elements of the root's @send come to each other
 *     member's @recv
 * @TOFU_COLL_REDUCE: the root's @recv gets @count elements, combined of all
 *     @send
 * @TOFU_COLL_ALLREDUCE: each member's @recv does
 * @TOFU_COLL_GATHER: the root's @recv gets the @count elements of each
 *     member's @send, those of number 0 first
 * @TOFU_COLL_SCATTER: each member's @recv gets its @count elements of the
 *     root's @send
 * @TOFU_COLL_ALLGATHER: each member's @recv gets @count elements of each @send
 * @TOFU_COLL_REDUCE_SCATTER: each member's @recv gets its @count elements of
 *     the combination of all @send, which have @count elements for each member
 * @TOFU_COLL_ALLTOALL: block j of member i's @send becomes block i of member
 *     j's @recv; a block is @count elements
 * @TOFU_COLL_KINDS: number of kinds
 */
enum tofu_coll_kind {
	TOFU_COLL_BARRIER = 0,
	TOFU_COLL_BCAST = 1,
	TOFU_COLL_REDUCE = 2,
	TOFU_COLL_ALLREDUCE = 3,
	TOFU_COLL_GATHER = 4,
	TOFU_COLL_SCATTER = 5,
	TOFU_COLL_ALLGATHER = 6,
	TOFU_COLL_REDUCE_SCATTER = 7,
	TOFU_COLL_ALLTOALL = 8,
	TOFU_COLL_KINDS = 9
};

/**
 * enum tofu_coll_type - an element
 * @TOFU_COLL_BYTE: a byte; combined by TOFU_COLL_CALL only
 * @TOFU_COLL_FLOAT, @TOFU_COLL_DOUBLE: of C
 * @TOFU_COLL_INT32, @TOFU_COLL_INT64, @TOFU_COLL_UINT64: of <stdint.h>
 * @TOFU_COLL_FLOAT_INT, @TOFU_COLL_INT32_INT: a value and an int32_t index, for
 *     TOFU_COLL_MINLOC and TOFU_COLL_MAXLOC: 8 bytes
 * @TOFU_COLL_DOUBLE_INT, @TOFU_COLL_INT64_INT, @TOFU_COLL_UINT64_INT: a value
 *     and an int64_t index: 16 bytes
 * @TOFU_COLL_USER: as large as struct tofu_coll_spec.size says
 * @TOFU_COLL_TYPES: number of types
 */
enum tofu_coll_type {
	TOFU_COLL_BYTE = 0,
	TOFU_COLL_FLOAT = 1,
	TOFU_COLL_DOUBLE = 2,
	TOFU_COLL_INT32 = 3,
	TOFU_COLL_INT64 = 4,
	TOFU_COLL_UINT64 = 5,
	TOFU_COLL_FLOAT_INT = 6,
	TOFU_COLL_INT32_INT = 7,
	TOFU_COLL_DOUBLE_INT = 8,
	TOFU_COLL_INT64_INT = 9,
	TOFU_COLL_UINT64_INT = 10,
	TOFU_COLL_USER = 11,
	TOFU_COLL_TYPES = 12
};

/**
 * enum tofu_coll_op - how elements are combined
 * @TOFU_COLL_SUM, @TOFU_COLL_PROD: of numbers; integers wrap
 * @TOFU_COLL_MIN, @TOFU_COLL_MAX: of numbers. A NaN wins; -0 is less than +0.
 * @TOFU_COLL_BAND, @TOFU_COLL_BOR, @TOFU_COLL_BXOR: of integers
 * @TOFU_COLL_MINLOC, @TOFU_COLL_MAXLOC: of values with an index: the least or
 *     greatest value, and of equal ones the least index
 * @TOFU_COLL_CALL: struct tofu_coll_spec.call, of elements of any type
 * @TOFU_COLL_OPS: number of operations
 */
enum tofu_coll_op {
	TOFU_COLL_SUM = 0,
	TOFU_COLL_PROD = 1,
	TOFU_COLL_MIN = 2,
	TOFU_COLL_MAX = 3,
	TOFU_COLL_BAND = 4,
	TOFU_COLL_BOR = 5,
	TOFU_COLL_BXOR = 6,
	TOFU_COLL_MINLOC = 7,
	TOFU_COLL_MAXLOC = 8,
	TOFU_COLL_CALL = 9,
	TOFU_COLL_OPS = 10
};

/**
 * typedef tofu_coll_call_fn - combine elements: dst[i] = a[i] op b[i]
 * @dst:   results; may be @a or @b, and overlaps neither otherwise
 * @a, @b: operands
 * @count: number of elements
 * @data:  of struct tofu_coll_spec
 *
 * Has to be associative and commutative. Must not call the library.
 */
typedef void tofu_coll_call_fn(void *dst, const void *a, const void *b,
			       size_t count, void *data);

/**
 * struct tofu_coll_spec - a collective
 * @kind:  enum tofu_coll_kind
 * @type:  of the elements, enum tofu_coll_type
 * @op:    enum tofu_coll_op, where elements are combined
 * @root:  number of a member, where there is a root
 * @count: elements, as enum tofu_coll_kind says; may be 0
 * @send:  read; NULL: @recv has the contents, and the result replaces them.
 *         That goes for TOFU_COLL_BCAST, where the root's buffer is only read,
 *         TOFU_COLL_ALLREDUCE, and TOFU_COLL_REDUCE on every member. The two
 *         buffers overlap in no other way.
 * @recv:  written; not used by TOFU_COLL_BCAST's root, if it has @send, and
 *         by other members than the root of TOFU_COLL_REDUCE, if they have
 *         @send, and of TOFU_COLL_GATHER
 * @size:  bytes of an element of TOFU_COLL_USER, 1 or more
 * @call, @data: for TOFU_COLL_CALL
 */
struct tofu_coll_spec {
	enum tofu_coll_kind kind;
	enum tofu_coll_type type;
	enum tofu_coll_op op;
	uint32_t root;
	size_t count;
	const void *send;
	void *recv;
	size_t size;
	tofu_coll_call_fn *call;
	void *data;
};

/* ---- How it is done ---- */

/**
 * enum tofu_coll_algorithm - how a collective is done
 * @TOFU_COLL_AUTO: whichever of those that fit takes least time by the model,
 *     but not what there is little of: gates only for barriers, no sessions
 * @TOFU_COLL_GATES: barrier, allreduce: by barrier gates, without the
 *     processor. Allreduce of up to 6 uint64_t, or 3 double of
 *     TOFU_COLL_REPRODUCIBLE
 * @TOFU_COLL_DISSEMINATION: barrier: notices in log2(n) rounds
 * @TOFU_COLL_PIPELINED: bcast, reduce: segments along chains, on several routes
 *     that share no link; reduce and allreduce: Trinaryx3. Allreduce: reduces
 *     all, then broadcasts
 * @TOFU_COLL_STREAMED: allreduce: as TOFU_COLL_PIPELINED, but each segment is
 *     broadcast as soon as it is reduced
 * @TOFU_COLL_SESSION: bcast: one chain, whose members' engines forward blocks
 *     as they arrive, without the processor. Takes a command queue of its own
 * @TOFU_COLL_BINOMIAL: bcast, reduce, gather, scatter: a binomial tree
 * @TOFU_COLL_DOUBLING: allreduce, allgather: recursive doubling
 * @TOFU_COLL_RING: allreduce, allgather, reduce-scatter: one ring
 * @TOFU_COLL_MULTIRING: allgather: rings along each axis in turn, on several
 *     engines in several directions
 * @TOFU_COLL_BRUCK: allgather, alltoall: log2(n) rounds
 * @TOFU_COLL_DIRECT: gather, scatter: between each member and the root;
 *     allgather, alltoall: between all, in dimension order, throttled, on all
 *     engines
 * @TOFU_COLL_HALVING: allreduce, reduce-scatter: recursive halving, and back
 * @TOFU_COLL_ALGORITHMS: number of algorithms
 */
enum tofu_coll_algorithm {
	TOFU_COLL_AUTO = 0,
	TOFU_COLL_GATES = 1,
	TOFU_COLL_DISSEMINATION = 2,
	TOFU_COLL_PIPELINED = 3,
	TOFU_COLL_STREAMED = 4,
	TOFU_COLL_SESSION = 5,
	TOFU_COLL_BINOMIAL = 6,
	TOFU_COLL_DOUBLING = 7,
	TOFU_COLL_RING = 8,
	TOFU_COLL_MULTIRING = 9,
	TOFU_COLL_BRUCK = 10,
	TOFU_COLL_DIRECT = 11,
	TOFU_COLL_HALVING = 12,
	TOFU_COLL_ALGORITHMS = 13
};

/*
 * The sum of double has the same bits for every group, shape and algorithm: the
 * values are cut at fixed places of the exponent range, and the pieces are
 * summed as integers, as barrier gates do it. Takes more bytes on the wire.
 */
#define TOFU_COLL_REPRODUCIBLE (1U << 0)

/*
 * The buffers are registered with TOFU_REG_MEM_FLAG_BLANK: nothing is in them.
 * Only for kinds that are simulated in full size; see <tofu/mem.h>.
 */
#define TOFU_COLL_BLANK (1U << 1)

/**
 * struct tofu_coll_tuning - how a collective is done; the same on all members
 * @algorithm: enum tofu_coll_algorithm
 * @flags:     TOFU_COLL_REPRODUCIBLE, TOFU_COLL_BLANK
 * @segment:   bytes of a segment; 0: what takes least time by the model, or
 *             16,384 where no machine's times decide
 * @engines:   most TNIs to use; 0: all
 * @routes:    of a pipelined collective; 0: as many as there are axes longer
 *             than 1, and twice as many where there are as many engines
 * @machine:   whose times decide for TOFU_COLL_AUTO and @segment, as
 *             <tofu/rsched.h> names it; NULL: that of the virtual time, or "k"
 */
struct tofu_coll_tuning {
	enum tofu_coll_algorithm algorithm;
	unsigned int flags;
	size_t segment;
	unsigned int engines;
	unsigned int routes;
	const char *machine;
};

/* ---- Collectives ---- */

struct tofu_coll;

/**
 * tofu_coll_create - create a persistent collective
 * @group:  of the members, who all call this, in the same order if several
 *          collectives of a group are created
 * @spec:   the same on all members but for the buffers; copied
 * @tuning: the same on all members; NULL: all zero
 * @coll:   set on success
 *
 * An algorithm that does not fit the group or the sizes is replaced by another,
 * as TOFU_COLL_AUTO: tofu_coll_describe() tells.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER (an argument, or a buffer
 * that has elements); UTOFU_ERR_INVALID_ARG (kind, type, operation, algorithm,
 * machine or flags that do not exist, or do not go together);
 * UTOFU_ERR_INVALID_NUMBER (root, or more engines than there are);
 * UTOFU_ERR_INVALID_SIZE (of an element; or more bytes than an address can
 * name); UTOFU_ERR_INVALID_DATA if a member creates another collective, and
 * UTOFU_ERR_NOT_COMPLETED if it creates none within the boot's time;
 * UTOFU_ERR_NOT_AVAILABLE if it could not, for a reason that its own call
 * returns; UTOFU_ERR_MRQ_PEER if one has died; UTOFU_ERR_INVALID_ADDRESS,
 * UTOFU_ERR_FULL, UTOFU_ERR_OUT_OF_MEMORY, UTOFU_ERR_OUT_OF_RESOURCE.
 */
int tofu_coll_create(struct tofu_group *group,
		     const struct tofu_coll_spec *spec,
		     const struct tofu_coll_tuning *tuning,
		     struct tofu_coll **coll);

/**
 * tofu_coll_start - begin the collective
 * @coll: the collective
 *
 * Until it has ended, @send must not be written and @recv not be used. Several
 * collectives can be under way at the same time. Members may start and await
 * them in different orders.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY: the last start has not ended; or an
 * earlier error, as tofu_coll_test().
 */
int tofu_coll_start(struct tofu_coll *coll);

/**
 * tofu_coll_test - make progress, and check whether the collective has ended
 * @coll: the collective
 *
 * Makes progress in all collectives of the boot that are under way.
 *
 * Return: UTOFU_SUCCESS, also where it was not started;
 * UTOFU_ERR_NOT_COMPLETED; UTOFU_ERR_MRQ_PEER: a member is gone, which
 * tofu_coll_lost() names; UTOFU_ERR_TCQ_*, UTOFU_ERR_MRQ_*,
 * UTOFU_ERR_BARRIER_*: the collective has failed. All members that have not
 * ended it fail, too. After a failure it can only be freed.
 */
int tofu_coll_test(struct tofu_coll *coll);

/**
 * tofu_coll_wait - wait until the collective has ended
 * @coll: the collective
 *
 * Yields the processor, with sched_yield(), when nothing has come for long.
 *
 * Return: as tofu_coll_test(), without UTOFU_ERR_NOT_COMPLETED.
 */
int tofu_coll_wait(struct tofu_coll *coll);

/**
 * tofu_coll_lost - get the member whose end made the collective fail
 * @coll: the collective
 * @rank: set to the member's rank in the boot
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_FOUND where
 * no member is known to be gone.
 */
int tofu_coll_lost(const struct tofu_coll *coll, uint32_t *rank);

/* Room for the description of a collective, bytes */
#define TOFU_COLL_TEXT 256

/**
 * struct tofu_coll_description - how a collective is done
 * @algorithm: enum tofu_coll_algorithm, not TOFU_COLL_AUTO
 * @engines:   TNIs in use
 * @routes:    chains or rings at the same time
 * @segment:   bytes; 0: the message is not cut into segments
 * @work:      bytes of memory beside the buffers
 * @text:      a sentence, which also says why another algorithm was not taken
 */
struct tofu_coll_description {
	enum tofu_coll_algorithm algorithm;
	unsigned int engines;
	unsigned int routes;
	size_t segment;
	size_t work;
	char text[TOFU_COLL_TEXT];
};

/**
 * tofu_coll_describe - tell how a collective is done
 * @coll:        the collective
 * @description: filled
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_coll_describe(const struct tofu_coll *coll,
		       struct tofu_coll_description *description);

/**
 * tofu_coll_free - free a collective
 * @coll: or NULL; not under way, unless it has failed
 *
 * All members have created it, or it has failed. What it has put is delivered
 * first, for a limited time; no member has to free it, too.
 */
void tofu_coll_free(struct tofu_coll *coll);

/**
 * tofu_coll_run - create a collective, carry it out once, and free it
 * @group:  as for tofu_coll_create()
 * @spec:   as for tofu_coll_create()
 * @tuning: as for tofu_coll_create()
 *
 * Takes much longer than a start of a persistent one.
 *
 * Return: as tofu_coll_create() and tofu_coll_wait().
 */
int tofu_coll_run(struct tofu_group *group, const struct tofu_coll_spec *spec,
		  const struct tofu_coll_tuning *tuning);

/**
 * tofu_coll_kind_name, tofu_coll_algorithm_name, tofu_coll_type_name,
 * tofu_coll_op_name - get the word for one of an enumeration
 * @kind: enum tofu_coll_kind
 * @algorithm: enum tofu_coll_algorithm
 * @type: enum tofu_coll_type
 * @op:   enum tofu_coll_op
 *
 * Return: the word, such as "allreduce", "pipelined", "double", "sum"; NULL for
 * a value that does not exist.
 */
const char *tofu_coll_kind_name(enum tofu_coll_kind kind);
const char *tofu_coll_algorithm_name(enum tofu_coll_algorithm algorithm);
const char *tofu_coll_type_name(enum tofu_coll_type type);
const char *tofu_coll_op_name(enum tofu_coll_op op);

/**
 * tofu_coll_type_size - get the size of an element
 * @type: enum tofu_coll_type
 *
 * Return: bytes; 0 for TOFU_COLL_USER and a type that does not exist.
 */
size_t tofu_coll_type_size(enum tofu_coll_type type);

/**
 * tofu_coll_fits - check whether an algorithm exists for a kind
 * @kind:      enum tofu_coll_kind
 * @algorithm: enum tofu_coll_algorithm
 *
 * Return: 1 if it does, for some groups and sizes; otherwise 0.
 */
int tofu_coll_fits(enum tofu_coll_kind kind,
		   enum tofu_coll_algorithm algorithm);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_COLL_H */
