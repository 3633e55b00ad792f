# SPDX-License-Identifier: MIT
"""What tofu-trace makes of the traces of a machine in virtual time."""
