# SPDX-License-Identifier: MIT
#
# For which machine programs are built, and with what. CROSS_COMPILE is the
# prefix of another machine's tools, such as aarch64-linux-gnu-; each tool can be
# named by itself, too: CC=clang.
#
# EMULATOR is the command that runs the other machine's programs here, if there
# is one: qemu-aarch64 -L /usr/aarch64-linux-gnu

CROSS_COMPILE ?=
EMULATOR ?=
# What is built for another machine has a folder of its own: build/$(TARGET)
TARGET := $(patsubst %-,%,$(notdir $(CROSS_COMPILE)))

# make has names of its own for some of them, which '?=' would leave.
toolchain = $(if $(filter default undefined,$(origin $(1))),$(eval $(1) := $(CROSS_COMPILE)$(2)))
$(call toolchain,CC,$(if $(CROSS_COMPILE),gcc,cc))
$(call toolchain,CXX,$(if $(CROSS_COMPILE),g++,c++))
$(call toolchain,LD,ld)
$(call toolchain,AR,ar)
$(call toolchain,OBJCOPY,objcopy)
# It is told where to look, wherever it is used.
PKG_CONFIG ?= pkg-config
