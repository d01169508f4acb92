"""Calls as methods of a client. What a call sends is written once; one client waits for it, the other awaits it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from rankfall.client.call import Call

P = ParamSpec("P")
T = TypeVar("T")


def blocking(make: Callable[P, Call[T]]) -> Callable[Concatenate[Any, P], T]:
    """A method of `Client` that makes the call and waits for its result."""

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._run(make(*args, **kwargs))
        return result

    return _described(method, make)


def awaiting(make: Callable[P, Call[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """A method of `AsyncClient` that makes the call and awaits its result."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = await self._run(make(*args, **kwargs))
        return result

    return _described(method, make)


M = TypeVar("M", bound=Callable[..., Any])


def _described(method: M, make: Callable[..., Any]) -> M:
    """Let ``help`` show what ``make`` says, and its arguments after ``self``."""
    update_wrapper(method, make)
    signature = inspect.signature(make)
    self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [self, *signature.parameters.values()]
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=inspect.Signature.empty
    )
    return method
