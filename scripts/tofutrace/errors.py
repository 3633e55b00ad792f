# SPDX-License-Identifier: MIT
"""The one exception whose text is meant for the user."""


class TraceError(Exception):
    """Something that the user can understand and act on."""
