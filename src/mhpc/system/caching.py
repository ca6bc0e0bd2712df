"""Properties that are computed once, without a lock."""

import functools
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


class cached_property(functools.cached_property[T], Generic[T]):  # noqa: N801 - as in functools
    """A property that is computed when it is first read, and then remembered.

    That of functools has one lock for all objects of a class before Python 3.12: while a thread
    computes the property of one object, others wait for that of another, and a process that is
    forked at that moment waits forever. Here, threads that read a property at the same time may all
    compute it; what the first has computed is remembered, and all of them get that.

    Examples
    --------
    >>> class Circle:
    ...     radius = 2
    ...
    ...     @cached_property
    ...     def diameter(self) -> int:
    ...         return 2 * self.radius
    >>> Circle().diameter
    4
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> "cached_property[T]": ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...

    def __get__(
        self, instance: object | None, owner: type[Any] | None = None
    ) -> "cached_property[T] | T":
        if instance is None:
            return self
        # Data are frozen, so that attributes cannot be set; Python looks here first the next time.
        value: T = instance.__dict__.setdefault(cast(str, self.attrname), self.func(instance))
        return value
