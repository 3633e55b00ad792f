! SPDX-License-Identifier: MIT
!
! FJMPI_TOPOLOGY_* from Fortran, on whatever machine TOFU_SHAPE names.

program topology
  implicit none
  include 'mpif.h'
  include 'mpif-ext.h'
  integer :: rank, ranks, dims, ierr, point
  integer :: x, y, z
  logical :: good

  point = 0
  good = .true.
  call fjmpi_topology_get_dimension(dims, ierr)
  call expect(ierr == FJMPI_ERR_TOPOLOGY_NOT_AVAILABLE)
  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  if (rank == 0) print '(a)', 'TAP version 13', '1..4'

  call fjmpi_topology_get_dimension(dims, ierr)
  call expect(ierr == FJMPI_SUCCESS .and. dims >= 1 .and. dims <= 3)
  call FJMPI_TOPOLOGY_GET_SHAPE(x, y, z, ierr)
  call expect(ierr == FJMPI_SUCCESS .and. x >= 1)
  call expect((y >= 1 .eqv. dims >= 2) .and. (z >= 1 .eqv. dims >= 3))
  call claim('the logical shape')
  call there_and_back
  call claim('coordinates lead back to their ranks')
  call as_on_k
  call claim('coordinates as on K')
  call errors
  call claim('wrong arguments')
  call MPI_FINALIZE(ierr)

contains

  subroutine expect(holds)
    logical, intent(in) :: holds

    good = good .and. holds
  end subroutine expect

  ! It holds where it does on all ranks.
  subroutine claim(text)
    character(len=*), intent(in) :: text
    logical :: all_good

    call MPI_ALLREDUCE(good, all_good, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    point = point + 1
    if (rank == 0) print '(a,i0,a,a)', trim(merge('ok     ', 'not ok ', all_good)) // ' ', &
         point, ' ', text
    good = .true.
  end subroutine claim

  subroutine there_and_back
    integer :: views(3), coords(6), found(64), outppn, i, r

    views = (/ FJMPI_LOGICAL, FJMPI_TOFU_SYS, FJMPI_TOFU_REL /)
    do i = 1, 3
       do r = 0, ranks - 1
          call fjmpi_topology_get_coords(MPI_COMM_WORLD, r, views(i), 6, coords, ierr)
          call expect(ierr == FJMPI_SUCCESS)
          call fjmpi_topology_get_ranks(MPI_COMM_WORLD, views(i), coords, 64, outppn, found, ierr)
          call expect(ierr == FJMPI_SUCCESS)
          call expect(any(found(1:outppn) == r))
       end do
    end do
  end subroutine there_and_back

  subroutine as_on_k
    integer :: sys(6), c(6), r

    call fjmpi_topology_rank2xyz(rank, x, y, z, ierr)
    call expect(ierr == FJMPI_SUCCESS)
    call fjmpi_topology_xyz2rank(x, y, z, r, ierr)
    call expect(ierr == FJMPI_SUCCESS .and. r <= rank)
    call fjmpi_topology_rank2xy(rank, x, y, ierr)
    call expect((ierr == FJMPI_SUCCESS) .eqv. (dims <= 2))
    call fjmpi_topology_xy2rank(x, y, r, ierr)
    call expect((ierr == FJMPI_SUCCESS) .eqv. (dims <= 2))
    call fjmpi_topology_rank2x(rank, x, ierr)
    call expect((ierr == FJMPI_SUCCESS) .eqv. (dims == 1))
    call fjmpi_topology_x2rank(x, r, ierr)
    call expect((ierr == FJMPI_SUCCESS) .eqv. (dims == 1))
    call fjmpi_topology_get_coords(MPI_COMM_WORLD, rank, FJMPI_TOFU_SYS, 6, sys, ierr)
    call fjmpi_topology_sys_rank2xyzabc(rank, c(1), c(2), c(3), c(4), c(5), c(6), ierr)
    call expect(ierr == FJMPI_SUCCESS .and. all(c == sys))
    call fjmpi_topology_rel_rank2xyzabc(0, c(1), c(2), c(3), c(4), c(5), c(6), ierr)
    call expect(ierr == FJMPI_SUCCESS .and. all(c == 0))
  end subroutine as_on_k

  subroutine errors
    integer :: coords(6), found(1), outppn

    call fjmpi_topology_get_coords(MPI_COMM_NULL, 0, FJMPI_LOGICAL, 3, coords, ierr)
    call expect(ierr == FJMPI_ERR_TOPOLOGY_INVALID_COMM)
    call fjmpi_topology_get_coords(MPI_COMM_WORLD, ranks, FJMPI_LOGICAL, 3, coords, ierr)
    call expect(ierr == FJMPI_ERR_TOPOLOGY_INVALID_RANK)
    coords = -1
    call fjmpi_topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, coords, 1, outppn, found, ierr)
    call expect(ierr == FJMPI_ERR_TOPOLOGY_INVALID_COORDS)
  end subroutine errors

end program topology
