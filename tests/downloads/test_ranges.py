"""Ranges of a file, compared with a slow implementation of RFC 9110."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import ApiError
from serve.endpoints.files import same_entity, wanted_range

WHOLE = [
    None,
    "",
    "bytes=",
    "bytes=-",
    "bytes=5-2",
    "bytes=0-1,3-4",
    "bytes=a-b",
    "bytes=0x1-2",
    "items=0-1",
    "bytes 0-1",
    "bytes=-1-2",
    "bytes=٣-4",
    f"bytes=0-{'9' * 40}",
]


@pytest.mark.parametrize("header", WHOLE)
def test_an_unsupported_range_header_gets_the_full_file(header: str | None) -> None:
    assert wanted_range(header, 10) is None


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-12", "bytes=-0", "bytes=999999999999999999-"])
def test_a_range_beyond_the_end_cannot_be_satisfied(header: str) -> None:
    with pytest.raises(ApiError, match="after the end of the file"):
        wanted_range(header, 10)


def test_no_range_of_an_empty_file_is_satisfiable() -> None:
    for header in ("bytes=0-", "bytes=-5"):
        with pytest.raises(ApiError, match="after the end of the file"):
            wanted_range(header, 0)


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 40))
def test_a_range_returns_exactly_its_bytes(size: int, first: int, last: int) -> None:
    content = bytes(range(size))
    cases = {
        f"bytes={first}-{last}": content[first : last + 1] if first <= last else None,
        f"BYTES={first}-": content[first:],
        f"bytes=-{last}": content[-last:] if last else b"",
    }
    for header, expected in cases.items():
        if expected is None:
            assert wanted_range(header, size) is None
        elif not expected:
            with pytest.raises(ApiError, match="after the end of the file"):
                wanted_range(header, size)
        else:
            actual = wanted_range(header, size)
            assert actual is not None
            assert content[slice(*actual)] == expected


def test_if_range_applies_only_to_the_same_file() -> None:
    assert same_entity(None, '"a"')
    assert same_entity('"a"', '"a"')
    for other in ('"b"', 'W/"a"', "*", "Sun, 22 Nov 2026 00:00:00 GMT", ""):
        assert not same_entity(other, '"a"')
