/* SPDX-License-Identifier: MIT */
#include "fold.h"

/*
 * Distance from a long axis to the short axis of its pair, in the list of axes
 */
#define SHORT_AXIS 3

/* A node on a pair of axes */
struct place {
	int along; /* the long axis, a torus */
	int across; /* the short axis: a line of 1 or 2, or a ring of 3 */
};

/*
 * With one or two lines along the long axis the ring goes out on the first and
 * back on the second. With three it visits the three nodes across at each place
 * along, and then steps on. It can go up or down across, so it enters the next
 * place one lower or one higher than it entered this one. Alternating, it is
 * back where it began after an even number of places. For an odd number it
 * first goes up three times, which adds up to no change.
 */
#define ACROSS_RING 3

static bool goes_up(int length, int along)
{
	int straight = length % 2 ? 3 : 0;

	return along < straight || (along - straight) % 2 == 0;
}

static int entry(int length, int along)
{
	int straight = length % 2 ? 3 : 0;

	if (along < straight)
		return (ACROSS_RING - along) % ACROSS_RING;
	return goes_up(length, along) ? 0 : ACROSS_RING - 1;
}

static int ring_position(int length, int width, struct place at)
{
	int step;

	if (width < ACROSS_RING)
		return at.across ? 2 * length - 1 - at.along : at.along;
	step = at.across - entry(length, at.along);
	if (!goes_up(length, at.along))
		step = -step;
	return at.along * ACROSS_RING + (step + ACROSS_RING) % ACROSS_RING;
}

static struct place ring_place(int length, int width, int position)
{
	struct place at = { .along = position };
	int step = position % ACROSS_RING;

	if (width < ACROSS_RING) {
		if (position >= length)
			at = (struct place){ 2 * length - 1 - position, 1 };
		return at;
	}
	at.along = position / ACROSS_RING;
	if (!goes_up(length, at.along))
		step = ACROSS_RING - step;
	at.across = (entry(length, at.along) + step) % ACROSS_RING;
	return at;
}

int fjmpi_fold_shape(const uint16_t machine[FJMPI_MACHINE_AXES],
		     int logical[FJMPI_LOGICAL_AXES])
{
	int dimensions = 1;

	for (int i = 0; i < FJMPI_LOGICAL_AXES; i++) {
		logical[i] = machine[i] * machine[i + SHORT_AXIS];
		if (logical[i] > 1)
			dimensions = i + 1;
	}
	return dimensions;
}

void fjmpi_fold_logical(const uint16_t machine[FJMPI_MACHINE_AXES],
			const uint8_t coords[FJMPI_MACHINE_AXES],
			int logical[FJMPI_LOGICAL_AXES])
{
	for (int i = 0; i < FJMPI_LOGICAL_AXES; i++)
		logical[i] = ring_position(machine[i], machine[i + SHORT_AXIS],
					   (struct place){
						   coords[i],
						   coords[i + SHORT_AXIS] });
}

bool fjmpi_fold_machine(const uint16_t machine[FJMPI_MACHINE_AXES],
			const int logical[FJMPI_LOGICAL_AXES],
			uint8_t coords[FJMPI_MACHINE_AXES])
{
	int size[FJMPI_LOGICAL_AXES];

	fjmpi_fold_shape(machine, size);
	for (int i = 0; i < FJMPI_LOGICAL_AXES; i++)
		if (logical[i] < 0 || logical[i] >= size[i])
			return false;
	for (int i = 0; i < FJMPI_LOGICAL_AXES; i++) {
		struct place at = ring_place(
			machine[i], machine[i + SHORT_AXIS], logical[i]);

		coords[i] = (uint8_t)at.along;
		coords[i + SHORT_AXIS] = (uint8_t)at.across;
	}
	return true;
}
