"""Counting of trials from sealed data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from datasets.figures.luck import ANNUAL, MAX_TESTED, Luck, Returns
from datasets.figures.luck_trials import Counted, ReadableRuns, Trials, known_trials, searched_combinations
from datasets.figures.overfitting import EffectiveTrials
from datasets.figures.series import Floats
from datasets.figures.sharpe import SharpeMoments, run_deviation
from datasets.figures.unavailable import Unavailable
from schemas.parameters import MAX_TRIALS

MOMENTS = SharpeMoments(1000, 0.05, 0.0, 3.0)


def runs(ratios: Floats, excess: Floats | None = None, sessions: float = 1000.0) -> ReadableRuns:
    return ReadableRuns(ratios, ratios if excess is None else excess, np.full(ratios.size, sessions))


NONE = runs(np.full(5, np.nan))


def luck(
    searched: int | None = None,
    sealed: int = 0,
    distinct: int | None = None,
    trials: EffectiveTrials | None = None,
    above: EffectiveTrials | None = None,
) -> Luck:
    return Luck({}, Returns(1000, MOMENTS, trials), Returns(900, MOMENTS, above), searched, sealed, distinct)


def known(evidence: Luck, stated: int | None = None, deviation: float | None = None) -> Trials:
    return known_trials(evidence, stated, deviation, described=True, readable=NONE)


@pytest.mark.parametrize(
    ("values", "combinations"),
    [
        (None, None),
        ([], None),
        ([None, [], None], None),
        ([[5]], 1),
        ([[1, 2, 4]], 3),
        ([[1, 2, 4], [], ["a", "b"], None], 6),
        ([[1, 1, 2]], 2),
        ([[{"a": 1, "b": 2}, {"b": 2, "a": 1}, None]], 2),
        ([[[1, 2], [2, 1]]], 2),
    ],
)
def test_every_combination_of_the_search_values_is_a_trial(values: Any, combinations: int | None) -> None:
    parameters = None if values is None else [{"name": "x", "search_values": entry} for entry in values]
    assert searched_combinations(parameters) == combinations


def test_parameters_without_search_values_count_no_trials() -> None:
    assert searched_combinations([{"name": "x"}, {}]) is None


def test_implausibly_many_combinations_are_not_counted_as_trials() -> None:
    searched = searched_combinations([{"search_values": list(range(100))}] * 200)
    assert searched == 100**200
    result = known(luck(searched))
    assert (result.nominal, result.source) == (None, None)
    assert isinstance(result.plain.count, Unavailable)
    assert str(MAX_TRIALS) in result.plain.count.text
    stated = known(luck(searched), 12, 0.3)
    assert (stated.nominal, stated.source, stated.plain) == (12, "request", Counted(12, "nominal", 0.3))


def test_a_single_combination_is_not_a_search() -> None:
    result = known(luck(searched=1))
    assert (result.nominal, result.source) == (5, "catalogue")
    assert "a single combination" in result.passed_over["search_values"]
    two = known(luck(searched=2), deviation=0.4)
    assert (two.nominal, two.source, two.passed_over) == (2, "seal", {})


def test_sealed_trials_are_clustered_for_each_return() -> None:
    plain, above = EffectiveTrials(7, 0.04, "distinct"), EffectiveTrials(5, 0.05, "clusters")
    result = known(luck(sealed=60, distinct=7, trials=plain, above=above))
    assert (result.nominal, result.source) == (60, "seal")
    assert result.plain == Counted(7, "distinct", pytest.approx(0.04 * ANNUAL))  # type: ignore[arg-type]
    assert result.excess == Counted(5, "clusters", pytest.approx(0.05 * ANNUAL))  # type: ignore[arg-type]
    stated = known(luck(sealed=60, distinct=7, trials=plain, above=above), deviation=0.9)
    assert stated.plain == Counted(7, "distinct", 0.9)


@pytest.mark.parametrize(("sealed", "said"), [(1, "one trial"), (60, "60 sealed trials are copies")])
def test_one_trial_and_its_copies_are_not_a_search(sealed: int, said: str) -> None:
    result = known(luck(searched=12, sealed=sealed, distinct=1))
    assert (result.nominal, result.source) == (12, "seal"), "the next is what the description says"
    assert result.plain == Counted(12, "nominal", None)
    assert said in result.passed_over["trials"]
    further = known(luck(searched=1, sealed=sealed, distinct=1))
    assert (further.nominal, further.source) == (5, "catalogue")
    assert set(further.passed_over) == {"trials", "search_values"}


def test_trials_indistinguishable_in_the_window_count_as_sealed() -> None:
    result = known(luck(sealed=13))
    assert (result.nominal, result.plain) == (13, Counted(13, "nominal", None))


def test_too_many_trials_to_cluster_are_withheld() -> None:
    result = known(luck(sealed=MAX_TESTED + 1))
    assert (result.nominal, result.source) == (MAX_TESTED + 1, "seal")
    assert isinstance(result.plain.count, Unavailable)
    assert str(MAX_TESTED) in result.plain.count.text


def test_the_catalogues_deviation_uses_runs_with_a_ratio() -> None:
    ratios, excess = np.array([0.5, np.nan, 1.5, -0.5]), np.array([0.4, 0.9, 1.4, np.nan])
    readable = runs(ratios, excess)
    result = known_trials(luck(), None, None, described=True, readable=readable)
    assert (result.nominal, result.source) == (4, "catalogue")
    assert result.plain == Counted(4, "nominal", pytest.approx(1.0))  # type: ignore[arg-type]
    assert result.excess == Counted(4, "nominal", run_deviation(excess, readable.sessions, 900))
    stated = known_trials(luck(), None, 0.2, described=True, readable=readable)
    assert stated.plain.deviation == 0.2
    for few in (np.array([0.5, np.nan]), np.array([])):
        none = known_trials(luck(), None, None, described=True, readable=runs(few))
        assert none.plain.deviation is None


def test_runs_of_unknown_length_do_not_enter_the_catalogues_deviation() -> None:
    ratios, sessions = np.array([0.5, 1.5, 7.0]), np.array([1000.0, 1000.0, math.nan])
    result = known_trials(luck(), None, None, described=True, readable=ReadableRuns(ratios, ratios, sessions))
    assert result.plain == Counted(3, "nominal", pytest.approx(math.sqrt(0.5)))  # type: ignore[arg-type]
