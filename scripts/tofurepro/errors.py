# SPDX-License-Identifier: MIT
"""The one exception whose text is for the user."""


class ReproError(Exception):
    """An error with a message; repro ends with 1."""
