# SPDX-License-Identifier: MIT
"""What a case asks."""

from mpi4py import MPI


def short(value):
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f"got {short(got)}, not {short(wanted)}")


def raises(error_class, function, *args):
    """The call ends with an MPI error of this class."""
    try:
        function(*args)
    except MPI.Exception as error:
        equal(error.Get_error_class(), error_class)
    else:
        raise AssertionError(f"{function.__name__} did not fail")
