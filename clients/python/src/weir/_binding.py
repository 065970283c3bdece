# SPDX-License-Identifier: MIT
"""How a payload becomes the arguments of a handler.

An object becomes keyword arguments, anything else the only argument. A handler whose only parameter
is called `payload` gets an object as it is. What does not fit is a permanent failure that names the
argument: another attempt would not fit either.
"""

from __future__ import annotations

import inspect
import typing
from typing import Any, Callable, Dict, List, Optional, Tuple

from .errors import Permanent

# What JSON can be, by annotation. A bool is an int in Python, but not in JSON.
PLAIN_TYPES: Dict[Any, Tuple[type, ...]] = {
    str: (str,), int: (int,), float: (int, float), bool: (bool,),
    list: (list,), dict: (dict,), type(None): (type(None),),
}
NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false",
         list: "an array", dict: "an object", type(None): "null"}


class Binding:
    """The parameters of one handler."""

    def __init__(self, function: Callable[..., Any], kind: str, job_type: type) -> None:
        self._kind = kind
        self.takes_job = False
        self._names: List[str] = []
        self._required: List[str] = []
        self._takes_rest = False
        hints = _hints(function)
        for index, parameter in enumerate(inspect.signature(function).parameters.values()):
            hint = hints.get(parameter.name, parameter.annotation)
            if index == 0 and (parameter.name == "job" or hint is job_type):
                self.takes_job = True
            elif parameter.kind is parameter.VAR_KEYWORD:
                self._takes_rest = True
            elif parameter.kind is parameter.VAR_POSITIONAL:
                continue
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                raise TypeError(f"task {kind!r}: parameter {parameter.name!r} is positional-only, "
                                "so no member of a payload can become it")
            else:
                self._names.append(parameter.name)
                if parameter.default is parameter.empty:
                    self._required.append(parameter.name)
        self._checks = {name: allowed for name in self._names
                        if (allowed := _allowed(hints.get(name))) is not None}
        self._known = frozenset(self._names)
        self._least = frozenset(self._required)
        only = self._names[0] if len(self._names) == 1 and not self._takes_rest else None
        self._only = only
        self._takes_object = only == "payload"

    def arguments(self, payload: Any) -> Dict[str, Any]:
        """Keyword arguments; raises Permanent where the payload does not fit."""
        if type(payload) is dict and not self._takes_object:
            given = payload.keys()
            if not (given <= self._known or self._takes_rest) or not self._least <= given:
                self._refuse(payload)
            arguments = payload
        elif self._only is not None and not (payload is None and not self._required):
            arguments = {self._only: payload}
        elif payload is None and not self._required:
            return {}
        else:
            raise Permanent(f"{self._kind}: the payload is {_described(payload)}, expected an "
                            f"object with {', '.join(self._names) or 'no members'}")
        for name, (types, expected) in self._checks.items():
            if name in arguments:
                value = arguments[name]
                if not isinstance(value, types) or (type(value) is bool and bool not in types):
                    raise Permanent(f"{self._kind}: argument '{name}' is {_described(value)}, "
                                    f"expected {expected}")
        return arguments

    def _refuse(self, payload: Dict[str, Any]) -> None:
        for name in self._required:
            if name not in payload:
                raise Permanent(f"{self._kind}: argument '{name}' is missing from the payload")
        unknown = next(name for name in payload if name not in self._known)
        raise Permanent(f"{self._kind}: the payload has '{unknown}', which is no argument; "
                        f"expected {', '.join(self._names) or 'none'}")


def _hints(function: Callable[..., Any]) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except Exception:  # a name that only type checkers import: then types are not checked
        return {}


def _allowed(hint: Any) -> Optional[Tuple[Tuple[type, ...], str]]:
    """The types that a value may have, and their names; None where that is not checked."""
    if hint is None:
        return None
    origin = typing.get_origin(hint)
    options = typing.get_args(hint) if origin is typing.Union or _is_union(hint) else (hint,)
    plain: List[type] = []
    for option in options:
        option = typing.get_origin(option) or option
        if option not in PLAIN_TYPES:
            return None
        plain.append(option)
    types = tuple({each for option in plain for each in PLAIN_TYPES[option]})
    return types, " or ".join(NAMES[option] for option in plain)


def _is_union(hint: Any) -> bool:
    """`int | None` of Python 3.10."""
    return type(hint).__name__ == "UnionType"


def _described(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return NAMES.get(type(value), type(value).__name__)
