# SPDX-License-Identifier: MIT
"""Shared by scripts/build-qemu and scripts/build-guest."""
