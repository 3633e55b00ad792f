/* SPDX-License-Identifier: MIT */
/*
 * FJMPI_Topology for Fortran, under the names that compilers make of it: lower
 * case, with a trailing underscore. All arguments are addresses, and the last
 * one takes the return value.
 */
#include <mpi.h>
#include <mpi-ext.h>

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "an INTEGER is an int");

#pragma GCC visibility push(default)

void fjmpi_topology_get_dimension_(int *size, int *ierr)
{
	*ierr = FJMPI_Topology_get_dimension(size);
}

void fjmpi_topology_get_shape_(int *x, int *y, int *z, int *ierr)
{
	*ierr = FJMPI_Topology_get_shape(x, y, z);
}

void fjmpi_topology_get_coords_(MPI_Fint *comm, int *rank, int *view,
				int *maxdims, int coords[], int *ierr)
{
	*ierr = FJMPI_Topology_get_coords(MPI_Comm_f2c(*comm), *rank, *view,
					  *maxdims, coords);
}

void fjmpi_topology_get_ranks_(MPI_Fint *comm, int *view, int coords[],
			       int *maxppn, int *outppn, int ranks[], int *ierr)
{
	*ierr = FJMPI_Topology_get_ranks(MPI_Comm_f2c(*comm), *view, coords,
					 *maxppn, outppn, ranks);
}

void fjmpi_topology_rank2x_(int *rank, int *x, int *ierr)
{
	*ierr = FJMPI_Topology_rank2x(*rank, x);
}

void fjmpi_topology_rank2xy_(int *rank, int *x, int *y, int *ierr)
{
	*ierr = FJMPI_Topology_rank2xy(*rank, x, y);
}

void fjmpi_topology_rank2xyz_(int *rank, int *x, int *y, int *z, int *ierr)
{
	*ierr = FJMPI_Topology_rank2xyz(*rank, x, y, z);
}

void fjmpi_topology_x2rank_(int *x, int *rank, int *ierr)
{
	*ierr = FJMPI_Topology_x2rank(*x, rank);
}

void fjmpi_topology_xy2rank_(int *x, int *y, int *rank, int *ierr)
{
	*ierr = FJMPI_Topology_xy2rank(*x, *y, rank);
}

void fjmpi_topology_xyz2rank_(int *x, int *y, int *z, int *rank, int *ierr)
{
	*ierr = FJMPI_Topology_xyz2rank(*x, *y, *z, rank);
}

void fjmpi_topology_sys_rank2xyzabc_(int *rank, int *x, int *y, int *z, int *a,
				     int *b, int *c, int *ierr)
{
	*ierr = FJMPI_Topology_sys_rank2xyzabc(*rank, x, y, z, a, b, c);
}

void fjmpi_topology_rel_rank2xyzabc_(int *rank, int *x, int *y, int *z, int *a,
				     int *b, int *c, int *ierr)
{
	*ierr = FJMPI_Topology_rel_rank2xyzabc(*rank, x, y, z, a, b, c);
}

#pragma GCC visibility pop
