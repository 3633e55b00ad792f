# SPDX-License-Identifier: MIT
#
# Every target of the project; `make help` lists them. Each part has a
# Makefile or a script of its own that does the work.

blank = $(filter-out 1,$(words $(subst :, ,$(1))))
ifneq ($(call blank,$(CURDIR)),)
$(error '$(CURDIR)' has a blank or a colon, which make cannot handle: move the checkout to a path without them)
endif
include scripts/toolchain.mk
O ?= build$(TARGET:%=/%)
ifneq ($(call blank,$(O)),)
$(error O='$(O)' has a blank or a colon, which make cannot handle: give a path without them)
endif
override O := $(abspath $(O))
export O

ifneq ($(V),1)
MAKEFLAGS += --no-print-directory
endif

.DEFAULT_GOAL := all
.PHONY: all help qemu guest driver lib examples demo check check-unit check-build \
	check-conformance check-sim check-faults check-faults-vm check-hosts check-qtest \
	check-sanitize check-thread fuzz check-fjmpi check-mpi check-mpich check-cluster check-kvm check-kernel check-arm64 \
	kernel-debug driver-debug check-long soak check-short check-trixie \
	check-bookworm check-deb tests bench \
	repro lint docs install uninstall deb clean

help: ## this text
	@sed -n 's/^\([a-z0-9-]*\):.*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | \
		expand -t 18
	@echo "Variables: O=FOLDER (build output, now $(O)), V=1, PREFIX, DESTDIR, CROSS_COMPILE"

all: lib examples driver qemu guest ## build everything

# ---- What a cluster is made of ----

lib: ## libtofu and its tools
	@scripts/setup lib
	@$(MAKE) -C libtofu O=$(O) all

# What a user has: the installed tree, and nothing of this one.
STAGE := $(O)/stage

examples: lib ## programs to learn from, built as a user's are
	@$(MAKE) -C libtofu O=$(O) PREFIX=$(STAGE) DESTDIR= install >/dev/null
	@$(MAKE) -C libtofu/examples OUT=$(O)/examples CC='$(CC)' \
		PKG_CONFIG_PATH=$(STAGE)/lib/pkgconfig

driver: ## tofu.ko, for the guests' kernel
	@scripts/setup driver
	@$(MAKE) -C driver O=$(O) KDIR=$$(scripts/build-guest --print-kdir)

qemu: ## QEMU with the device, outside the checkout
	@scripts/build-qemu >/dev/null

guest: driver lib ## kernel and initramfs of the guests
	@scripts/build-guest >/dev/null

# Kernels that find errors of the driver; its module for each has a folder of its
# own. KERNELS=debug is one of them.
KERNELS ?= debug kcsan

kernel-debug: ## kernels with KASAN, lockdep, kmemleak, failures on demand; with KCSAN
	@for kernel in $(KERNELS); do \
		scripts/build-guest --kernel $$kernel --print-kdir >/dev/null || exit; \
	done

driver-debug: kernel-debug ## tofu.ko for those kernels
	@for kernel in $(KERNELS); do \
		$(MAKE) -C driver O=$(O)/kernel-$$kernel \
			KDIR=$$(scripts/build-guest --kernel $$kernel --print-kdir) || exit; \
	done

demo: lib driver ## boot a cluster of four and exchange halos
	@scripts/demo

# ---- Tests ----

# Sanitizers do not run in an emulated program.
ARM64 := CROSS_COMPILE=aarch64-linux-gnu- EMULATOR='$(abspath tests/arm64/emulate)'

tests: lib ## build the programs of the tests
	@scripts/setup test repro
	@$(MAKE) -C tests/unit O=$(O) all
	@$(MAKE) -C tests/kselftest O=$(O) all
	@$(MAKE) -C tests/cluster O=$(O) all
	@$(MAKE) -C tests/conformance O=$(O) all
	@$(MAKE) -C libtofu/fjmpi O=$(O) all
	@$(MAKE) -C tests/fjmpi O=$(O) all
	@$(MAKE) -C libtofu O=$(O) all
	@$(MAKE) -C tests/mpi O=$(O) all
	@$(MAKE) -C tests/hosts O=$(O) all

check: all tests ## all tests; ends in 'N passed, N failed'
	@scripts/check unit build conformance sim faults hosts qtest fuzz fjmpi mpi cluster

check-unit: lib ## model, fabric and library, with sanitizers
	@$(MAKE) -C tests/unit O=$(O) all
	@$(MAKE) -C tests/cluster O=$(O) emu
	@scripts/check unit

check-build: lib examples ## headers, layouts, symbols, lint
	@scripts/setup test repro
	@scripts/check build

check-conformance: tests ## what programs rely on, on machines of processes
	@scripts/check conformance

check-sim: tests ## tofu-sim, and what programs rely on, on its machines
	@scripts/check sim

check-faults: tests ## processes under load that are killed, stopped, replaced; full disks
	@scripts/check faults

check-faults-vm: all tests ## virtual machines that are stopped, and lose their driver, under load
	@scripts/check faults-vm

check-hosts: all tests ## processes, MPI programs and virtual machines over hosts that are namespaces; as root
	@scripts/check hosts-all

check-qtest: qemu ## registers and rings of the device
	@scripts/check qtest

check-sanitize: qemu ## check-qtest with ASan and UBSan in QEMU, which clang builds first (minutes)
	@scripts/check sanitize

check-thread: lib ## unit tests that have threads, with ThreadSanitizer
	@$(MAKE) -C tests/unit O=$(O)/thread THREADS=1 all
	@scripts/check thread

fuzz: lib ## the device under random accesses and memory, for SECONDS_ (120), by QEMU's fuzzer; a node whose peer lies in virtual time
	@$(MAKE) -C tests/unit O=$(O) $(O)/tests/unit/virtual-fuzz
	@$(O)/tests/unit/virtual-fuzz 20000
	@tests/fuzz/device $(SECONDS_)

check-fjmpi: tests ## FJMPI_* on four ranks, with each MPI that is here
	@scripts/check fjmpi

check-mpi: tests ## messages through libfabric, and through Open MPI over it
	@scripts/check mpi

check-mpich: tests ## MPICH's own tests, of Open MPI and of an MPICH over Tofu (an hour)
	@scripts/setup suite
	@scripts/check mpich

check-cluster: all tests ## virtual machines
	@scripts/check cluster

check-kvm: all tests ## virtual machines under KVM, where it runs a guest
	@scripts/check kvm

check-kernel: all tests driver-debug ## virtual machines with those kernels: no report, no leak; an hour
	@KERNELS='$(KERNELS)' scripts/check kernel

check-arm64: lib ## library, tools and unit tests for arm64, run by qemu-aarch64
	@scripts/setup arm64
	@$(MAKE) -C libtofu O=$(O)/arm64 $(ARM64) all
	@$(MAKE) -C tests/unit O=$(O)/arm64 $(ARM64) SANITIZE= all
	@$(MAKE) -C tests/cluster O=$(O)/arm64 $(ARM64) emu
	@scripts/check arm64

check-long: all tests ## what takes minutes: all claims by four processes on each of four guests, and in virtual time, on guests and on machines of tofu-sim; 10^7 records of 64 senders into one ring
	@scripts/check long

RECORDS ?= 100000000
soak: tests ## RECORDS (10^8) through shared receive buffers, all verified; memory does not grow
	@tests/soak/run $(RECORDS)

check-short: lib driver qemu ## device, module, unit tests: what another system would fail at
	@$(MAKE) -C tests/unit O=$(O) all
	@scripts/check unit qtest

check-trixie: ## demo and all tests in a chroot of Debian 13; as root
	@scripts/setup chroot
	@scripts/check-in-chroot trixie

check-bookworm: ## demo and all tests in a chroot of Debian 12; as root
	@scripts/setup chroot
	@scripts/check-in-chroot bookworm

check-deb: ## packages, in clean chroots of Debian 12 and 13 or of SUITE; as root
	@scripts/setup chroot
	@SUITE='$(SUITE)' scripts/check deb

lint: ## style of the sources
	@scripts/setup test
	@scripts/lint

# ---- The rest ----

bench: all tests ## speed, beside Soft-RoCE and memcpy in the same run; of virtual time; of schedules; of simulations; of collectives and MPI, beside Open MPI
	@scripts/setup bench
	@tests/bench/run
	@tests/bench/virtual
	@tests/bench/rsched
	@tests/bench/sim
	@tests/bench/coll
	@tests/bench/mpi
	@tests/bench/hosts
	@tests/bench/hosts --vms

repro: all ## tables, plots and a page of what is measured in virtual time
	@scripts/setup repro
	@scripts/repro

docs: ## HTML of Documentation/
	@scripts/setup docs
	@sphinx-build -q -W -b html Documentation $(O)/docs
	@echo $(O)/docs/index.html

install: lib ## library, headers, tools, man pages, examples; PREFIX, DESTDIR
	@$(MAKE) -C libtofu O=$(O) install

uninstall: ## what install has put there; PREFIX, DESTDIR
	@$(MAKE) -C libtofu O=$(O) uninstall

deb: ## Debian packages, in deb/ of the build folder
	@scripts/build-deb

clean: ## remove the build output, not the cache
	@rm -rf $(O)
