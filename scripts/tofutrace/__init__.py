# SPDX-License-Identifier: MIT
"""The commands of tofu-trace, on traces of a machine in virtual time."""
