# SPDX-License-Identifier: MIT
"""A cluster of small virtual machines: see Documentation/cluster.rst."""
