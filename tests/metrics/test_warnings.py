"""Each warning of the metrics, its cause, and the answer with it."""

from __future__ import annotations

import datetime as dt
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from datasets.figures.run_figures import Ledger
from datasets.figures.series import Window, cut
from schemas.documents.metrics_documentation import documentation
from schemas.kinds import KINDS
from schemas.metrics.core import REPRODUCTION_TOLERANCE
from schemas.tables.sealed_metrics import NOT_CHECKED, NOT_REPRODUCED
from schemas.warning_codes import NOTICE_CODES, WARNING_CODES
from tests.support import factories
from tests.support.factories import EVERYTHING, answer_metrics, codes, record, sealed

NO_LEDGER = {"ledger": None, "kinds": factories.KINDS - {"portfolio"}}
NO_DECISIONS = {"cross_sections": None, "deciles": None, "kinds": factories.KINDS - {"decisions"}}
NO_REBALANCES = {**NO_DECISIONS, "index": None, "kinds": frozenset({"portfolio", "decisions", "metrics"})}


@pytest.fixture
def logged() -> Iterator[list[Any]]:
    """Return log entries unrendered, since rendering tracebacks with arrays takes seconds."""
    entries: list[Any] = []

    class Entries(logging.Handler):
        def emit(self, line: logging.LogRecord) -> None:
            entries.append(vars(line))

    log = logging.getLogger("datasets.figures")
    handler, log.propagate = Entries(), False
    log.addHandler(handler)
    yield entries
    log.removeHandler(handler)
    log.propagate = True


def index() -> Any:
    return factories.run().index


def complete() -> Any:
    """Return a run without warnings."""
    return factories.run()


def without_returns(figures: Any) -> Any:
    sections, rows = figures.cross_sections, figures.deciles
    raw = replace(
        sections.raw,
        ic=np.full(sections.date.size, np.nan),
        n_return_obs=np.zeros(sections.date.size),
        decile_spread=np.full(sections.date.size, np.nan),
    )
    return replace(
        figures,
        cross_sections=replace(
            sections,
            ic=np.full(sections.date.size, np.nan),
            n_return_obs=np.zeros(sections.date.size),
            raw=raw,
        ),
        deciles=replace(
            rows,
            n_return_obs=np.zeros_like(rows.n_return_obs),
            mean_forward_return=np.full(rows.date.size, np.nan),
        ),
    )


def test_a_complete_run_is_answered_without_warnings() -> None:
    answer = answer_metrics(complete(), granularity="monthly")
    assert answer.warnings == ()
    blocks = {**answer.data, **answer.data["nwt"], "tenure": answer.data["core"]["tenure"]}
    assert [name for name, value in blocks.items() if value is None] == ["within_window"]


def test_missing_ledger() -> None:
    answer = answer_metrics(factories.run(sealed=None, **NO_LEDGER))
    assert answer.data["nwt"]["ir"] is None
    assert {(x["block"], x["kind"]) for x in answer.warnings if x["code"] == "missing_kind"} == {
        ("core", "metrics"), ("core", "portfolio"), ("nwt.ir", "portfolio"),
    }  # fmt: skip


def test_missing_cross_sections() -> None:
    answer = answer_metrics(factories.run(index=index(), sealed=None, **NO_DECISIONS))
    data = answer.data
    assert data["rank_ic"] is data["ic_deciles"] is data["panel"] is data["nwt"]["ic_score_panel"] is None
    assert data["core"]["tenure"]["source"] == "rebalances"
    assert {x["block"] for x in answer.warnings if x.get("kind") == "decisions" and x["code"] == "missing_kind"} == {
        "core", "rank_ic", "ic_deciles", "panel", "nwt.ic_score_panel",
    }  # fmt: skip
    assert codes(answer, "nwt.ic") == {"ic_family_mismatch"}


def test_without_rebalances_the_ledger_gives_the_tenure() -> None:
    figures = factories.run(**NO_REBALANCES)
    answer = answer_metrics(figures)
    assert answer.data["core"]["tenure"] == {
        "weeks": None,
        "traded_weeks": None,
        "first_rebalance": str(figures.ledger.date[0]),
        "last_rebalance": str(figures.ledger.date[-1]),
        "calendar_days": int((figures.ledger.date[-1] - figures.ledger.date[0]).astype(int)),
        "years": pytest.approx(int((figures.ledger.date[-1] - figures.ledger.date[0]).astype(int)) / 365.25),
        "source": "portfolio",
    }
    assert {x["kind"] for x in answer.warnings if x["block"] == "ic_deciles"} == {"rebalances"}
    neither = answer_metrics(
        factories.run(**{**NO_REBALANCES, "ledger": None, "kinds": frozenset({"metrics"})})
    )
    assert neither.data["core"]["tenure"] is None
    assert codes(neither, "core.tenure") == {"missing_kind"}


def test_missing_raw_signal() -> None:
    answer = answer_metrics(factories.run(cross_sections=factories.cross_sections(raw=False), sealed=None))
    assert answer.data["ic_deciles"] is answer.data["panel"] is answer.data["nwt"]["ic_score_panel"] is None
    assert {x["block"] for x in answer.warnings if "no signal before smoothing" in x["message"]} == {
        "rank_ic.raw", "ic_deciles", "panel", "nwt.ic_score_panel",
    }  # fmt: skip
    assert codes(answer, "ic_deciles") == {"missing_kind"}
    rank_ic = answer.data["rank_ic"]
    assert {x["status"] for x in rank_ic["raw"].values()} == {"not_measurable"}
    assert {x["status"] for x in rank_ic["conditioned"].values()} == {"available"}


def test_missing_core_metrics_names_what_was_computed_and_what_is_withheld() -> None:
    stated = [record("mean_ic", 0.1), record("pnl", None)]
    answer = answer_metrics(factories.run(sealed=sealed(stated), ledger=factories.ledger(sessions=1)))
    (actual,) = [x for x in answer.warnings if x["code"] == "missing_core_metrics"]
    assert actual["block"] == "core"
    computed, withheld = actual["message"].split("withheld: ")
    assert re.findall(r"\w+", computed.split("instead: ")[1]) == [
        "icir", "pnl", "max_drawdown", "max_drawdown_pct", "turnover",
    ]  # fmt: skip
    assert re.findall(r"\w+", withheld) == ["information_ratio", "excess_sharpe"]


@pytest.mark.parametrize(
    ("closed", "null"),
    [
        ("portfolio.ledger", {"nwt.ir"}),
        ("signals.rebalances.list", {"core.tenure"}),
        ("signals.rebalances.get", {"rank_ic", "ic_deciles", "panel", "nwt.ic", "nwt.ic_score_panel"}),
    ],
)
def test_access_limited(closed: str, null: set[str]) -> None:
    answer = answer_metrics(factories.run(sealed=None), may_call=EVERYTHING - {closed}, granularity="yearly")
    limited = {x["block"] for x in answer.warnings if x["code"] == "access_limited"}
    assert null <= limited
    assert limited - null <= {"core", "periods"}
    assert all(closed in x["message"] for x in answer.warnings if x["code"] == "access_limited")
    for path, value in factories.walk(answer.data):
        if path in null:
            assert value is None
    open_blocks = {"rank_ic", "ic_deciles", "panel", "nwt.ir", "nwt.ic_score_panel", "core.tenure"} - null
    assert all(value is not None for path, value in factories.walk(answer.data) if path in open_blocks)


def test_a_closed_source_does_not_reveal_whether_the_run_has_it() -> None:
    with_ledger = answer_metrics(factories.run(sealed=None), may_call=frozenset())
    without = answer_metrics(factories.run(sealed=None, **NO_LEDGER), may_call=frozenset())
    assert with_ledger == without


def test_a_closed_index_is_not_replaced_by_the_ledger() -> None:
    answer = answer_metrics(factories.run(**NO_REBALANCES), may_call=EVERYTHING - {"signals.rebalances.list"})
    assert answer.data["core"]["tenure"] is None
    assert codes(answer, "core.tenure") == {"access_limited"}


def test_forward_returns_absent() -> None:
    answer = answer_metrics(without_returns(factories.run(sealed=None)))
    assert {x["block"] for x in answer.warnings if x["code"] == "forward_returns_absent"} == {
        "ic_deciles", "panel", "nwt.ic_score_panel",
    }  # fmt: skip
    # The test of the sealed mean IC has its own two reasons and ignores the window.
    assert (
        codes(answer, "nwt.ic")
        == codes(answer_metrics(without_returns(factories.run())), "nwt.ic")
        == {"ic_reproduction_mismatch"}
    )
    assert answer.data["ic_deciles"] is answer.data["panel"] is None
    # Not even the coverage, which would be 0.
    entries = [x for family in answer.data["rank_ic"].values() for x in family.values()]
    assert {x["value"] for x in entries} == {None}
    assert all("forward return" in x["withheld_reason"] for x in entries)


def test_weeks_without_a_score_do_not_lack_forward_returns() -> None:
    figures = without_returns(factories.run(sealed=None))
    sections, none = figures.cross_sections, np.zeros(figures.cross_sections.date.size)
    unscored = replace(sections, cohort_size=none, raw=replace(sections.raw, cohort_size=none))
    deciles = factories.deciles(factories.cross_sections(weeks=0, pending=0))
    answer = answer_metrics(replace(figures, cross_sections=unscored, deciles=deciles))
    assert "forward_returns_absent" not in codes(answer)
    assert codes(answer, "nwt.ic_score_panel") == {"insufficient_data"}
    entries = [answer.data["core"]["ic"], *(x for y in answer.data["rank_ic"].values() for x in y.values())]
    assert {x["value"] for x in entries} == {None}
    assert {x["withheld_reason"] for x in entries} == {
        "no value was sealed; no name has a score in the window"
    }


def test_insufficient_data() -> None:
    few = factories.run(
        cross_sections=factories.cross_sections(weeks=10, pending=1), ledger=factories.ledger(9)
    )
    answer = answer_metrics(few)
    assert {x["block"] for x in answer.warnings if x["code"] == "insufficient_data"} == {
        "nwt.ic", "nwt.ic_score_panel", "nwt.ir",
    }  # fmt: skip
    enough = answer_metrics(
        factories.run(cross_sections=factories.cross_sections(weeks=11), ledger=factories.ledger(10))
    )
    assert "insufficient_data" not in codes(enough)
    assert enough.data["nwt"]["ic"]["n"] == 10


def test_no_week_with_enough_names_leaves_no_deciles() -> None:
    figures = factories.run()
    none = replace(figures, deciles=factories.deciles(factories.cross_sections(weeks=0, pending=0)))
    answer = answer_metrics(none)
    assert answer.data["ic_deciles"] is answer.data["panel"] is None
    assert codes(answer, "ic_deciles") == codes(answer, "panel") == {"insufficient_data"}


def test_nonpositive_variance() -> None:
    sections = factories.cross_sections(pending=0)
    constant = np.full(sections.date.size, 0.05)
    assert sections.raw is not None
    steady = replace(sections, ic=constant, raw=replace(sections.raw, ic=constant))
    still = replace(factories.ledger(), starting=np.ones(200), ending=np.ones(200))
    answer = answer_metrics(factories.run(cross_sections=steady, ledger=still))
    assert {x["block"] for x in answer.warnings if x["code"] == "nonpositive_variance"} == {
        "nwt.ic", "nwt.ic_score_panel", "nwt.ir",
    }  # fmt: skip
    assert set(answer.data["nwt"].values()) == {None}


def in_debt() -> Ledger:
    """A ledger whose equity falls below zero midway and keeps falling."""
    book = factories.ledger()
    ending = book.ending.copy()
    ending[100:] = -np.arange(1.0, 101.0)
    return replace(book, starting=np.append(1.0, ending[:-1]), ending=ending)


def test_nonpositive_equity() -> None:
    answer = answer_metrics(factories.run(sealed=None, ledger=in_debt()))
    assert codes(answer, "nwt.ir") == {"nonpositive_equity"}
    assert answer.data["nwt"]["ir"] is None
    core = answer.data["core"]
    for name in ("information_ratio", "excess_sharpe", "sharpe"):
        assert (core[name]["value"], core[name]["status"]) == (None, "not_measurable")
        assert "equity is not above 0 at the open of 99 of 200 sessions" in core[name]["withheld_reason"]
    assert core["pnl"]["value"] == -101.0
    assert core["max_drawdown"]["value"] > 101.0
    # The year before the debt is measured as usual.
    rows = Window(None, dt.date(2020, 2, 1)).rows(in_debt().date)
    before = answer_metrics(factories.run(sealed=None, ledger=cut(in_debt(), rows)))
    assert before.data["core"]["information_ratio"]["value"] is not None


def test_window_lifetime_only() -> None:
    figures = complete()
    answer = answer_metrics(figures, first="2020-02-01")
    assert {x["block"] for x in answer.warnings if x["code"] == "window_lifetime_only"} == {
        "core", "rank_ic", "nwt.ic",
    }  # fmt: skip
    full = answer_metrics(figures)
    for name in ("ic", "pnl", "turnover"):
        assert answer.data["core"][name] == full.data["core"][name]
    assert answer.data["nwt"]["ic"] == full.data["nwt"]["ic"]
    # Computed figures describe the run too; those of the window are separate, whatever was sealed.
    unsealed = answer_metrics(factories.run(sealed=None), first="2020-02-01")
    assert codes(unsealed, "core") == {"missing_kind", "missing_core_metrics", "window_lifetime_only"}
    core = answer_metrics(factories.run(sealed=None)).data["core"]
    assert {**unsealed.data["core"], "tenure": None} == {**core, "tenure": None}
    assert unsealed.data["within_window"]["core"] == answer.data["within_window"]["core"]
    assert unsealed.data["within_window"]["core"]["pnl"]["value"] != core["pnl"]["value"]
    assert "window_lifetime_only" not in codes(answer_metrics(factories.run(sealed=None)))


def test_window_lifetime_only_on_a_period_that_is_cut() -> None:
    stated = {f"p2020_{month:02}": [record("pnl", 0.01 * month)] for month in (1, 2, 3)}
    figures = factories.run(sealed=sealed([], **stated))
    assert codes(answer_metrics(figures, first="2020-02-10", granularity="monthly"), "periods") == {
        "window_lifetime_only"
    }
    assert codes(answer_metrics(figures, first="2020-02-01", granularity="monthly"), "periods") == set()


def test_ic_reproduction_mismatch() -> None:
    figures = complete()
    mean = figures.records("overall")["mean_ic"].value
    for off, published in ((0.5, True), (2.0, False), (-2.0, False)):
        stated = sealed([record("mean_ic", mean + off * REPRODUCTION_TOLERANCE)])
        answer = answer_metrics(replace(figures, sealed=stated))
        assert (answer.data["nwt"]["ic"] is not None) == published
        assert codes(answer, "nwt.ic") == (set() if published else {"ic_reproduction_mismatch"})
    unstated = answer_metrics(replace(figures, sealed=None))
    assert codes(unstated, "nwt.ic") == {"ic_reproduction_mismatch"}


@pytest.mark.parametrize(
    ("part", "null"),
    [
        ("deciles", {"ic_deciles", "panel"}),
        ("cross_sections", {"nwt.ic_score_panel"}),
        ("ledger", {"nwt.ir"}),
    ],
)
def test_a_block_that_fails_is_null_and_leaves_the_others(
    part: str, null: set[str], logged: list[Any]
) -> None:
    figures = factories.run()
    if part == "deciles":  # a column shorter than the others
        broken = replace(figures, deciles=replace(figures.deciles, bucket=figures.deciles.bucket[:-3]))
    elif part == "cross_sections":  # text where numbers belong
        words = np.array(["?"] * figures.cross_sections.date.size)
        raw = replace(figures.cross_sections.raw, ic=words)
        broken = replace(figures, cross_sections=replace(figures.cross_sections, raw=raw))
    else:
        broken = replace(figures, ledger=replace(figures.ledger, ending=figures.ledger.ending[:-3]))
    answer = answer_metrics(broken)
    assert {x["block"] for x in answer.warnings if x["code"] == "block_error"} == null

    def others(data: Any) -> list[Any]:
        return [x for x in factories.walk(data) if not x[0].startswith(tuple(null)) and x[0] != "nwt"]

    assert {value for path, value in factories.walk(answer.data) if path in null} == {None}
    assert others(answer.data) == others(answer_metrics(figures).data)
    assert {x["block"] for x in logged} == null - {"panel"}
    # The text of the failure goes to the log, not to the caller.
    assert not [x for x in answer.warnings if "operands" in x["message"] or "Error" in x["message"]]


def test_a_statistic_that_fails_is_withheld_and_leaves_the_others(logged: list[Any]) -> None:
    figures = factories.run(sealed=None)
    broken = replace(figures, ledger=replace(figures.ledger, turnover=np.array(["?"] * 200)))
    answer = answer_metrics(broken)
    assert codes(answer, "core.turnover") == {"block_error"}
    assert [x["block"] for x in logged] == ["core.turnover"]
    assert answer.data["core"]["turnover"]["status"] == "not_measurable"
    assert answer.data["core"]["pnl"] == answer_metrics(figures).data["core"]["pnl"]


@pytest.mark.usefixtures("logged")
def test_every_warning_code_of_the_metrics_is_provoked() -> None:
    broken = replace(factories.run(), ledger=replace(factories.ledger(), ending=np.zeros(3)))
    standings = (
        record("pnl", 0.1, reconciliation=NOT_REPRODUCED),
        record("pnl", 0.1, reconciliation=NOT_CHECKED),
        record("pnl", 0.1, convention="over opening equity"),
    )
    answers = [
        answer_metrics(
            factories.run(sealed=None, **NO_LEDGER), may_call=EVERYTHING - {"signals.rebalances.get"}
        ),
        answer_metrics(
            factories.run(sealed=sealed([record("pnl", 0.1)]), **NO_DECISIONS), first="2020-02-01"
        ),
        answer_metrics(without_returns(factories.run())),
        answer_metrics(factories.run(sealed=None), last="2020-01-20"),
        answer_metrics(
            factories.run(ledger=replace(factories.ledger(), starting=np.ones(200), ending=np.ones(200)))
        ),
        answer_metrics(broken),
        answer_metrics(factories.run(ledger=in_debt())),
        *(answer_metrics(factories.run(sealed=sealed([x]))) for x in standings),
    ]
    given = {code for answer in answers for code in codes(answer)}
    assert given == (WARNING_CODES | NOTICE_CODES).keys() - {
        "kind_missing",
        "unknown_symbol",
        "comparison_cut",
    }
    blocks = {"rank_ic.raw", "rank_ic.conditioned", *documentation()["fields"]}
    for answer in answers:
        for entry in answer.warnings:
            assert entry.keys() <= {"code", "message", "kind", "block"}
            assert entry["block"] in blocks
            assert entry.get("kind", "metrics") in KINDS
            assert entry["message"].endswith(".")
