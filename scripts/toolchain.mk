# SPDX-License-Identifier: MIT
#
# The target machine, and its tools. CROSS_COMPILE is the prefix of another
# machine's tools, such as aarch64-linux-gnu-; each tool can also be named
# separately: CC=clang.
#
# EMULATOR is the command that runs the other machine's programs here, if there
# is one: qemu-aarch64 -L /usr/aarch64-linux-gnu

CROSS_COMPILE ?=
EMULATOR ?=
# Builds for another machine have a separate folder: build/$(TARGET)
TARGET := $(patsubst %-,%,$(notdir $(CROSS_COMPILE)))

# make has defaults for some of them, which '?=' would keep.
toolchain = $(if $(filter default undefined,$(origin $(1))),$(eval $(1) := $(CROSS_COMPILE)$(2)))
$(call toolchain,CC,$(if $(CROSS_COMPILE),gcc,cc))
$(call toolchain,CXX,$(if $(CROSS_COMPILE),g++,c++))
$(call toolchain,LD,ld)
$(call toolchain,AR,ar)
$(call toolchain,OBJCOPY,objcopy)
# Every use says where to look.
PKG_CONFIG ?= pkg-config
