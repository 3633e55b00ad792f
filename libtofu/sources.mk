# SPDX-License-Identifier: MIT
#
# Which sources the library and its tools consist of, relative to the top of the
# tree. TOP is set by whoever includes this.

# The controller's: QEMU's build reads the same list.
CONTROLLER := $(addprefix qemu-device/,$(file <$(TOP)/qemu-device/sources))
LIBRARY := $(addprefix libtofu/src/,$(file <$(TOP)/libtofu/sources))

# A tool is a folder, and common/ is what tools share.
in_folder = $(sort $(patsubst $(TOP)/%,%,$(wildcard $(TOP)/$(1)/*.c)))
tool_sources = $(call in_folder,libtofu/tools/$(1))
COMMON_SOURCES := $(call in_folder,libtofu/tools/common)
TOOL_NAMES := run halo p2p perf coll info fabric bridge sched model
