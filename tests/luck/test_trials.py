"""How trials are counted from what a run sealed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from datasets.luck.measure import Luck
from datasets.luck.reading import searched_combinations
from datasets.luck.trials import known_trials
from datasets.maths.sharpe import SharpeMoments
from datasets.maths.unavailable import Unavailable
from schemas.parameters import MAX_TRIALS

NONE = np.full(5, np.nan)
MOMENTS = SharpeMoments(1000, 0.05, 0.0, 3.0)


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


def test_parameters_without_search_values_are_none() -> None:
    assert searched_combinations([{"name": "x"}, {}]) is None


def test_more_combinations_than_anyone_ran_are_not_taken_for_trials() -> None:
    searched = searched_combinations([{"search_values": list(range(100))}] * 200)
    assert searched == 100**200
    found = known_trials(Luck({}, MOMENTS, searched), None, None, described=True, readable=NONE)
    assert isinstance(found.count, Unavailable)
    assert str(MAX_TRIALS) in found.count.text
    stated = known_trials(Luck({}, MOMENTS, searched), 12, 0.3, described=True, readable=NONE)
    assert (stated.count, stated.source, stated.deviation) == (12, "request", 0.3)


def test_how_far_the_catalogue_lies_apart_is_that_of_the_runs_that_have_a_ratio() -> None:
    ratios = np.array([0.5, np.nan, 1.5, -0.5])
    found = known_trials(Luck({}, MOMENTS, None), None, None, described=True, readable=ratios)
    assert (found.count, found.source) == (4, "catalogue")
    assert found.deviation == pytest.approx(1.0)
    stated = known_trials(Luck({}, MOMENTS, None), None, 0.2, described=True, readable=ratios)
    assert stated.deviation == 0.2
    for few in (np.array([0.5, np.nan]), np.array([])):
        none = known_trials(Luck({}, MOMENTS, None), None, None, described=True, readable=few)
        assert none.deviation is None
