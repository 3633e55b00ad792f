/* SPDX-License-Identifier: MIT */
/*
 * The neighbour exchange over several engines: a persistent exchange
 * (<tofu/exchange.h>) of one message with each neighbour, and a model of how
 * long it takes.
 *
 * The native algorithm sends a whole message by one engine, message i by engine
 * i mod C, in ceil(N / C) rounds for N messages and C engines. The segmented
 * algorithm cuts every message so that all engines send the same amount: with k
 * = gcd(N, C) into C / k segments, sent in N / k steps. It needs N > C > 1, and
 * messages of about the same size.
 */
#ifndef TOFU_NEIGHBOR_H
#define TOFU_NEIGHBOR_H

#include <tofu/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Neighbour exchange ---- */

/**
 * enum tofu_neighbor_algorithm - which engine sends what
 * @TOFU_NEIGHBOR_AUTO: whichever of the two takes less time by the model
 * @TOFU_NEIGHBOR_NATIVE: whole messages
 * @TOFU_NEIGHBOR_SEGMENTED: messages in segments; the same as native where
 *     there is one segment only, that is unless N > C > 1 and C does not divide
 *     N
 */
enum tofu_neighbor_algorithm {
	TOFU_NEIGHBOR_AUTO = 0,
	TOFU_NEIGHBOR_NATIVE = 1,
	TOFU_NEIGHBOR_SEGMENTED = 2
};

/**
 * enum tofu_neighbor_form - how far engines run ahead
 * @TOFU_NEIGHBOR_ONE_SIDED: all puts are queued at once
 * @TOFU_NEIGHBOR_TWO_SIDED: no engine begins a step before all have sent and
 *     received everything of the step before
 * @TOFU_NEIGHBOR_STEPS: no engine begins a step before the puts of the step
 *     before have ended here, on all engines; the published one-sided form
 */
enum tofu_neighbor_form {
	TOFU_NEIGHBOR_ONE_SIDED = 0,
	TOFU_NEIGHBOR_TWO_SIDED = 1,
	TOFU_NEIGHBOR_STEPS = 2
};

/**
 * struct tofu_neighbor_params - how messages are exchanged
 * @engines:   most TNIs to use; 0: all
 * @algorithm: enum tofu_neighbor_algorithm
 * @form:      enum tofu_neighbor_form
 * @machine:   machine whose model decides for TOFU_NEIGHBOR_AUTO, as for
 *             tofu_neighbor_model_ns(); NULL: "k"
 * @crossover: bytes of a message from which TOFU_NEIGHBOR_AUTO uses segments,
 *             if measured; 0: by the model
 * @bytes:     message size that TOFU_NEIGHBOR_AUTO assumes; 0: the largest of
 *             this process. Processes whose largest messages differ must give
 *             one.
 * @barrier:   start and end gate of a barrier of the processes: no process
 *             begins an exchange before all do, and it ends when it has ended
 *             for all; UTOFU_VBG_ID_NULL: neighbours may be ahead
 *
 * Must be the same on all processes.
 */
struct tofu_neighbor_params {
	unsigned int engines;
	enum tofu_neighbor_algorithm algorithm;
	enum tofu_neighbor_form form;
	const char *machine;
	size_t crossover;
	size_t bytes;
	utofu_vbg_id_t barrier;
};

/**
 * tofu_neighbor_create - create a neighbour exchange
 * @params:   parameters; NULL: TOFU_NEIGHBOR_AUTO on all engines, one-sided, no
 *            barrier
 * @messages: messages; copied, but not their buffers
 * @count:    number of messages, N, 1 … TOFU_EXCHANGE_MESSAGES_MAX; the same on
 *            all processes, so an open boundary has messages with 0 bytes both
 *            ways
 * @exchange: set to the exchange, to be connected to those of its neighbours
 *
 * Takes a command queue on each engine.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER (an argument, or a buffer
 * that has bytes); UTOFU_ERR_INVALID_NUMBER (@count, more engines than there
 * are, or a @back that is not a message); UTOFU_ERR_INVALID_ADDRESS (the two
 * receive buffers of a message overlap, or no memory is mapped there);
 * UTOFU_ERR_INVALID_ARG (an algorithm, a form or a machine that does not
 * exist); UTOFU_ERR_INVALID_SIZE, UTOFU_ERR_FULL (a TNI has no command queue or
 * no STAG left), UTOFU_ERR_OUT_OF_MEMORY, UTOFU_ERR_OUT_OF_RESOURCE.
 */
int tofu_neighbor_create(const struct tofu_neighbor_params *params,
			 const struct tofu_message *messages,
			 unsigned int count, struct tofu_exchange **exchange);

/**
 * tofu_neighbor_algorithm - get the algorithm that an exchange runs
 * @exchange:  exchange that tofu_neighbor_create() made
 * @algorithm: set to TOFU_NEIGHBOR_NATIVE or TOFU_NEIGHBOR_SEGMENTED
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_ARG for
 * another kind of exchange.
 */
int tofu_neighbor_algorithm(const struct tofu_exchange *exchange,
			    enum tofu_neighbor_algorithm *algorithm);

/* ---- Model of the neighbour exchange ---- */

/**
 * tofu_neighbor_model_ns - compute how long an exchange takes by the model
 * @machine:   "k", "fx10", "fx100" or "fugaku"
 * @algorithm: TOFU_NEIGHBOR_NATIVE, TOFU_NEIGHBOR_SEGMENTED, or
 *             TOFU_NEIGHBOR_AUTO for the shorter one
 * @neighbors: number of neighbours, N
 * @engines:   number of engines, C
 * @bytes:     bytes of each message, M
 *
 * L ceil(N / C) + ceil(N / C) M / B for the native algorithm, and L N' + (N' /
 * C') M / B for the segmented one, where N = k N', C = k C', k = gcd(N, C). This
 * is what TOFU_NEIGHBOR_STEPS does; the other forms are compared with it, too. L
 * is the machine's time for a put of few bytes to a neighbour. B is the least
 * of three payload bandwidths: a link's, an engine's that sends and receives at
 * once, and its share of the node's.
 *
 * Return: nanoseconds, rounded up; 0 for a machine that does not exist, no
 * neighbours or no engines; UINT64_MAX for anything larger.
 */
uint64_t tofu_neighbor_model_ns(const char *machine,
				enum tofu_neighbor_algorithm algorithm,
				unsigned int neighbors, unsigned int engines,
				uint64_t bytes);

/**
 * tofu_neighbor_crossover - compute the size from which segments pay off
 * @machine:   as for tofu_neighbor_model_ns()
 * @neighbors: number of neighbours, N
 * @engines:   number of engines, C
 *
 * Return: bytes of the smallest message for which the segmented algorithm takes
 * no longer than the native one; UINT64_MAX where the two do not differ, or for
 * a machine that does not exist.
 */
uint64_t tofu_neighbor_crossover(const char *machine, unsigned int neighbors,
				 unsigned int engines);

/* ---- Grids ---- */

#define TOFU_GRID_DIMS_MAX 6

/**
 * struct tofu_grid - processes as a grid of one to six dimensions
 * @dims:     number of dimensions
 * @size:     processes along each, 1 or more
 * @periodic: bit d: dimension d is closed to a ring
 *
 * Ranks vary fastest along the last dimension.
 */
struct tofu_grid {
	unsigned int dims;
	unsigned int size[TOFU_GRID_DIMS_MAX];
	unsigned int periodic;
};

/**
 * tofu_grid_neighbor - find a process's neighbour in a grid
 * @grid:      the grid
 * @rank:      rank of the process
 * @direction: 2 d is up in dimension d, 2 d + 1 is down
 * @neighbor:  set to the rank of the neighbour, which can be @rank itself
 * @back:      set to the direction that leads back: the @back of the message
 *             with index @direction
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_FOUND where the grid is open there;
 * UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_SIZE for an invalid grid, or one
 * of 2^32 processes and more; UTOFU_ERR_INVALID_NUMBER for @rank and
 * @direction.
 */
int tofu_grid_neighbor(const struct tofu_grid *grid, unsigned int rank,
		       unsigned int direction, unsigned int *neighbor,
		       unsigned int *back);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_NEIGHBOR_H */
