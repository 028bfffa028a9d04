"""A window equals computation on its own rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.figures.panel import WeeklyDeciles
from datasets.figures.run_figures import CrossSections, Index, Ledger, RawSignal
from datasets.figures.series import Window
from pipeline.maths.deciles import weekly_deciles
from pipeline.maths.weekly_signal import weekly_signal
from schemas.metrics.deciles import BUCKET_MEANS
from schemas.tables.weekly_signal import HORIZONS, LAGS
from tests.support import factories
from tests.support.factories import answer_metrics, codes

STATUSES = ("traded", "traded", "traded", "constant_scores", "pending")


def decisions(weeks: int = 24, names: int = 30, seed: int = 5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Random cross-sections with skipped weeks, gaps and ties."""
    draw = np.random.default_rng(seed)
    first = dt.date(2020, 1, 3)
    dates = [first + dt.timedelta(weeks=week) for week in range(weeks)]
    status = [*draw.choice(STATUSES[:4], weeks - 1), "pending"]
    rows = [
        {
            "date": date,
            "symbol": f"N{name:02}",
            "score": None if draw.random() < 0.05 else round(float(draw.normal()), 1),
            "raw_score": None if draw.random() < 0.05 else round(float(draw.normal()), 1),
            "forward_return": None
            if week == "pending" or draw.random() < 0.1
            else float(draw.normal(0, 0.02)),
            "long_short_target_weight": float(draw.normal(0, 0.01)),
            "long_only_target_weight": float(draw.uniform(0, 0.01)),
        }
        for date, week in zip(dates, status, strict=True)
        for name in range(names)
    ]
    return (
        pl.DataFrame({"date": dates, "week_status": status}),
        pl.DataFrame(
            rows, schema_overrides=dict.fromkeys(("score", "raw_score", "forward_return"), pl.Float64)
        ),
    )


def floats(frame: pl.DataFrame, column: str) -> Any:
    return frame[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def measured(rebalances: pl.DataFrame, cross: pl.DataFrame, book: Ledger) -> Any:
    """Build a run from its decisions, as the pipeline does."""
    weeks, buckets = weekly_signal(rebalances, cross), weekly_deciles(cross)
    date = weeks["date"].to_numpy()
    traded = (weeks["week_status"] == "traded").to_numpy()
    counts = {name: buckets[name].to_numpy() for name in ("bucket", "n_symbols", "n_return_obs")}
    return factories.run(
        sealed=None,
        index=Index(date, traded),
        cross_sections=CrossSections(
            date=date,
            traded=traded,
            in_force=weeks["week_status"].is_in(["traded", "pending"]).to_numpy(),
            n_symbols=floats(weeks, "n_symbols"),
            cohort_size=floats(weeks, "cohort_size"),
            n_return_obs=floats(weeks, "n_return_obs"),
            ic=floats(weeks, "ic"),
            raw=RawSignal(
                ic=floats(weeks, "raw_ic"),
                n_return_obs=floats(weeks, "n_return_obs_raw"),
                decile_spread=floats(weeks, "decile_spread"),
                ic_by_horizon={k: floats(weeks, f"ic_h{k}") for k in HORIZONS},
                rho_by_lag={k: floats(weeks, f"rho_lag{k}") for k in LAGS},
                cohort_size=floats(weeks, "cohort_size_raw"),
            ),
        ),
        deciles=WeeklyDeciles(
            date=buckets["date"].to_numpy(),
            **counts,
            **{name: floats(buckets, name) for name in BUCKET_MEANS},
        ),
        ledger=book,
    )


REBALANCES, CROSS = decisions()
BOOK = factories.ledger(120)
RUN = measured(REBALANCES, CROSS, BOOK)
DAYS = st.dates(dt.date(2019, 12, 25), dt.date(2020, 7, 5))


@settings(max_examples=40)  # every example is a run measured from its decisions
@given(days=st.tuples(DAYS, DAYS).map(sorted), granularity=st.sampled_from(["overall", "yearly", "monthly"]))
def test_a_window_equals_its_own_rows(days: list[dt.date], granularity: str) -> None:
    first, last = days
    inside = pl.col("date").is_between(first, last)
    rows = Window(first, last).rows(BOOK.date)
    book = Ledger(*(getattr(BOOK, x)[rows] for x in ("date", "starting", "ending", "risk_free", "turnover")))
    alone = measured(REBALANCES.filter(inside), CROSS.filter(inside), book)
    window = {"first": first.isoformat(), "last": last.isoformat(), "granularity": granularity}
    narrowed = answer_metrics(RUN, **window)  # type: ignore[arg-type]
    from_scratch = answer_metrics(alone, granularity=granularity)
    full = answer_metrics(RUN).data
    within = narrowed.data.pop("within_window")
    expected = {
        **from_scratch.data,
        "window": {"from": first.isoformat(), "to": last.isoformat()},
        "sessions_per_year": full["sessions_per_year"],
        "core": {**full["core"], "tenure": from_scratch.data["core"]["tenure"]},
        "rank_ic": full["rank_ic"],
        "nwt": {**from_scratch.data["nwt"], "ic": None},
    }
    assert from_scratch.data.pop("within_window") is expected.pop("within_window") is None
    assert narrowed.data == approximately(expected)
    own = {name: x for name, x in from_scratch.data["core"].items() if name != "tenure"}
    assert within["core"] == approximately(computed(own))
    assert within["rank_ic"] == approximately(computed(from_scratch.data["rank_ic"]))
    assert within["periods"] == approximately(computed(from_scratch.data["periods"]))
    assert within["nwt"]["ic"] == approximately(nwt_ic(alone))
    assert "block_error" not in codes(narrowed)


def computed(value: Any) -> Any:
    """Return the computed entries of a run without sealed figures."""
    if isinstance(value, dict):
        return {
            name: x.removeprefix("no value was sealed; ") if name == "withheld_reason" else computed(x)
            for name, x in value.items()
        }
    return [computed(x) for x in value] if isinstance(value, list) else value


def nwt_ic(figures: Any) -> Any:
    """Return the test of the weekly IC of a run without a sealed mean."""
    mean = answer_metrics(figures).data["core"]["ic"]["value"]
    if mean is None:
        return None
    return answer_metrics(
        replace(figures, sealed=factories.sealed([factories.record("mean_ic", mean)]))
    ).data["nwt"]["ic"]


def approximately(value: Any) -> Any:
    """Compare with a tolerance for differences in summation order."""
    if isinstance(value, dict):
        return {key: approximately(member) for key, member in value.items()}
    if isinstance(value, list):
        return [approximately(member) for member in value]
    return pytest.approx(value, rel=1e-12, abs=1e-15) if isinstance(value, float) else value


def test_an_open_end_reaches_to_the_end_of_the_run() -> None:
    full = answer_metrics(RUN).data
    for window in (
        {"first": "2000-01-01"},
        {"last": "2100-01-01"},
        {"first": "2000-01-01", "last": "2100-01-01"},
    ):
        result = answer_metrics(RUN, **window)  # type: ignore[arg-type]
        assert result.data["window"] == {"from": window.get("first"), "to": window.get("last")}
        core = result.data["within_window"].pop("core")
        assert core == {name: x for name, x in full["core"].items() if name != "tenure"}
        assert {**result.data, "window": None, "within_window": None} == {**full, "window": None}


def test_an_empty_window_has_no_figures_and_no_failure() -> None:
    for granularity in ("overall", "yearly"):
        answer = answer_metrics(RUN, first="1999-01-01", last="1999-12-31", granularity=granularity)
        core, within = answer.data["core"], answer.data["within_window"]
        assert core["tenure"] is None
        assert {x["status"] for name, x in core.items() if name != "tenure"} == {"available"}
        assert {x["status"] for x in within["core"].values()} == {"not_measurable"}
        assert within["nwt"]["ic"] is None
        assert within["periods"] == (None if granularity == "overall" else [])
        assert answer.data["ic_deciles"] is answer.data["panel"] is None
        assert set(answer.data["nwt"].values()) == {None}
        assert answer.data["periods"] == (None if granularity == "overall" else [])
        assert codes(answer) == {
            "missing_kind",
            "missing_core_metrics",
            "insufficient_data",
            "ic_reproduction_mismatch",
            "window_lifetime_only",
        }


def test_a_window_between_two_rebalances_keeps_the_sessions() -> None:
    answer = answer_metrics(RUN, first="2020-01-06", last="2020-01-08")
    assert answer.data["core"]["tenure"] is None
    assert codes(answer, "core.tenure") == {"insufficient_data"}
    assert answer.data["within_window"]["core"]["pnl"]["status"] == "available"
    assert answer.data["within_window"]["core"]["ic"]["status"] == "not_measurable"
