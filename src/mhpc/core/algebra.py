"""Linear algebra that gives the same bits however many cores there are.

BLAS divides sums by the number of its threads, and rounds them accordingly. With one thread it
does not; cores are kept busy by blocks of instances instead, which are always the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let every call of BLAS and LAPACK take one thread meanwhile, whatever the environment says.

    Libraries that cannot be told, as Apple's, keep their own way.
    """
    # Both bring a library of their own, and only those that are loaded can be told.
    import numpy as np
    import scipy.linalg
    from threadpoolctl import threadpool_limits

    del np, scipy
    with threadpool_limits(limits=1, user_api="blas"):
        yield
