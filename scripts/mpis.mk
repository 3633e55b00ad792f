# SPDX-License-Identifier: MIT
#
# Which MPIs are here, for makefiles that build something for each: MPIS, their
# names, DEFAULT, that of mpicc, and $(call mpicc,NAME), its compiler.
#
# Debian has several MPIs side by side, with compilers mpicc.<name>; if there is
# only an mpicc, its MPI is called "mpi".

# The MPIs of another machine are unknown.
ifeq ($(CROSS_COMPILE),)
NAMED := $(strip $(foreach m,openmpi mpich,$(if $(shell command -v mpicc.$(m)),$(m))))
COMPILER := $(shell command -v mpicc)
endif
MPIS := $(or $(NAMED),$(if $(COMPILER),mpi))
# All compilers of one MPI print the same.
same_as_mpicc = $(shell [ "$$(mpicc -show 2>&1)" = "$$(mpicc.$(1) -show 2>&1)" ] \
	&& echo $(1))
DEFAULT := $(firstword $(foreach m,$(NAMED),$(call same_as_mpicc,$(m))) $(MPIS))
mpicc = $(if $(filter mpi,$(1)),mpicc,mpicc.$(1))
