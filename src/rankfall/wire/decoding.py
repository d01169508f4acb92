"""From JSON or plain values to the shapes of the wire; whatever does not fit is an error that says where and why."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import inspect

from rankfall.errors import QUOTED, InvalidError
from rankfall.wire.fields import FieldError

T = TypeVar("T")

_PATH = re.compile(r" - at `(?:key` in `)?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_NO_SUCH_VALUE = re.compile(r"Invalid value .*")
_NOT_ONE_OF = re.compile(r"Invalid enum value (.*)")


def decode(kind: type[T], body: bytes, root: str = "body") -> T:
    """The value of type ``kind`` that the JSON in ``body`` says.

    >>> from rankfall.wire import RankRequest
    >>> decode(RankRequest, b'{"k": 3}').k
    3
    >>> decode(RankRequest, b'{"k": 0}')
    Traceback (most recent call last):
    rankfall.errors.InvalidError: body.k: expected `int` >= 1, got 0
    """
    try:
        return _decoder(kind).decode(body)
    except msgspec.ValidationError as problem:
        _refuse(problem, kind, root, _parsed(body))
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        value = _parsed(body)
        if value is None:
            raise InvalidError(f"{root}: this is not JSON: {problem}", code="bad_request", status=400) from None
        try:  # Python's parser takes NaN and half characters; some type may refuse them, and then says where
            msgspec.convert(value, kind)
        except msgspec.ValidationError as where:
            _refuse(where, kind, root, value)
        raise InvalidError(f"{root}: {problem}", where=root) from None


def convert(kind: type[T], value: Any, root: str = "", *, strict: bool = True) -> T:
    """The value of type ``kind`` that plain values say: mappings, lists, text, numbers.

    Unless ``strict``, text is taken for the number it shows, as in the query of an address.
    """
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as problem:
        _refuse(problem, kind, root, value)


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return None


def _refuse(problem: msgspec.ValidationError, kind: Any, root: str, value: Any) -> NoReturn:
    message = str(problem)
    found = _PATH.search(message)
    steps = [] if found is None else [name or place for name, place in _STEP.findall(found["path"])]
    message = message if found is None else message[: found.start()]
    if isinstance(problem.__cause__, FieldError):
        steps += [name or place for name, place in _STEP.findall(f".{problem.__cause__.field}")]
    elif unknown := _UNKNOWN.fullmatch(message):
        message = f"unknown field; the fields are {', '.join(_fields(_type_at(kind, steps, value)))}"
        steps.append(unknown[1])
    elif missing := _MISSING.fullmatch(message):
        message = "this field is required"
        steps.append(missing[1])
    elif given := _NOT_ONE_OF.fullmatch(message):
        message = f"expected one of {', '.join(_words(_type_at(kind, steps, value)))}, got {given[1][:QUOTED]}"
    elif _NO_SUCH_VALUE.fullmatch(message) and (tags := _tags(_type_at(kind, steps[:-1], value), steps)):
        message = f"expected one of {', '.join(tags)}{_got(value, steps)}"
    else:
        message = message[0].lower() + message[1:]
        if ", got " not in message:
            message += _got(value, steps)
    where = ".".join(part[:QUOTED] for part in [root, *steps] if part not in ("", "..."))
    raise InvalidError(f"{where}: {message}" if where else message, where=where or None) from None


def _got(value: Any, steps: list[str]) -> str:
    """The value that was refused, if it is short enough to show."""
    try:
        for step in steps:
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (LookupError, ValueError, TypeError):  # within a mapping: which of its values is not told
        return ""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return f", got {text}" if len(text) <= 60 else ""


def _type_at(kind: Any, steps: list[str], value: Any) -> list[inspect.Type]:
    """The types that a value at this path may have; of shapes that are told apart by a field, the one that is given."""
    types = _tagged(_alternatives(inspect.type_info(kind)), value)
    for step in steps:
        with suppress(LookupError, ValueError, TypeError):
            value = value[int(step)] if isinstance(value, list) else value[step]
        below: list[inspect.Type] = []
        for one in types:
            if isinstance(one, inspect.StructType):
                below += [field.type for field in one.fields if field.encode_name == step]
            elif isinstance(one, inspect.ListType):
                below.append(one.item_type)
            elif isinstance(one, inspect.DictType):
                below.append(one.value_type)
        types = _tagged([each for one in below for each in _alternatives(one)], value)
    return types


def _tags(types: list[inspect.Type], steps: list[str]) -> list[str]:
    """The tags of these shapes, if the path leads to the field that tells them apart."""
    return [str(one.tag) for one in types if isinstance(one, inspect.StructType) and [one.tag_field] == steps[-1:]]


def _tagged(types: list[inspect.Type], value: Any) -> list[inspect.Type]:
    """The types whose tag a value has, if it has the tag of one."""
    found: list[inspect.Type] = [
        one
        for one in types
        if isinstance(one, inspect.StructType) and isinstance(value, dict) and value.get(one.tag_field) == one.tag
    ]
    return found or types


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [each for one in kind.types for each in _alternatives(one)]
    return [kind]


def _fields(types: list[inspect.Type]) -> list[str]:
    return [field.encode_name for one in types if isinstance(one, inspect.StructType) for field in one.fields]


def _words(types: list[inspect.Type]) -> list[str]:
    return [str(word) for one in types if isinstance(one, inspect.LiteralType) for word in one.values]
