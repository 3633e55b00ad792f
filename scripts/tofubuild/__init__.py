# SPDX-License-Identifier: MIT
"""What scripts/build-qemu and scripts/build-guest have in common."""
