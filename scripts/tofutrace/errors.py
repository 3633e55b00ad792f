# SPDX-License-Identifier: MIT
"""The one exception whose text is for the user."""


class TraceError(Exception):
    """An error that the user can understand and act on."""
