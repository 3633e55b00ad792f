// SPDX-License-Identifier: MIT
/* How the members of a group lie, and rings that visit them all. */
#include "coll/plan.h"

void coll_at(const struct coll_torus *torus, uint32_t number,
	     uint32_t at[TOFU_COLL_AXES])
{
	for (int i = TOFU_COLL_AXES - 1; i >= 0; i--) {
		at[i] = number % torus->size[i];
		number /= torus->size[i];
	}
}

uint32_t coll_number(const struct coll_torus *torus,
		     const uint32_t at[TOFU_COLL_AXES])
{
	uint32_t number = 0;

	for (int i = 0; i < TOFU_COLL_AXES; i++)
		number = number * torus->size[i] + at[i];
	return number;
}

unsigned int coll_axes(const struct coll_torus *torus)
{
	unsigned int axes = 0;

	for (int i = 0; i < TOFU_COLL_AXES; i++)
		axes += torus->size[i] > 1;
	return axes;
}

/* ---- A ring through a plane ---- */

/*
 * Up along the first column, then back to and fro through what is left of the
 * rows. With an even number of rows the end is beside the beginning; with an
 * odd one it is at the other end of the row, which is beside it in a torus.
 */
uint32_t coll_snake(uint32_t rows, uint32_t columns, uint32_t row,
		    uint32_t column)
{
	uint32_t back, along;

	if (!column)
		return row;
	back = rows - 1 - row;
	along = back % 2 ? columns - 1 - column : column - 1;
	return rows + back * (columns - 1) + along;
}

void coll_snake_at(uint32_t rows, uint32_t columns, uint32_t place,
		   uint32_t *row, uint32_t *column)
{
	uint32_t back, along;

	if (place < rows) {
		*row = place;
		*column = 0;
		return;
	}
	back = (place - rows) / (columns - 1);
	along = (place - rows) % (columns - 1);
	*row = rows - 1 - back;
	*column = back % 2 ? columns - 1 - along : 1 + along;
}

/* ---- Folding ---- */

/*
 * The last axis is folded into the first, so that of 8x6x8 members 64x6 are
 * left, and then 384.
 */
static void fold_last(struct coll_fold *fold)
{
	unsigned int last = --fold->axes;
	unsigned int parts = 0;

	while (fold->part[0][parts] >= 0)
		parts++;
	fold->part[0][parts] = fold->part[last][0];
	fold->part[last][0] = -1;
	fold->size[0] *= fold->size[last];
	fold->size[last] = 1;
}

struct coll_fold coll_fold(const struct coll_torus *torus, unsigned int axes)
{
	struct coll_fold fold = { .torus = *torus };

	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		fold.size[i] = 1;
		for (int j = 0; j < TOFU_COLL_AXES; j++)
			fold.part[i][j] = -1;
	}
	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		if (torus->size[i] == 1)
			continue;
		fold.part[fold.axes][0] = i;
		fold.size[fold.axes++] = torus->size[i];
	}
	if (!fold.axes) {
		fold.part[0][0] = 0;
		fold.axes = 1;
	}
	while (fold.axes > axes)
		fold_last(&fold);
	return fold;
}

void coll_fold_at(const struct coll_fold *fold, uint32_t number,
		  uint32_t at[TOFU_COLL_AXES])
{
	uint32_t in[TOFU_COLL_AXES];

	coll_at(&fold->torus, number, in);
	for (unsigned int i = 0; i < fold->axes; i++) {
		const int *part = fold->part[i];
		uint32_t size = fold->torus.size[part[0]];

		at[i] = in[part[0]];
		for (unsigned int j = 1;
		     j < TOFU_COLL_AXES && part[j] >= 0; j++) {
			uint32_t columns = fold->torus.size[part[j]];

			at[i] = coll_snake(size, columns, at[i], in[part[j]]);
			size *= columns;
		}
	}
}

/* The levels of folding are undone from the last to the first. */
static void axis_unfold(const struct coll_fold *fold, const int *part,
			uint32_t place, uint32_t in[TOFU_COLL_AXES])
{
	uint32_t size = fold->torus.size[part[0]];
	unsigned int parts = 1;

	while (parts < TOFU_COLL_AXES && part[parts] >= 0)
		size *= fold->torus.size[part[parts++]];
	while (--parts) {
		uint32_t columns = fold->torus.size[part[parts]];
		uint32_t row;

		size /= columns;
		coll_snake_at(size, columns, place, &row, &in[part[parts]]);
		place = row;
	}
	in[part[0]] = place;
}

uint32_t coll_fold_number(const struct coll_fold *fold,
			  const uint32_t at[TOFU_COLL_AXES])
{
	uint32_t in[TOFU_COLL_AXES] = { 0 };

	for (unsigned int i = 0; i < fold->axes; i++)
		axis_unfold(fold, fold->part[i], at[i], in);
	return coll_number(&fold->torus, in);
}
