// SPDX-License-Identifier: MIT
/* Neighbours in a grid of processes. */
#include <tofu/neighbor.h>

#include <stdbool.h>

static bool grid_exists(const struct tofu_grid *grid, uint64_t *ranks)
{
	if (!grid->dims || grid->dims > TOFU_GRID_DIMS_MAX ||
	    grid->periodic >> grid->dims)
		return false;
	*ranks = 1;
	for (unsigned int d = 0; d < grid->dims; d++) {
		*ranks *= grid->size[d];
		if (!*ranks || *ranks > UINT32_MAX)
			return false;
	}
	return true;
}

/* Distance in ranks of a step along a dimension */
static unsigned int grid_stride(const struct tofu_grid *grid,
				unsigned int dimension)
{
	unsigned int stride = 1;

	for (unsigned int d = dimension + 1; d < grid->dims; d++)
		stride *= grid->size[d];
	return stride;
}

int tofu_grid_neighbor(const struct tofu_grid *grid, unsigned int rank,
		       unsigned int direction, unsigned int *neighbor,
		       unsigned int *back)
{
	unsigned int d = direction / 2, size, stride, at, end, to;
	bool down = direction % 2;
	uint64_t ranks;

	if (!grid || !neighbor || !back)
		return UTOFU_ERR_INVALID_POINTER;
	if (!grid_exists(grid, &ranks))
		return UTOFU_ERR_INVALID_SIZE;
	if (rank >= ranks || d >= grid->dims)
		return UTOFU_ERR_INVALID_NUMBER;
	size = grid->size[d];
	stride = grid_stride(grid, d);
	at = rank / stride % size;
	end = down ? 0 : size - 1;
	if (at == end && !(grid->periodic >> d & 1))
		return UTOFU_ERR_NOT_FOUND;
	if (at == end)
		to = size - 1 - end;
	else
		to = down ? at - 1 : at + 1;
	*neighbor = rank - at * stride + to * stride;
	*back = direction ^ 1;
	return UTOFU_SUCCESS;
}
