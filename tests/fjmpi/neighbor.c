/* SPDX-License-Identifier: MIT */
/*
 * The neighbour exchange over several NICs as it was published for this
 * interface: each rank sends a message to its six neighbours in the torus of
 * the ranks, by four NICs, and receives as much.
 *
 *   neighbor [BYTES]...
 *
 * Native, message i goes by NIC i mod C, and all puts are awaited together. In
 * segments, each step has C puts, one on each NIC, and their local completions
 * are awaited before the next step. There is a barrier before each exchange,
 * which is not in its time; it has ended when all puts have, here, and all from
 * the neighbours have come. Every word received is verified.
 *
 * Prints TAP, with the times as comments. It runs over an MPI, and with
 * tests/fjmpi/sim on tofu-sim.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <mpi.h>
#include <mpi-ext.h>

#define DIMENSIONS 3
#define NEIGHBORS (2 * DIMENSIONS)
#define NICS 4
#define BYTES_MAX 16777212
#define BYTES_UNIT 4

#define WARMUP 1
#define ROUNDS 5

enum { OUT, IN }; /* memids */

static const int nics[NICS] = {
	FJMPI_RDMA_LOCAL_NIC0 | FJMPI_RDMA_REMOTE_NIC0,
	FJMPI_RDMA_LOCAL_NIC1 | FJMPI_RDMA_REMOTE_NIC1,
	FJMPI_RDMA_LOCAL_NIC2 | FJMPI_RDMA_REMOTE_NIC2,
	FJMPI_RDMA_LOCAL_NIC3 | FJMPI_RDMA_REMOTE_NIC3,
};
static const int polled[NICS] = { FJMPI_RDMA_NIC0, FJMPI_RDMA_NIC1,
				  FJMPI_RDMA_NIC2, FJMPI_RDMA_NIC3 };

/**
 * struct way - what is sent when
 * @segments: of a message
 * @steps:    of an exchange
 * @puts:     of a step; put i of an exchange goes by NIC i mod C, and is
 *            segment i / N of message i mod N
 */
struct way {
	const char *name;
	int segments;
	int steps;
	int puts;
};

/**
 * struct neighbor - the rank that a message goes to
 * @from: the rank whose message comes in return, from the opposite side
 * @in:   address of its receive buffers
 */
struct neighbor {
	int to;
	int from;
	uint64_t in;
};

/* One send buffer for all neighbours, and receive buffers of @room words */
static struct {
	int rank;
	struct neighbor neighbor[NEIGHBORS];
	uint32_t *out;
	uint32_t *in;
	uint64_t out_at;
	size_t room;
} own;

/**
 * struct count - of an exchange
 * @posted, @ended: puts by each NIC, and their local completions
 * @arrived: puts of the neighbours
 */
struct count {
	int posted[NICS];
	int ended[NICS];
	int arrived;
};

static void fail(const char *what)
{
	fprintf(stderr, "neighbor: rank %d: %s\n", own.rank, what);
	exit(EXIT_FAILURE);
}

/* ---- Neighbours ---- */

static int rank_beside(const int at[], const int shape[], int dimension,
		       int distance)
{
	int there[DIMENSIONS], rank;

	for (int i = 0; i < DIMENSIONS; i++)
		there[i] = at[i];
	there[dimension] = (at[dimension] + shape[dimension] + distance) %
			   shape[dimension];
	if (FJMPI_Topology_xyz2rank(there[0], there[1], there[2], &rank))
		fail("a place in the torus has no rank");
	return rank;
}

/* Dimensions that the torus does not have are 1 long. */
static void neighbors_find(void)
{
	int at[DIMENSIONS], shape[DIMENSIONS];

	if (FJMPI_Topology_get_shape(&shape[0], &shape[1], &shape[2]) ||
	    FJMPI_Topology_rank2xyz(own.rank, &at[0], &at[1], &at[2]))
		fail("no torus of ranks");
	for (int i = 0; i < DIMENSIONS; i++)
		shape[i] = shape[i] ? shape[i] : 1;
	for (int n = 0; n < NEIGHBORS; n++) {
		int up = n % 2 ? -1 : 1;

		own.neighbor[n].to = rank_beside(at, shape, n / 2, up);
		own.neighbor[n].from = rank_beside(at, shape, n / 2, -up);
	}
}

static void memory_make(size_t bytes)
{
	own.room = bytes / sizeof(*own.in);
	own.out = malloc(bytes);
	own.in = malloc(NEIGHBORS * bytes);
	if (!own.out || !own.in)
		fail("no memory");
	own.out_at = FJMPI_Rdma_reg_mem(OUT, own.out, bytes);
	if (own.out_at == FJMPI_RDMA_ERROR ||
	    FJMPI_Rdma_reg_mem(IN, own.in, NEIGHBORS * bytes) ==
		    FJMPI_RDMA_ERROR)
		fail("memory is not registered");
	for (int n = 0; n < NEIGHBORS; n++)
		do {
			own.neighbor[n].in = FJMPI_Rdma_get_remote_addr(
				own.neighbor[n].to, IN);
		} while (own.neighbor[n].in == FJMPI_RDMA_ERROR);
}

/* ---- An exchange ---- */

/* Segments differ by a word at most, and the longer ones come first. */
static size_t segment_of(size_t words, int segments, int segment, size_t *first)
{
	size_t even = words / (size_t)segments, at = (size_t)segment;
	size_t longer = words % (size_t)segments;

	*first = at * even + (at < longer ? at : longer);
	return even + (at < longer);
}

static void put(const struct way *way, int i, size_t words, struct count *count)
{
	int n = i % NEIGHBORS, nic = i % NICS;
	size_t first;
	size_t length = segment_of(words, way->segments, i / NEIGHBORS, &first);
	uint64_t there = ((size_t)n * own.room + first) * sizeof(*own.in);

	if (FJMPI_Rdma_put(own.neighbor[n].to, n, own.neighbor[n].in + there,
			   own.out_at + first * sizeof(*own.out),
			   length * sizeof(*own.out),
			   nics[nic] | FJMPI_RDMA_REMOTE_NOTICE))
		fail("a put is refused");
	count->posted[nic]++;
}

static void poll(int nic, struct count *count)
{
	switch (FJMPI_Rdma_poll_cq(polled[nic], NULL)) {
	case FJMPI_RDMA_NOTICE:
		count->ended[nic]++;
		break;
	case FJMPI_RDMA_HALFWAY_NOTICE:
		count->arrived++;
		break;
	case 0:
		break;
	default:
		fail("a put failed");
	}
}

static void exchange(const struct way *way, size_t words)
{
	struct count count = { .arrived = 0 };
	int i = 0;

	for (int step = 0; step < way->steps; step++) {
		for (int end = i + way->puts; i < end; i++)
			put(way, i, words, &count);
		for (int nic = 0; nic < NICS; nic++)
			while (count.ended[nic] < count.posted[nic])
				poll(nic, &count);
	}
	/* As many come as go. */
	while (count.arrived < i)
		for (int nic = 0; nic < NICS; nic++)
			poll(nic, &count);
}

/* ---- Data: of a word, its sender and the exchange ---- */

static uint32_t word_of(size_t at, int rank, uint32_t seed)
{
	return (uint32_t)at * 2654435761U + (uint32_t)rank * 40503U +
	       seed * 2246822519U;
}

static void fill(size_t words, uint32_t seed)
{
	for (size_t i = 0; i < words; i++)
		own.out[i] = word_of(i, own.rank, seed);
}

static bool is_right(size_t words, uint32_t seed)
{
	for (int n = 0; n < NEIGHBORS; n++)
		for (size_t i = 0; i < words; i++)
			if (own.in[(size_t)n * own.room + i] !=
			    word_of(i, own.neighbor[n].from, seed))
				return false;
	return true;
}

/* ---- Measurements ---- */

/* Return: seconds of an exchange on this rank, on average; *right: its data */
static double run(const struct way *way, size_t words, bool *right)
{
	static uint32_t seed;
	double sum = 0;

	for (int round = -WARMUP; round < ROUNDS; round++) {
		double began;

		fill(words, ++seed);
		MPI_Barrier(MPI_COMM_WORLD);
		began = MPI_Wtime();
		exchange(way, words);
		if (round >= 0)
			sum += MPI_Wtime() - began;
		*right &= is_right(words, seed);
	}
	return sum / ROUNDS;
}

static int gcd(int a, int b)
{
	return b ? gcd(b, a % b) : a;
}

static int size_test(size_t bytes, int number)
{
	const int common = gcd(NEIGHBORS, NICS);
	const struct way ways[] = {
		{ "native", 1, 1, NEIGHBORS },
		{ "in segments", NICS / common, NEIGHBORS / common, NICS },
	};
	bool right = true;
	double us[2], mine;
	int wrong, any;

	for (int i = 0; i < 2; i++) {
		mine = run(&ways[i], bytes / BYTES_UNIT, &right) * 1e6;
		MPI_Allreduce(&mine, &us[i], 1, MPI_DOUBLE, MPI_MAX,
			      MPI_COMM_WORLD);
	}
	wrong = !right;
	MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (own.rank)
		return any;
	printf("# %zu bytes: %.3f us %s, %.3f us %s\n", bytes, us[0],
	       ways[0].name, us[1], ways[1].name);
	printf("%sok %d %zu bytes to each of %d neighbours\n",
	       any ? "not " : "", number, bytes, NEIGHBORS);
	fflush(stdout);
	return any;
}

static size_t size_of(const char *text)
{
	char *end;
	unsigned long size = strtoul(text, &end, 10);

	if (*end || !size || size > BYTES_MAX || size % BYTES_UNIT)
		fail("a size is no multiple of 4, up to 16777212");
	return size;
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "4",     "1028",	 "16384",
					     "65540", "262144" };
	const char *const *sizes = usual;
	int count = sizeof(usual) / sizeof(usual[0]), failed = 0;
	size_t most = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
	if (argc > 1) {
		sizes = (const char *const *)argv + 1;
		count = argc - 1;
	}
	for (int i = 0; i < count; i++)
		most = size_of(sizes[i]) > most ? size_of(sizes[i]) : most;
	if (FJMPI_Rdma_init())
		fail("the interconnect cannot be used");
	neighbors_find();
	memory_make(most);
	if (!own.rank)
		printf("TAP version 13\n1..%d\n", count);
	for (int i = 0; i < count; i++)
		failed |= size_test(size_of(sizes[i]), i + 1);
	failed |= FJMPI_Rdma_dereg_mem(OUT) || FJMPI_Rdma_dereg_mem(IN) ||
		  FJMPI_Rdma_finalize();
	free(own.out);
	free(own.in);
	MPI_Finalize();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
