"""Heads of requests, looked at before the parser sees them: bounds, and request lines it would refuse.

The parser keeps a header until it is whole, however long it grows, and answers a method it does not know or a raw byte
in the target as if the request were not HTTP. Here a head is measured while it arrives, and its request line judged by
the grammar of HTTP/1.1 (RFC 9112) alone.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from schemas.errors import ApiError
from serve.http.params import refusal
from serve.http.protocol.limits import ConnectionLimits

END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"([!#-'*+.0-9A-Z^-z|~-]{1,32}) ([^ \r\n]+) HTTP/1\.[01]\Z")
_BEGINNING: Final = re.compile(rb"[!#-'*+.0-9A-Z^-z|~-]{1,32}( [^\n]*)?\Z")
"""What can still become a request line."""
_REQUEST_LINE: Final = re.compile(
    rb"(?:GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE) (/[\x21-\x7e]*) HTTP/1\.[01]\r\n"
)
"""A request line that the parser can be given as it is."""
_ABSOLUTE: Final = re.compile(rb"https?://[^/?#\x80-\xff]+([/?][\x21-\x7e]*)?\Z", re.IGNORECASE)
_HOST: Final = re.compile(rb"[A-Za-z0-9._~!$&'()*+,;=:%\[\]-]*\Z")
_KNOWN_METHODS: Final = frozenset({b"GET", b"HEAD", b"OPTIONS", b"POST", b"PUT", b"PATCH", b"DELETE"})


class Head(NamedTuple):
    """A head whose request line the parser is not given as it was sent.

    Attributes
    ----------
    for_parser
        What it is given: a target in absolute form as its path, or a line whose headers and body are read alike.
    method, target
        As sent, where they are not in that.
    """

    for_parser: bytes
    method: bytes | None = None
    target: bytes | None = None


def malformed(rule: str) -> ApiError:
    """Return the refusal of bytes that are not a request of HTTP/1.1."""
    return refusal([{"name": "request", "constraint": rule}])


def judge_part(data: bytes, limits: ConnectionLimits) -> None:
    """Look at a head whose end did not arrive yet.

    Raises
    ------
    ApiError
        ``uri_too_long`` or ``request_header_fields_too_large`` once nothing that follows could mend it, ``bad_request`` for
        a request line that is none.
    """
    line, found, _ = data.partition(b"\r\n")
    _request_line(line.removesuffix(b"\r"), limits, whole=bool(found))
    if len(data) > limits.max_head_bytes:
        raise _too_large(f"its head is longer than {limits.max_head_bytes} bytes")
    if found and len(data) - (data.rfind(b"\r\n") + 2) > limits.max_header_line_bytes:
        raise _line_too_long(limits)


def judge(data: bytes, end: int, limits: ConnectionLimits) -> Head | None:
    """Look at a whole head.

    Parameters
    ----------
    data
        Begins with it.
    end
        Where it ends.

    Returns
    -------
    Head or None
        None when the parser can be given the head as it is.

    Raises
    ------
    ApiError
        As of :func:`judge_part`, in the same order.
    """
    usual = _REQUEST_LINE.match(data)
    if usual is not None and len(usual[1]) <= limits.max_target_bytes:
        _measure(data, end, limits)
        return None
    first = data.index(b"\r\n")
    method, target = _request_line(data[:first], limits, whole=True)
    _measure(data, end, limits)
    version, rest = data[first - len("HTTP/1.1") : first], data[first:end]
    absolute = _ABSOLUTE.match(target)
    if absolute is not None:
        path = absolute[1] or b"/"
        target = path if path.startswith(b"/") else b"/" + path
        if method in _KNOWN_METHODS:
            return Head(b"%b %b %b%b" % (method, target, version, rest))
    return Head(b"POST / %b%b" % (version, rest), method, target)


def _measure(data: bytes, end: int, limits: ConnectionLimits) -> None:
    if end > limits.max_head_bytes:
        raise _too_large(f"its head is longer than {limits.max_head_bytes} bytes")
    if end > limits.max_header_line_bytes and any(
        len(line) > limits.max_header_line_bytes for line in data[:end].split(b"\r\n")[1:]
    ):
        raise _line_too_long(limits)
    if data.count(b"\r\n", 0, end) - 2 > limits.max_headers:
        raise _too_large(f"it has more than {limits.max_headers} header lines")


def judge_hosts(hosts: list[bytes], version: str) -> ApiError | None:
    """Return the refusal of what RFC 9112 says is to be refused.

    That is a request of HTTP/1.1 without a host, one with two, and a host that cannot be one.
    """
    if len(hosts) > 1 or (not hosts and version != "1.0"):
        return malformed("must have one Host header")
    if hosts and not _HOST.match(hosts[0]):
        return malformed("must have a Host header that names a host")
    return None


def _request_line(line: bytes, limits: ConnectionLimits, *, whole: bool) -> tuple[bytes, bytes]:
    found = _LINE.match(line) if whole else None
    if found is not None and len(found[2]) <= limits.max_target_bytes:
        return found[1], found[2]
    if not _BEGINNING.match(line):
        raise _no_request_line()
    if found is not None or len(line.partition(b" ")[2]) > limits.max_target_bytes + len(" HTTP/1.1"):
        raise ApiError(
            "uri_too_long", f"The request's target is longer than {limits.max_target_bytes} bytes."
        )
    if whole:
        raise _no_request_line()
    return b"", b""


def _no_request_line() -> ApiError:
    return malformed("must begin with a request line of HTTP/1.1")


def _too_large(what: str) -> ApiError:
    return ApiError("request_header_fields_too_large", f"The request is refused: {what}.")


def _line_too_long(limits: ConnectionLimits) -> ApiError:
    return _too_large(f"it has a header line longer than {limits.max_header_line_bytes} bytes")
