"""Weekly comparison of two seals of one alpha."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from datasets.provenance.sealed_weeks import (
    UNSETTLED_WEEKS,
    SealedWeek,
    SealEntry,
    compare,
    decode_seals,
    encode_seals,
)
from pipeline.maths.weekly_digests import SIGNIFICANT_BITS, rounded
from schemas.errors import SnapshotCorrupt

DAYS = [f"2024-{month:02}-05" for month in range(1, 13)]
DIGESTS = st.one_of(st.none(), st.sampled_from(["", "aa", "bb"]))
WEEK = st.builds(SealedWeek, DIGESTS, DIGESTS, DIGESTS, DIGESTS, st.one_of(st.none(), st.floats(-1, 1)))
RUN = st.dictionaries(st.sampled_from(DAYS), WEEK)


@given(st.lists(RUN, max_size=5))
def test_entries_round_trip(runs: list[dict[str, SealedWeek]]) -> None:
    entries = [SealEntry(f"{n}" * 64, DAYS[n], "0" * 20, run) for n, run in enumerate(runs)]
    assert decode_seals(encode_seals(entries), "seals") == entries


def test_an_extending_seal_is_stored_as_a_difference() -> None:
    weeks = {
        f"2024-01-{day:02}": SealedWeek("a" * 16, "b" * 16, "c" * 16, "d" * 16, 0.1) for day in range(1, 31)
    }
    one = [SealEntry("1", "x", "y", weeks)]
    assert len(encode_seals(one * 10)) < 2 * len(encode_seals(one))


@given(RUN, RUN)
def test_comparison_agrees_with_a_loop_over_weeks(
    earlier: dict[str, SealedWeek], later: dict[str, SealedWeek]
) -> None:
    result = compare(earlier, later)
    counts = {part: len(_restated(earlier, later, part)) for part in UNSETTLED_WEEKS}
    assert result["restated_weeks"] == counts
    assert result["outcome"] == ("restated" if any(counts.values()) else "extended")
    assert (result["restated_since"] is None) == (result["outcome"] == "extended")
    assert result["common_weeks"] == len([day for day in DAYS if day in earlier and day in later])


@given(RUN)
def test_a_run_does_not_restate_itself(run: dict[str, SealedWeek]) -> None:
    result = compare(run, run)
    assert result["outcome"] == "extended"
    assert result["mean_ic_before"] == result["mean_ic_after"]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"seals": [{"weeks": 1}]}', b'{"seals": {}, "x": 1}x', b'{"seals": [1]}']
)
def test_an_invalid_file_is_refused(data: bytes) -> None:
    with pytest.raises(SnapshotCorrupt, match="the file"):
        decode_seals(data, "the file")


@example([-5e-324, -0.0])
@given(st.lists(st.one_of(st.just(math.nan), st.floats(-1e300, 1e300)), max_size=20))
def test_rounding_keeps_differences_of_a_millionth_and_is_idempotent(values: list[float]) -> None:
    given_values = np.array(values, np.float64)
    kept = rounded(given_values)
    for value, near in zip(values, kept.tolist(), strict=True):
        if math.isnan(value):
            assert struct.pack("<d", near) == struct.pack("<d", math.nan)
        else:
            assert (
                abs(near - value) <= abs(value) * 2.0**-SIGNIFICANT_BITS + 2.0**-1022
            )  # subnormal numbers aside
            assert math.copysign(1, near) == 1 or near != 0
    assert rounded(kept).tobytes() == kept.tobytes()


def _restated(earlier: Mapping[str, SealedWeek], later: Mapping[str, SealedWeek], part: str) -> list[str]:
    """Oracle: compare every week in a loop."""
    end = UNSETTLED_WEEKS[part]
    settled = [sorted(run)[: max(0, len(run) - end)] for run in (earlier, later)]
    results = []
    for day in DAYS:
        before = getattr(earlier[day], part) if day in earlier else None
        after = getattr(later[day], part) if day in later else None
        if day in settled[0] and (day in settled[1] or day not in later):
            wrong = before is not None and before != after
        elif day in settled[1] and day not in earlier:
            wrong = bool(settled[0]) and settled[0][0] < day < settled[0][-1] and after is not None
        else:
            wrong = False
        if wrong:
            results.append(day)
    return results
