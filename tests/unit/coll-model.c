// SPDX-License-Identifier: MIT
#include "harness.h"

#include <math.h>

#include <tofu/model.h>

static const uint32_t published[] = { 8, 6, 8 };

static struct tofu_model_machine machine_of(const char *name)
{
	struct tofu_model_machine machine;

	if (tofu_model_machine(name, &machine))
		abort();
	return machine;
}

/* With as many digits as the published table has */
static const char *scientific(double value, char text[32])
{
	snprintf(text, 32, "%.3e", value);
	return text;
}

#define EXPECT_LINE(fit, b, half, t0)                                     \
	do {                                                              \
		char text_[32];                                           \
									  \
		EXPECT_STREQ(b, scientific((fit).b_mbs, text_));          \
		EXPECT_STREQ(half, scientific((fit).half_bytes, text_));  \
		EXPECT_STREQ(t0, scientific((fit).t0_us, text_));         \
	} while (0)

TEST(pingpong_as_published)
{
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_fit fit;

	ASSERT_TRUE(tofu_model_pingpong_us(&k, 0, &fit) > 0);
	EXPECT_LINE(fit, "4.500e+03", "3.134e+04", "6.965e+00");
}

TEST(bcast_as_published)
{
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_fit fit;

	ASSERT_TRUE(tofu_model_bcast_us(&k, published, 0, 1, 0, &fit) > 0);
	EXPECT_LINE(fit, "4.500e+03", "9.078e+06", "2.017e+03");
	ASSERT_TRUE(tofu_model_bcast_us(&k, published, 0, 2, 0, &fit) > 0);
	EXPECT_LINE(fit, "9.000e+03", "3.344e+06", "3.716e+02");
	ASSERT_TRUE(tofu_model_bcast_us(&k, published, 0, 3, 0, &fit) > 0);
	EXPECT_LINE(fit, "1.350e+04", "1.550e+06", "1.148e+02");
}

/* The two axes that the published shape of two routes has */
TEST(bcast_on_two_axes)
{
	static const uint32_t plane[] = { 64, 6, 1 };
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_fit fit;

	ASSERT_TRUE(tofu_model_bcast_us(&k, plane, 16384, 2, 0, &fit) > 0);
	EXPECT_LINE(fit, "9.000e+03", "3.344e+06", "3.716e+02");
}

TEST(allreduce_as_published)
{
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_allreduce parts;
	struct tofu_model_fit fit;

	ASSERT_TRUE(tofu_model_allreduce_us(&k, published, 0, 3, 0, &fit,
					    &parts) > 0);
	EXPECT_LINE(fit, "6.306e+03", "1.350e+06", "4.282e+02");
	EXPECT_LINE(parts.bcast, "1.350e+04", "1.550e+06", "1.148e+02");
	/* 1 / (1 / Tc + 1 / (3 m / L)) */
	EXPECT_LINE(parts.reduce, "4.114e+03", "1.289e+06", "3.134e+02");
}

TEST(allgather_as_published)
{
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_allgather lines;

	ASSERT_TRUE(tofu_model_allgather_us(&k, published, 0, 0, &lines) > 0);
	EXPECT_LINE(lines.short_blocks, "1.920e+06", "7.669e+06", "1.534e+03");
	EXPECT_LINE(lines.long_blocks, "1.504e+04", "9.470e+03", "2.418e+02");
	EXPECT_EQ(51000, (int)round(lines.equal_bytes));
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

/* What is returned is what the line says, on both sides of where two meet. */
TEST(times_are_those_of_the_lines)
{
	struct tofu_model_machine k = machine_of("k");
	struct tofu_model_allgather lines;
	struct tofu_model_fit fit;
	const size_t m = 1000000;
	double us;

	us = tofu_model_pingpong_us(&k, m, &fit);
	EXPECT_TRUE(near(us, fit.t0_us + (double)m / fit.b_mbs));
	us = tofu_model_bcast_us(&k, published, 0, 3, m, &fit);
	EXPECT_TRUE(near(us, fit.t0_us + (double)m / fit.b_mbs));
	us = tofu_model_allreduce_us(&k, published, 0, 3, m, &fit, NULL);
	EXPECT_TRUE(near(us, fit.t0_us + 2 * (double)m / fit.b_mbs));
	us = tofu_model_allgather_us(&k, published, 0, 50000, &lines);
	EXPECT_TRUE(near(us, lines.short_blocks.t0_us +
				     384 * 50000 / lines.short_blocks.b_mbs));
	us = tofu_model_allgather_us(&k, published, 0, 52000, &lines);
	EXPECT_TRUE(near(us, lines.long_blocks.t0_us +
				     384 * 52000 / lines.long_blocks.b_mbs));
}

/* ---- Machines ---- */

TEST(machines)
{
	struct tofu_model_machine machine = machine_of("fx10");

	EXPECT_EQ(4500, (int)machine.link_mbs);
	EXPECT_EQ(61000, (int)machine.memory_mbs);
	machine = machine_of("fx100");
	EXPECT_EQ(11460, (int)machine.link_mbs);
	machine = machine_of("fugaku");
	EXPECT_EQ(6, machine.engines);
	EXPECT_EQ(6350, (int)machine.link_mbs);
	EXPECT_EQ(38100, (int)machine.node_mbs);
	EXPECT_EQ(448, (int)round(1000 * machine.hardware_us));
	EXPECT_EQ(UTOFU_ERR_NOT_FOUND, tofu_model_machine("x", &machine));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_model_machine(NULL, &machine));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_model_machine("k", NULL));
}

/* Six routes in both directions of three axes, three on four engines */
TEST(six_engines_have_six_routes)
{
	struct tofu_model_machine machine = machine_of("fugaku");
	double six, four;

	six = tofu_model_coll_us(&machine, TOFU_COLL_BCAST,
				 TOFU_COLL_PIPELINED, published, 100000000,
				 65536, 0, 0);
	four = tofu_model_coll_us(&machine, TOFU_COLL_BCAST,
				  TOFU_COLL_PIPELINED, published, 100000000,
				  65536, 4, 0);
	EXPECT_TRUE(four > 1.9 * six && four < 2 * six);
}

/* A processor that starts six engines for short segments has no time for more. */
TEST(short_segments_keep_the_processor_busy)
{
	struct tofu_model_machine machine = machine_of("fugaku");
	const size_t bytes = 1000000000, segment = 4096;
	double us = tofu_model_coll_us(&machine, TOFU_COLL_BCAST,
				       TOFU_COLL_PIPELINED, published, bytes,
				       segment, 0, 6);
	double starts_us = machine.forward_us * bytes / segment;

	EXPECT_TRUE(us > starts_us && us < 1.01 * starts_us);
}

/* ---- All kinds and algorithms ---- */

static const uint32_t shapes[][TOFU_COLL_AXES] = {
	{ 1, 1, 1 },	{ 1, 1, 2 },   { 1, 5, 1 },	{ 2, 2, 2 },
	{ 3, 5, 7 },	{ 8, 6, 8 },   { 1, 64, 6 },	{ 48, 54, 32 },
	{ 1, 1, 97 },	{ 384, 1, 1 }, { 65535, 257, 255 },
};

static bool exists(unsigned int kind, unsigned int algorithm)
{
	static const unsigned int of[TOFU_COLL_KINDS] = {
		[TOFU_COLL_BARRIER] = 1U << TOFU_COLL_GATES |
				      1U << TOFU_COLL_DISSEMINATION,
		[TOFU_COLL_BCAST] = 1U << TOFU_COLL_PIPELINED |
				    1U << TOFU_COLL_SESSION |
				    1U << TOFU_COLL_BINOMIAL,
		[TOFU_COLL_REDUCE] = 1U << TOFU_COLL_PIPELINED |
				     1U << TOFU_COLL_BINOMIAL,
		[TOFU_COLL_ALLREDUCE] = 1U << TOFU_COLL_GATES |
					1U << TOFU_COLL_PIPELINED |
					1U << TOFU_COLL_STREAMED |
					1U << TOFU_COLL_DOUBLING |
					1U << TOFU_COLL_HALVING |
					1U << TOFU_COLL_RING,
		[TOFU_COLL_GATHER] = 1U << TOFU_COLL_BINOMIAL |
				     1U << TOFU_COLL_DIRECT,
		[TOFU_COLL_SCATTER] = 1U << TOFU_COLL_BINOMIAL |
				      1U << TOFU_COLL_DIRECT,
		[TOFU_COLL_ALLGATHER] = 1U << TOFU_COLL_RING |
					1U << TOFU_COLL_MULTIRING |
					1U << TOFU_COLL_DOUBLING |
					1U << TOFU_COLL_DIRECT |
					1U << TOFU_COLL_BRUCK,
		[TOFU_COLL_REDUCE_SCATTER] = 1U << TOFU_COLL_RING |
					     1U << TOFU_COLL_HALVING,
		[TOFU_COLL_ALLTOALL] = 1U << TOFU_COLL_BRUCK |
				       1U << TOFU_COLL_DIRECT,
	};

	return of[kind] >> algorithm & 1;
}

/* Around the bounds of segments and of gates, and from one extreme to another */
static const size_t sizes[] = {
	0,     1,      2,      7,      8,	47,	48,	49,   1000,
	16383, 16384,  16385,  49151,  49152,	49153,	51000,	65536, 98303,
	98304, 131072, 262144, 999999, 1000000, 1 << 24, 1 << 30, SIZE_MAX,
};

/* Return: the first size that takes less than the one before, or a bad time. */
static int disorder(const struct tofu_model_machine *machine, unsigned int kind,
		    unsigned int algorithm, const uint32_t shape[],
		    unsigned int engines, unsigned int routes)
{
	double last = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const double us = tofu_model_coll_us(
			machine, (enum tofu_coll_kind)kind,
			(enum tofu_coll_algorithm)algorithm, shape, sizes[i], 0,
			engines, routes);

		if (!isfinite(us) || us < last * (1 - 1e-12))
			return (int)i;
		last = us;
	}
	return -1;
}

static int disorder_of_all(const struct tofu_model_machine *machine,
			   unsigned int kind, unsigned int algorithm,
			   const uint32_t shape[])
{
	for (unsigned int engines = 0; engines <= 6; engines += 2)
		for (unsigned int routes = 0; routes <= 6; routes++) {
			const int bad = disorder(machine, kind, algorithm,
						 shape, engines, routes);

			if (bad >= 0)
				return bad;
		}
	return -1;
}

TEST(more_bytes_never_take_less)
{
	static const char *const names[] = { "k", "fx10", "fx100", "fugaku" };

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		struct tofu_model_machine machine = machine_of(names[n]);

		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			for (unsigned int kind = 0; kind < TOFU_COLL_KINDS; kind++)
				for (unsigned int a = 0; a < TOFU_COLL_ALGORITHMS; a++)
					if (exists(kind, a))
						ASSERT_EQ(-1, disorder_of_all(
							&machine, kind, a, shapes[s]))
							TH_LOG("%s, shape %zu, kind %u, algorithm %u",
							       names[n], s, kind, a);
	}
}

TEST(algorithms_that_do_not_exist)
{
	struct tofu_model_machine k = machine_of("k");

	for (unsigned int kind = 0; kind <= TOFU_COLL_KINDS; kind++)
		for (unsigned int a = 0; a <= TOFU_COLL_ALGORITHMS; a++) {
			const bool there = kind < TOFU_COLL_KINDS &&
					   a < TOFU_COLL_ALGORITHMS &&
					   exists(kind, a);

			EXPECT_EQ(there, tofu_model_coll_us(&k, kind, a,
							    published, 8, 0, 0,
							    0) >= 0);
		}
}

/* Long messages are those of the published lines, where a processor is quick. */
TEST(the_published_formulas_are_in_it)
{
	struct tofu_model_machine k = machine_of("k");
	const size_t m = 1 << 20;

	k.forward_us = k.software_us;

	EXPECT_TRUE(near(tofu_model_bcast_us(&k, published, 0, 3, m, NULL),
			 tofu_model_coll_us(&k, TOFU_COLL_BCAST,
					    TOFU_COLL_PIPELINED, published, m,
					    0, 0, 0)));
	EXPECT_TRUE(near(tofu_model_allreduce_us(&k, published, 0, 3, m, NULL,
						 NULL),
			 tofu_model_coll_us(&k, TOFU_COLL_ALLREDUCE,
					    TOFU_COLL_PIPELINED, published, m,
					    0, 0, 0)));
	EXPECT_TRUE(near(tofu_model_allgather_us(&k, published, 0, m, NULL),
			 tofu_model_coll_us(&k, TOFU_COLL_ALLGATHER,
					    TOFU_COLL_MULTIRING, published, m,
					    0, 0, 0)));
}

static double doubling_us(const uint32_t size[], size_t bytes)
{
	struct tofu_model_machine k = machine_of("k");

	return tofu_model_coll_us(&k, TOFU_COLL_ALLREDUCE, TOFU_COLL_DOUBLING,
				  size, bytes, 0, 0, 0);
}

/* Members that are far from each other share links. */
TEST(doubling_depends_on_the_shape)
{
	static const uint32_t ring[] = { 1, 1, 64 }, cube[] = { 4, 4, 4 };
	/* 1 + 2 + 4 + 8 + 16 + 32 messages on a link, and 3 (1 + 2) */
	const double difference = (63.0 - 9.0) * 1000000 / 4500;

	EXPECT_TRUE(near(doubling_us(ring, 1000000) - doubling_us(ring, 0) -
				 doubling_us(cube, 1000000) + doubling_us(cube, 0),
			 difference));
}

TEST(what_no_formula_takes)
{
	static const uint32_t none[] = { 8, 0, 8 }, one[] = { 1, 1, 1 },
			      many[] = { 65536, 65536, 1 };
	struct tofu_model_machine k = machine_of("k"), odd = k;

	EXPECT_TRUE(tofu_model_bcast_us(&k, one, 0, 1, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_bcast_us(&k, none, 0, 1, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_bcast_us(&k, many, 0, 1, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_bcast_us(&k, NULL, 0, 1, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_bcast_us(&k, published, 0, 7, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_allreduce_us(&k, one, 0, 3, 8, NULL, NULL) < 0);
	EXPECT_TRUE(tofu_model_allgather_us(&k, one, 0, 8, NULL) < 0);
	EXPECT_TRUE(tofu_model_pingpong_us(NULL, 8, NULL) < 0);
	odd.memory_mbs = 2 * odd.node_mbs;
	EXPECT_TRUE(tofu_model_pingpong_us(&odd, 8, NULL) < 0);
	odd = k;
	odd.link_mbs = NAN;
	EXPECT_TRUE(tofu_model_pingpong_us(&odd, 8, NULL) < 0);
	odd.link_mbs = INFINITY;
	EXPECT_TRUE(tofu_model_pingpong_us(&odd, 8, NULL) < 0);
}

/* ---- Fits ---- */

#define PAIRS 24

/* Doubling sizes from 1 KiB, and times of a line, each wrong by @noise or less */
static void pairs_make(double bytes[PAIRS], double us[PAIRS], double noise)
{
	uint64_t state = 1;

	for (int i = 0; i < PAIRS; i++) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		bytes[i] = (double)(1024ULL << i);
		us[i] = (428.2 + 2 * bytes[i] / 6306) *
			(1 + noise * ((double)(state >> 40) / (1 << 23) - 1));
	}
}

TEST(a_line_is_found_again)
{
	double bytes[PAIRS], us[PAIRS];
	struct tofu_model_fit fit;

	pairs_make(bytes, us, 0);
	ASSERT_EQ(0, tofu_model_fit(bytes, us, PAIRS, 2, &fit));
	EXPECT_TRUE(fabs(fit.b_mbs / 6306 - 1) < 1e-9);
	EXPECT_TRUE(fabs(fit.t0_us / 428.2 - 1) < 1e-6);
	EXPECT_TRUE(fabs(fit.half_bytes / (6306 * 428.2 / 2) - 1) < 1e-6);
	ASSERT_EQ(0, tofu_model_fit(bytes, us, 2, 2, &fit));
	EXPECT_TRUE(fabs(fit.b_mbs / 6306 - 1) < 1e-9);
}

/* Up to 1 MiB: the noise of longer times is as long as t0 itself. */
TEST(a_line_is_found_in_noise)
{
	double bytes[PAIRS], us[PAIRS];
	struct tofu_model_fit fit;

	pairs_make(bytes, us, 0.01);
	ASSERT_EQ(0, tofu_model_fit(bytes, us, 11, 2, &fit));
	EXPECT_TRUE(fabs(fit.b_mbs / 6306 - 1) < 0.02);
	EXPECT_TRUE(fabs(fit.t0_us / 428.2 - 1) < 0.02);
	EXPECT_TRUE(fabs(fit.half_bytes / (6306 * 428.2 / 2) - 1) < 0.03);
}

TEST(what_cannot_be_fitted)
{
	double bytes[] = { 100, 200, 300 }, us[] = { 1, 2, 3 };
	const double same[] = { 5, 5, 5 }, falling[] = { 3, 2, 1 };
	struct tofu_model_fit fit;

	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_model_fit(NULL, us, 3, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_model_fit(bytes, NULL, 3, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_model_fit(bytes, us, 3, 1, NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_model_fit(bytes, us, 1, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER,
		  tofu_model_fit(bytes, us, 0, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_ARG, tofu_model_fit(bytes, us, 3, 0, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_ARG,
		  tofu_model_fit(bytes, us, 3, NAN, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_SIZE,
		  tofu_model_fit(same, us, 3, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_DATA,
		  tofu_model_fit(bytes, falling, 3, 1, &fit));
	EXPECT_EQ(UTOFU_ERR_INVALID_DATA,
		  tofu_model_fit(bytes, same, 3, 1, &fit));
	us[1] = NAN;
	EXPECT_EQ(UTOFU_ERR_INVALID_ARG, tofu_model_fit(bytes, us, 3, 1, &fit));
	us[1] = INFINITY;
	EXPECT_EQ(UTOFU_ERR_INVALID_ARG, tofu_model_fit(bytes, us, 3, 1, &fit));
	us[1] = -1;
	EXPECT_EQ(UTOFU_ERR_INVALID_ARG, tofu_model_fit(bytes, us, 3, 1, &fit));
}

TEST_HARNESS_MAIN
