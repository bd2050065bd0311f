"""Converts JSON of the server to dataclasses. Unknown fields are ignored."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def decode(kind: type[T], data: Mapping[str, Any]) -> T:
    """An instance of the dataclass `kind`. The field `from_` is `from` in JSON, a Python keyword."""
    return kind(**fields_of(kind, data))


def fields_of(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the fields of `kind` that `data` has."""
    found = ((name, name.removesuffix("_"), hint) for name, hint in _fields(kind))
    return {name: _value(hint, data[key]) for name, key, hint in found if key in data}


def encode(value: object) -> dict[str, Any]:
    """The reverse of `decode` for a flat dataclass; fields that are None are left out."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{value!r} is not a dataclass")
    fields = ((field.name.removesuffix("_"), getattr(value, field.name)) for field in dataclasses.fields(value))
    return {name: field for name, field in fields if field is not None}


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (field.name, hints[field.name]) for field in dataclasses.fields(kind) if not field.name.startswith("_")
    )


def _value(hint: Any, data: Any) -> Any:
    if data is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):
        return _value(next(part for part in get_args(hint) if part is not type(None)), data)
    if get_origin(hint) is tuple:
        return tuple(_value(get_args(hint)[0], part) for part in data)
    if hint is datetime:
        # Before Python 3.11, fromisoformat does not accept the Z.
        return datetime.fromisoformat(data.replace("Z", "+00:00"))
    return decode(hint, data) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else data
