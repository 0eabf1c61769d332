"""Python's cyclic garbage collector, kept out of the way where a batch makes a million objects.

None of them is part of a cycle, yet each generation's collection looks at all of them: a quarter
of the time of a large batch. Reference counting goes on meanwhile.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch the collector off, and on again if it was on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
