# SPDX-License-Identifier: MIT
"""Tests that run on clusters of virtual machines; see run-all."""
