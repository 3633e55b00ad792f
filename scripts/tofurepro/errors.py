# SPDX-License-Identifier: MIT
"""What goes wrong in a way that a person has to read."""


class ReproError(Exception):
    """Its text is the message; repro ends with 1."""
