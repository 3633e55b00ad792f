/* SPDX-License-Identifier: MIT */
/*
 * What tofu-sim needs of MPI, as a table that a shared object exports. There is
 * one for each MPI, since their interfaces differ for a linker. tofu-sim itself
 * is linked with none.
 *
 * A failure inside MPI ends all processes.
 *
 * May include: nothing
 */
#ifndef SIM_MPI_TRANSPORT_H
#define SIM_MPI_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/**
 * struct sim_bytes - a buffer
 * @at:   from malloc()
 * @used: bytes that count
 * @room: bytes that are allocated
 */
struct sim_bytes {
	uint8_t *at;
	size_t used;
	size_t room;
};

/* sim_bytes_need - have room for so many bytes; false: there is no memory */
static inline bool sim_bytes_need(struct sim_bytes *bytes, size_t need)
{
	const size_t room = need + need / 2;
	uint8_t *at;

	if (need <= bytes->room)
		return true;
	at = (uint8_t *)realloc(bytes->at, room);
	if (!at)
		return false;
	bytes->at = at;
	bytes->room = room;
	return true;
}

/**
 * struct sim_parcel - what is exchanged with another process
 * @rank: which
 * @out:  for it; at most INT_MAX bytes
 * @in:   from it; grows as needed
 */
struct sim_parcel {
	unsigned int rank;
	struct sim_bytes out;
	struct sim_bytes in;
};

/**
 * struct sim_transport - the table
 * @size:     of this structure, as the shared object knows it
 * @begin:    start MPI: the number of this process, and how many there are
 * @exchange: send each parcel's @out, and receive its @in. The other process has
 *            a parcel for this one, too. Meanwhile the numbers at @most become
 *            the largest of all processes; @numbers can be 0, in all of them.
 * @most:     numbers become the largest of all processes. They are less than
 *            2^63, here and in @exchange: MPICH 4.0 compares others wrongly.
 * @sum:      numbers become the sums over all processes
 * @host_sum: numbers become the sums over this host's processes
 * @end:      end MPI, in all processes
 */
struct sim_transport {
	size_t size;
	void (*begin)(unsigned int *rank, unsigned int *count);
	void (*exchange)(struct sim_parcel *parcels, unsigned int count,
			 uint64_t *most, unsigned int numbers);
	void (*most)(uint64_t *numbers, unsigned int count);
	void (*sum)(uint64_t *numbers, unsigned int count);
	void (*host_sum)(uint64_t *numbers, unsigned int count);
	void (*end)(void);
};

/* The name of the table, which is a constant */
#define SIM_TRANSPORT_SYMBOL "sim_transport_of_mpi"

#endif /* SIM_MPI_TRANSPORT_H */
