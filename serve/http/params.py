"""Reads a request's parameters by their declarations, and reports every broken one at once."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl

from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.errors import ApiError
from schemas.parameters import CURSOR, TICKERS, Parameter, ParameterKind
from serve.http.unknown_params import unknown

_INTEGER: Final = re.compile(r"-?[0-9]{1,20}\Z")
_NUMBER: Final = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TICKERS: Final = re.compile(rf"(?:{TICKERS})\Z")
_CURSOR: Final = re.compile(rf"{CURSOR}\Z")
_BOOLEANS: Final = {"1": True, "true": True, "0": False, "false": False}
_CASELESS: Final = frozenset({"direction"})
"""Choices whose letter case does not count; the others are the exact words of a vocabulary."""

ParameterReader = Callable[[Parameter, str], Any]
"""Reads a parameter's text; None, or Broken with the reason, when it breaks the rule."""
Values = Mapping[str, Any]
"""Parameter name -> value, defaults filled in. Every declared parameter that is not forbidden is there."""


_MAX_REQUESTS: Final = 4096
"""Requests whose parsing is remembered: the same page is often asked for again."""
_MAX_REQUEST_BYTES: Final = 512
"""Bytes of a request's path and query up to which that is done, so that what is remembered stays small."""
_MAX_QUERIES: Final = 8
"""Queries remembered of one request, by the snapshot and the view of the key."""


class ParsedQuery:
    """A request that keeps every rule, without who asks it.

    Parameters
    ----------
    values
        Its parameters, read; shared between requests, so never to be changed.
    """

    __slots__ = ("queries", "values")

    def __init__(self, values: Values) -> None:
        self.values = values
        self.queries: dict[Hashable, tuple[Any, str]] = {}
        """What is asked of a snapshot, and the tag of that, by all that they depend on besides."""

    def remember(self, view: Hashable, query: Any, tag: str) -> None:
        """Remember what is asked, for the next request like this."""
        if len(self.queries) >= _MAX_QUERIES:
            self.queries.clear()
        self.queries[view] = query, tag


class Broken(ValueError):
    """A text that does not keep its parameter's rule."""


def query_pairs(query_string: bytes) -> list[tuple[str, str]]:
    """Split a query string into decoded pairs, in the order given.

    Bytes that are not UTF-8 become replacement characters, which no rule accepts and no name holds.
    """
    if b"%" in query_string or b"+" in query_string or not query_string.isascii():
        return parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, errors="replace")
    # Nothing to decode, as in most: the same by half of the way.
    parts = [part.partition("=") for part in query_string.decode("ascii").split("&") if part]
    return [(name, text) for name, _, text in parts]


def parse_query(endpoint: Endpoint, path: Mapping[str, str], query_string: bytes) -> ParsedQuery:
    """Read a request's parameters; a pure function, so that what is remembered is never out of date.

    Parameters
    ----------
    path
        Text of the path's placeholders, decoded.
    query_string
        As received.

    Raises
    ------
    ApiError
        As :func:`parse`.
    """
    if len(query_string) + sum(map(len, path.values())) > _MAX_REQUEST_BYTES:
        return ParsedQuery(parse(endpoint, path, query_pairs(query_string)))
    return _remembered(endpoint.id, tuple(path.items()), query_string)


@lru_cache(_MAX_REQUESTS)
def _remembered(endpoint_id: str, path: tuple[tuple[str, str], ...], query_string: bytes) -> ParsedQuery:
    return ParsedQuery(parse(ENDPOINTS[endpoint_id], dict(path), query_pairs(query_string)))


def parse(endpoint: Endpoint, path: Mapping[str, str], query: Sequence[tuple[str, str]]) -> Values:
    """Read all parameters of a request.

    Parameters
    ----------
    endpoint
        Whose declarations hold.
    path
        Text of the path's placeholders, decoded.
    query
        Decoded pairs of the query string.

    Returns
    -------
    Values
        Typed by the parameter's kind: int, float, bool, str, date, or a sorted tuple of tickers.

    Raises
    ------
    ApiError
        ``bad_request`` whose details list every parameter that breaks a rule, with the rule, and every name that the
        endpoint does not know, with the nearest one it does.
    """
    values = _read_all(_declared(endpoint.id), path, query)
    return read_one_by_one(endpoint, path, query) if values is None else values


@dataclass(frozen=True, slots=True)
class _Declared:
    """The parameters of an endpoint, laid out for reading them.

    Attributes
    ----------
    defaults
        What those are that a request need not name.
    of_path, of_query
        Name -> parameter and its reader.
    required
        Names the query string must hold.
    ranges
        Pairs of names of which the first must not be above the second.
    """

    defaults: Mapping[str, Any]
    of_path: tuple[tuple[str, Parameter, ParameterReader], ...]
    of_query: Mapping[str, tuple[Parameter, ParameterReader]]
    required: frozenset[str]
    ranges: tuple[tuple[str, str], ...]


@cache
def _declared(endpoint_id: str) -> _Declared:
    parameters = ENDPOINTS[endpoint_id].parameters
    in_query = [x for x in parameters if not x.in_path]
    return _Declared(
        {x.name: x.default for x in in_query if not x.required and x.kind is not ParameterKind.FORBIDDEN},
        tuple((x.name, x, _READERS[x.kind]) for x in parameters if x.in_path),
        {x.name: (x, _READERS[x.kind]) for x in in_query},
        frozenset(x.name for x in in_query if x.required),
        _ranges([x.name for x in in_query]),
    )


def _ranges(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs among names that end in `from` and `to`, or begin with `min_` and `max_`."""
    days = [(name, f"{name.removesuffix('from')}to") for name in names if name.endswith("from")]
    bounds = [(name, f"max_{name.removeprefix('min_')}") for name in names if name.startswith("min_")]
    return tuple(pair for pair in (*days, *bounds) if pair[1] in names)


def _read_all(
    declared: _Declared, path: Mapping[str, str], query: Sequence[tuple[str, str]]
) -> dict[str, Any] | None:
    """Read the parameters of a request that keeps every rule; None when it breaks any."""
    values = dict(declared.defaults)
    given = set()
    try:
        for name, parameter, read in declared.of_path:
            if (value := read(parameter, path[name])) is None:
                return None
            values[name] = value
        for name, text in query:
            known = declared.of_query.get(name)
            if known is None or name in given or (value := known[1](known[0], text)) is None:
                return None
            given.add(name)
            values[name] = value
    except Broken:
        return None
    return values if given >= declared.required and not _out_of_order(declared, values) else None


def _out_of_order(declared: _Declared, values: Values) -> list[tuple[str, str]]:
    return [
        (first, last)
        for first, last in declared.ranges
        if (low := values.get(first)) is not None and (high := values.get(last)) is not None and low > high
    ]


def read_one_by_one(endpoint: Endpoint, path: Mapping[str, str], query: Sequence[tuple[str, str]]) -> Values:
    """Read every parameter by itself, so that the refusal names every broken one."""
    given: dict[str, list[str]] = {}
    for name, text in query:
        given.setdefault(name, []).append(text)
    values: dict[str, Any] = {}
    broken: list[dict[str, str]] = []
    for parameter in endpoint.parameters:
        texts = [path[parameter.name]] if parameter.in_path else given.get(parameter.name, [])
        try:
            if parameter.kind is not ParameterKind.FORBIDDEN or texts:
                values[parameter.name] = _one(parameter, texts)
        except Broken as error:
            broken.append({"name": parameter.name, "constraint": str(error)})
    for first, last in _out_of_order(_declared(endpoint.id), values):
        rule = "a day not after" if isinstance(values[first], dt.date) else "a number not above"
        broken.append({"name": first, "constraint": f"{rule} `{last}`"})
    broken += unknown(endpoint, given)
    if broken:
        raise refusal(broken)
    return values


def refusal(broken: Sequence[Mapping[str, str]]) -> ApiError:
    """Return the one 400 that names every broken parameter."""
    names = ", ".join(dict.fromkeys(entry["name"] for entry in broken))
    plural = "s" if len(broken) > 1 else ""
    return ApiError("bad_request", f"Invalid parameter{plural}: {names}.", {"parameters": list(broken)})


def _one(parameter: Parameter, texts: Sequence[str]) -> Any:
    if len(texts) > 1:
        raise Broken("given once at most")
    if not texts:
        if parameter.required:
            raise Broken(f"required: {parameter.constraint}")
        return parameter.default
    value = _READERS[parameter.kind](parameter, texts[0])
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
    return _BOOLEANS.get(text)


def _choice(parameter: Parameter, text: str) -> str | None:
    wanted = text.lower() if parameter.name in _CASELESS else text
    return next((value for word, value in parameter.choices if word == wanted), None)


def _names(parameter: Parameter, text: str) -> tuple[str, ...] | None:
    values = dict(parameter.choices)
    found = dict.fromkeys(values.get(word, "") for word in text.split(","))
    return None if "" in found else tuple(found)


def _tickers(_: Parameter, text: str) -> tuple[str, ...] | None:
    # Sorted and without repeats, so that two ways to ask the same question have one ETag.
    return tuple(sorted({name.strip() for name in text.split(",")})) if _TICKERS.match(text) else None


def _alphas(parameter: Parameter, text: str) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in text.split(",")) if _lists(parameter.pattern).match(text) else None


@cache
def _lists(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}\Z")


def _cursor(_: Parameter, text: str) -> str | None:
    return text if _CURSOR.match(text) else None


def _text(_: Parameter, text: str) -> str:
    return text


def _forbidden(parameter: Parameter, _: str) -> None:
    raise Broken(parameter.constraint)


_READERS: Final[dict[ParameterKind, ParameterReader]] = {
    ParameterKind.INTEGER: _integer,
    ParameterKind.NUMBER: _number,
    ParameterKind.DATE: _day,
    ParameterKind.BOOLEAN: _boolean,
    ParameterKind.CHOICE: _choice,
    ParameterKind.NAMES: _names,
    ParameterKind.CURSOR: _cursor,
    ParameterKind.TEXT: _text,
    ParameterKind.SYMBOLS: _tickers,
    ParameterKind.ALPHAS: _alphas,
    ParameterKind.BOOK: _text,
    ParameterKind.FORBIDDEN: _forbidden,
}
