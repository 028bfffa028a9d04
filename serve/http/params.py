"""Reads the parameters of a request by their declarations, and reports all invalid ones at once."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.parameters import Parameter, ParameterKind

_INTEGER: Final = re.compile(r"-?[0-9]{1,20}\Z")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_BOOLEANS: Final = {"1": True, "true": True, "0": False, "false": False}
_CASELESS: Final = frozenset({"direction"})
"""Parameters whose choices are case-insensitive; other choices are the exact words of a vocabulary."""

_PATTERNS: Final = {
    parameter: re.compile(parameter.pattern)
    for endpoint in ENDPOINTS.values()
    for parameter in endpoint.query
    if parameter.pattern
}
"""Parameter -> the pattern that its text must match."""

ParameterReader = Callable[[Parameter, str], Any]
"""Parses a parameter's text; returns None if the text breaks the rule."""
Values = Mapping[str, Any]
"""Parameter name -> value, defaults filled in. Every declared parameter that is not forbidden is present."""


_MAX_NAMES: Final = 16
"""Maximum number of unknown names listed one by one; a query string may hold tens of thousands."""
_MAX_NAME_CHARACTERS: Final = 24
"""Maximum characters shown of an unknown name, more than any declared name has: a key put there must not appear in the answer."""


class Broken(ValueError):
    """A text breaks the rule of its parameter."""


class InvalidParameters(ApiError):
    """The ``bad_request`` of a request with invalid parameters, and the values of the valid ones."""

    def __init__(self, refused: ApiError, values: Values) -> None:
        super().__init__(refused.code, refused.message, refused.details)
        self.values = values


def parse(endpoint: Endpoint, path: Mapping[str, str], query_string: bytes) -> Values:
    """Read all parameters of a request.

    Parameters
    ----------
    endpoint
        Declares the parameters.
    path
        Values of the path's placeholders, decoded.
    query_string
        As received. Bytes that are not UTF-8 become replacement characters, which no name contains.

    Returns
    -------
    Values
        Typed by the parameter's kind: int, float, bool, str, date, or a sorted tuple of tickers.

    Raises
    ------
    InvalidParameters
        Its details list every parameter that breaks a rule, with the rule, and every unknown name, with the nearest known
        one.
    """
    text = query_string.decode("latin-1")
    texts_by_name = parse_qs(text, keep_blank_values=True, errors="replace")
    values: dict[str, Any] = {}
    broken: list[dict[str, str]] = []
    for parameter in endpoint.parameters:
        texts = [path[parameter.name]] if parameter.in_path else texts_by_name.get(parameter.name, [])
        try:
            if parameter.kind is not ParameterKind.FORBIDDEN or texts:
                values[parameter.name] = _one(parameter, texts)
        except Broken as error:
            broken.append({"name": parameter.name, "constraint": str(error)})
    for first, last in _ranges(endpoint.id):
        low, high = values.get(first), values.get(last)
        if low is not None and high is not None and low > high:
            rule = "must not be after" if isinstance(low, dt.date) else "must not exceed"
            broken.append({"name": first, "constraint": f"{rule} `{last}`"})
    broken += unknown(endpoint, texts_by_name)
    if broken:
        raise InvalidParameters(refusal(broken), values)
    return values


@cache
def _ranges(endpoint_id: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs among names that end in `from` and `to`, or begin with `min_` and `max_`."""
    names = [x.name for x in ENDPOINTS[endpoint_id].parameters if not x.in_path]
    days = [(name, f"{name.removesuffix('from')}to") for name in names if name.endswith("from")]
    bounds = [(name, f"max_{name.removeprefix('min_')}") for name in names if name.startswith("min_")]
    return tuple(pair for pair in (*days, *bounds) if pair[1] in names)


def unknown(endpoint: Endpoint, names: Iterable[str]) -> list[dict[str, str]]:
    """Return an entry for each name the endpoint does not take.

    Parameters
    ----------
    names
        Names of the query string, each once, in its order.

    Returns
    -------
    list of dict
        ``name`` and ``constraint``, and ``nearest`` if an accepted name is similar. At most 16 entries, the last of
        which also counts the rest.
    """
    declared = {x.name for x in endpoint.parameters if not x.in_path}
    rejected = [name for name in names if name not in declared]
    if not rejected:
        return []
    accepted = [
        x.name for x in endpoint.parameters if x.name in declared and x.kind is not ParameterKind.FORBIDDEN
    ]
    entries = [_entry(name, accepted) for name in rejected[:_MAX_NAMES]]
    if len(rejected) > _MAX_NAMES:
        entries[-1]["constraint"] += f"; nor are {len(rejected) - _MAX_NAMES} more"
    return entries


def _entry(name: str, accepted: list[str]) -> dict[str, str]:
    shown = name if len(name) <= _MAX_NAME_CHARACTERS else f"{name[:_MAX_NAME_CHARACTERS]}..."
    near = get_close_matches(shown.strip().lower(), accepted, n=1)
    if near:
        rule = f"not a parameter of this endpoint; did you mean `{near[0]}`?"
        return {"name": shown, "constraint": rule, "nearest": near[0]}
    rule = f"not a parameter of this endpoint, which takes {', '.join(accepted) or 'none'}"
    return {"name": shown, "constraint": rule}


def bad_request(name: str, constraint: str, **details: Any) -> ApiError:
    """Return the ``bad_request`` of one invalid parameter, with further details."""
    return refusal([{"name": name, "constraint": constraint}], **details)


def refusal(broken: Sequence[Mapping[str, str]], **details: Any) -> ApiError:
    """Return one ``bad_request`` that names every invalid parameter, with further details."""
    names = ", ".join(dict.fromkeys(entry["name"] or "one without a name" for entry in broken))
    plural = "s" if len(broken) > 1 else ""
    message = f"Invalid parameter{plural}: {names}."
    return ApiError("bad_request", message, {"parameters": list(broken), **details})


def _one(parameter: Parameter, texts: Sequence[str]) -> Any:
    if len(texts) > 1:
        raise Broken(f"must be given only once: {parameter.constraint}")
    if not texts:
        if parameter.required:
            raise Broken(f"required: {parameter.constraint}")
        return parameter.default
    pattern = _PATTERNS.get(parameter)
    matches = pattern is None or pattern.fullmatch(texts[0])
    value = _READERS[parameter.kind](parameter, texts[0]) if matches else None
    if value is None:
        raise Broken(parameter.constraint)
    return value


def _integer(parameter: Parameter, text: str) -> int | None:
    return _bounded(parameter, int(text)) if _INTEGER.match(text) else None


def _number(parameter: Parameter, text: str) -> float | None:
    value = float(text) if _NUMBER.match(text) else math.nan
    return _bounded(parameter, value) if math.isfinite(value) else None


def _bounded(parameter: Parameter, value: Any) -> Any:
    low = parameter.minimum is None or value >= parameter.minimum
    high = parameter.maximum is None or value <= parameter.maximum
    return value if low and high else None


def _day(_: Parameter, text: str) -> dt.date | None:
    if not _DATE.match(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:  # such as the 30th of February
        return None


def _boolean(_: Parameter, text: str) -> bool | None:
    return _BOOLEANS.get(text.lower())  # Python's requests sends True, and R's httr TRUE


def _choice(parameter: Parameter, text: str) -> str | None:
    wanted = text.lower() if parameter.name in _CASELESS else text
    return wanted if wanted in parameter.choices else None


def _names(_: Parameter, text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split(",")))


def _tickers(_: Parameter, text: str) -> tuple[str, ...]:
    # Sorted and unique, so that equivalent requests have the same ETag.
    return tuple(sorted({name.strip() for name in text.split(",")}))


def _alphas(_: Parameter, text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _text(parameter: Parameter, text: str) -> str | None:
    return text if len(text) >= (parameter.minimum or 0) else None


def _weights(_: Parameter, text: str) -> str | tuple[float, ...]:
    return text if text[0].isalpha() else tuple(float(x) for x in text.split(","))


_READERS: Final[dict[ParameterKind, ParameterReader]] = {
    ParameterKind.INTEGER: _integer,
    ParameterKind.NUMBER: _number,
    ParameterKind.DATE: _day,
    ParameterKind.BOOLEAN: _boolean,
    ParameterKind.CHOICE: _choice,
    ParameterKind.NAMES: _names,
    ParameterKind.CURSOR: _text,
    ParameterKind.TEXT: _text,
    ParameterKind.SYMBOLS: _tickers,
    ParameterKind.ALPHAS: _alphas,
    ParameterKind.WEIGHTS: _weights,
    ParameterKind.BOOK: _text,
    ParameterKind.FORBIDDEN: lambda *_: None,
}
