"""Seals that break one rule each, and seals that only get a warning."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.check_command import check_seal
from pipeline.rule import Rule
from pipeline.rules import (
    Report,
    book_rules,
    fill_rules,
    price_rules,
    return_rules,
    selection_rules,
    target_rules,
)
from tests.rules.changes import (
    FIRST_PENDING,
    MONDAY_IN_2031,
    RECORD,
    TRADEABLE,
    TRADED_FILL,
    at,
    both,
    col,
    entry,
    flip_one_byte,
    link_positions,
    link_source_folder,
    manifest,
    more_records,
    no_parquet,
    put,
    repeat_first,
    soon,
    table,
)
from tests.support.seals import rewrite

DOUBLE_ENTRY = {
    name
    for module in (book_rules, fill_rules, price_rules, return_rules, selection_rules, target_rules)
    for name in (member.id for member in vars(module).values() if isinstance(member, Rule))
}
"""The rules that hold one table against another; tests/reconciliation breaks each by itself."""


def outcome(seal: Path) -> dict[str, Any]:
    """Return what `check --json` prints for a seal, without the process that the command starts."""
    report = check_seal(str(seal), False, None, None, lambda _: None)
    assert isinstance(report, Report), report
    result: dict[str, Any] = json.loads(json.dumps(report.to_dict()))
    return result


@dataclass(frozen=True)
class Case:
    rule: str
    what: str
    alter: Callable[[Path], Any]
    file: str
    rows: int
    shows: str
    also: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


def case(
    rule: str, what: str, alter: Callable[[Path], Any], file: str, rows: int, shows: str, *also: str
) -> Case:
    return Case(rule, what, alter, file, rows, shows, frozenset(also))


CASES = (
    case("seal.manifest", "no equity", manifest(equity_basis=0), "seal.json", 1, "equity_basis"),
    case("seal.manifest", "two keys", manifest(alpha_id="a/b", engine="x"), "seal.json", 2, "alpha_id"),
    case("seal.path", "climbs", entry("pnl", path="../pnl.parquet"), "../pnl.parquet", 1, "../pnl.parquet"),
    case("seal.path", "absolute", entry("pnl", path="/etc/passwd"), "/etc/passwd", 1, "absolute"),
    case(
        "seal.manifest",
        "a number beyond a double",
        entry("pnl", path=10**400),
        "seal.json",
        1,
        "kinds.pnl.path",
    ),
    case("seal.path", "no path", entry("pnl", path=""), "pnl.parquet", 1, "empty"),
    case("seal.path", "backslash", entry("pnl", path="..\\pnl"), "..\\pnl", 1, "backslash"),
    case("seal.path", "a link", link_positions, "positions.parquet", 1, "link"),
    case("seal.path", "a folder that is a link", link_source_folder, "source/", 8, "link"),
    case(
        "seal.path",
        "a source file outside",
        entry("source", files={"../seal.json": "0" * 64, "ok.py": "0" * 64}),
        "source/",
        1,
        "../seal.json",
    ),
    case("seal.size", "a table", entry("pnl", bytes=2**40), "pnl.parquet", 1, "limit"),
    case("seal.size", "rows", entry("pnl", rows=2**40), "pnl.parquet", 1, "limit"),
    case("seal.clock", "year 1", manifest(sealed_at="0001-01-01T00:00:00Z"), "seal.json", 1, "0001-01-01"),
    case(
        "seal.clock",
        "tomorrow",
        manifest(sealed_at=soon(days=1)),
        "seal.json",
        1,
        "sealed_at",
    ),
    case(
        "seal.clock",
        "both",
        manifest(started_at="2999-01-01T00:00:00Z", sealed_at="1969-12-31T23:59:59Z"),
        "seal.json",
        2,
        "1969-12-31",
    ),
    case(
        "portfolio.timestamp",
        "a day late",
        table("portfolio", put("timestamp", col("timestamp").dt.offset_by("1d"), 5)),
        "portfolio.parquet",
        5,
        "timestamp",
    ),
    case(
        "portfolio.timestamp",
        "a day early",
        table("portfolio", put("timestamp", col("timestamp").dt.offset_by("-1d"), 3)),
        "portfolio.parquet",
        3,
        "timestamp",
    ),
    *[
        case(
            "table.bound",
            f"{what} in a note",
            table("decisions", put("decision_reason", text, 2)),
            "decisions.parquet",
            2,
            "decision_reason",
        )
        for what, text in {"a control character": "a\x1b[31m", "too much": "x" * 1001}.items()
    ],
    *[
        case(
            "table.bound",
            f"{what} in a ticker",
            table("decisions", put("symbol", text)),
            "decisions.parquet",
            1,
            "symbol",
        )
        for what, text in {
            "NUL": "A\x00B",
            "a control character": "A\x07",
            "a deleted character": "A\x7f",
            "an invisible character": "A\u200b",
            "a change of direction": "A\u202e",
            "too many characters": "A" * 100_000,
        }.items()
    ],
    case("seal.digest", "one bit", flip_one_byte, "trades.parquet", 1, "sha256"),
    case(
        "seal.digest", "no file", lambda seal: (seal / "metrics.json").unlink(), "metrics.json", 1, "missing"
    ),
    case("seal.digest", "size", entry("pnl", bytes=1), "pnl.parquet", 1, "bytes"),
    case("seal.digest", "rows", entry("pnl", rows=1), "pnl.parquet", 1, "rows"),
    case("seal.path", "a folder", entry("pnl", path="source"), "source", 1, "it is a folder"),
    case(
        "table.columns",
        "a missing column",
        table("positions", lambda frame: frame.drop("quantity").head(7)),
        "positions.parquet",
        7,
        "quantity",
        "positions.total",
    ),
    case(
        "table.columns",
        "text for a number",
        table("trades", lambda frame: frame.head(3).with_columns(col("fee").cast(pl.String))),
        "trades.parquet",
        3,
        "fee",
    ),
    case(
        "table.columns",
        "an instant without a zone",
        table("trades", lambda f: f.head(3).with_columns(col("timestamp").dt.replace_time_zone(None))),
        "trades.parquet",
        3,
        "timestamp",
    ),
    case(
        "table.columns",
        "a day after the calendar's last",
        table("trades", put("decision_at", col("decision_at") + pl.duration(days=365 * 9000), 3)),
        "trades.parquet",
        3,
        "years 1 to 9999",
    ),
    case(
        "table.columns",
        "an instant before its first",
        table("decisions", put("fill_at", col("fill_at") - pl.duration(days=365 * 2200), 2, TRADED_FILL)),
        "decisions.parquet",
        2,
        "years 1 to 9999",
    ),
    case("table.columns", "no Parquet", no_parquet, "pnl.bin", 0, "Parquet"),
    case(
        "table.finite",
        "NaN",
        table("positions", put("weight", float("nan"), 7)),
        "positions.parquet",
        7,
        "nan",
    ),
    case("table.finite", "inf", table("pnl", put("market_pnl", float("-inf"))), "pnl.parquet", 1, "-inf"),
    case(
        "table.finite",
        "a cost",
        table("pnl", put("execution_cost", float("nan"))),
        "pnl.parquet",
        1,
        "execution_cost",
    ),
    case(
        "table.finite",
        "an optional column",
        table("decisions", put("forward_return", float("inf"), 2, TRADED_FILL)),
        "decisions.parquet",
        2,
        "forward_return",
    ),
    case(
        "table.finite",
        "a sealed figure",
        table("metrics", lambda _: {"records": [RECORD | {"value": float("nan")}]}),
        "metrics.json",
        1,
        "nan",
    ),
    case("table.null", "a book", table("trades", put("book", None, 2)), "trades.parquet", 2, "book"),
    case(
        "table.null",
        "a flag",
        table("decisions", put("next_open_tradeable", None)),
        "decisions.parquet",
        1,
        "null",
    ),
    case("table.key", "a name twice", table("positions", repeat_first), "positions.parquet", 2, "symbol"),
    case("table.key", "a week twice", table("rebalances", repeat_first), "rebalances.parquet", 2, "date"),
    case("table.key", "a session twice", table("portfolio", repeat_first), "portfolio.parquet", 2, "book"),
    case(
        "table.vocabulary",
        "a phase",
        table("trades", put("phase", "opened", 6, col("phase") == "open")),
        "trades.parquet",
        6,
        "opened",
    ),
    case(
        "table.vocabulary",
        "a reason",
        table("decisions", put("unavailability_reason", "", where=~TRADEABLE)),
        "decisions.parquet",
        1,
        "unavailability_reason",
    ),
    case(
        "table.vocabulary",
        "a unit",
        table("metrics", more_records(RECORD | {"unit": "percent"})),
        "metrics.json",
        1,
        "percent",
    ),
    case(
        "table.bound", "above 0", table("trades", put("fill_price", 0.0)), "trades.parquet", 1, "fill_price"
    ),
    case("table.bound", "not below 0", table("trades", put("fee", -1e-12)), "trades.parquet", 1, "fee"),
    case("table.bound", "not 0", table("trades", put("quantity", 0.0, 2)), "trades.parquet", 2, "quantity"),
    case(
        "table.bound",
        "not above 0",
        table("pnl", put("execution_cost", 0.5)),
        "pnl.parquet",
        1,
        "execution_cost",
        "pnl.total",
    ),
    case("table.bound", "a ticker", table("decisions", put("symbol", "A,B")), "decisions.parquet", 1, "A,B"),
    case(
        "table.bound", "white space", table("decisions", put("symbol", "A B")), "decisions.parquet", 1, "A B"
    ),
    case(
        "table.bound",
        "white space to some readers only",
        table("decisions", put("symbol", "\ufeffA")),
        "decisions.parquet",
        1,
        "\\ufeffA",
    ),
    case(
        "table.bound",
        "a book that is a path",
        table("trades", put("book", "../books", 2)),
        "trades.parquet",
        2,
        "../books",
        "trades.session",
    ),
    case("table.bound", "no ticker", table("decisions", put("symbol", "")), "decisions.parquet", 1, "symbol"),
    case(
        "table.bound",
        "no book",
        table("trades", put("book", "")),
        "trades.parquet",
        1,
        "book",
        "trades.session",
    ),
    case(
        "rebalances.status",
        "skipped",
        table("rebalances", put("week_status", "skipped")),
        "rebalances.parquet",
        1,
        "skipped",
    ),
    case(
        "rebalances.status",
        "prose",
        table("rebalances", put("week_status", "Not enough", 3)),
        "rebalances.parquet",
        3,
        "Not enough",
    ),
    case(
        "decisions.week",
        "an unknown week",
        table("decisions", put("date", col("date") - pl.duration(days=1000), 2)),
        "decisions.parquet",
        2,
        "2018-",
    ),
    case(
        "decisions.untradeable",
        "a reason too many",
        table("decisions", put("unavailability_reason", "halted", 2, TRADEABLE)),
        "decisions.parquet",
        2,
        "halted",
    ),
    case(
        "decisions.untradeable",
        "a reason too few",
        table("decisions", put("unavailability_reason", None, where=~TRADEABLE)),
        "decisions.parquet",
        1,
        "false",
    ),
    *(
        case(
            "decisions.untradeable",
            f"a {column}",
            table("decisions", put(column, value, where=~TRADEABLE)),
            "decisions.parquet",
            1,
            column,
        )
        for column, value in (
            ("long_short_target_weight", -0.25),
            ("raw_long_short_target_weight", 0.25),
            ("fill_at", MONDAY_IN_2031),
            ("raw_fill_at", MONDAY_IN_2031),
        )
    ),
    *(
        case(
            "decisions.pending",
            f"a {column}",
            table("decisions", put(column, value, 2, FIRST_PENDING & TRADEABLE)),
            "decisions.parquet",
            2,
            column,
        )
        for column, value in (
            ("fill_at", MONDAY_IN_2031),
            ("raw_fill_at", MONDAY_IN_2031),
            ("forward_return", 0.01),
        )
    ),
    case(
        "decisions.long_only",
        "short in a pending week",
        table("decisions", put("long_only_target_weight", -0.1, where=FIRST_PENDING & TRADEABLE)),
        "decisions.parquet",
        1,
        "-0.1",
    ),
    case(
        "decisions.rank",
        "rank 0",
        table("decisions", put("average_rank", 0.0, where=col("average_rank") == 1)),
        "decisions.parquet",
        1,
        "average_rank",
    ),
    case(
        "decisions.rank",
        "beyond the cohort",
        table("decisions", put("raw_average_rank", 500.0, where=col("raw_average_rank").is_not_null())),
        "decisions.parquet",
        1,
        "cohort_size",
    ),
    case(
        "portfolio.identity",
        "carry",
        table("portfolio", put("cash_carry", col("cash_carry") + 1e-3, 7)),
        "portfolio.parquet",
        7,
        "expected",
    ),
    case(
        "portfolio.cash",
        "cash",
        table("portfolio", put("cash_end", col("cash_end") + 1e-3)),
        "portfolio.parquet",
        1,
        "expected",
    ),
    case(
        "portfolio.continuity",
        "a jump",
        table(
            "portfolio",
            both(
                put("starting_equity", col("starting_equity") + 1e-3, where=col("date") > col("date").min()),
                put("cash_carry", col("cash_carry") - 1e-3, where=col("date") > col("date").min()),
            ),
        ),
        "portfolio.parquet",
        1,
        "starting_equity",
    ),
    case(
        "portfolio.signs",
        "a cost that pays",
        table(
            "portfolio",
            both(
                put("cash_carry", col("cash_carry") + col("execution_cost") - 1e-3),
                put("execution_cost", 1e-3),
            ),
        ),
        "portfolio.parquet",
        1,
        "execution_cost",
        "pnl.total",
    ),
    case(
        "positions.notional",
        "a mark",
        table("positions", put("mark_price", col("mark_price") * 1.001, 6)),
        "positions.parquet",
        6,
        "expected",
    ),
    case(
        "positions.weight",
        "a weight",
        table("positions", put("weight", col("weight") * 1.001, 6)),
        "positions.parquet",
        6,
        "ending_equity",
    ),
    case(
        "positions.total",
        "a name left out",
        table("positions", lambda frame: frame.slice(1)),
        "positions.parquet",
        1,
        "expected",
    ),
    case(
        "positions.total",
        "a session of no ledger",
        table(
            "positions",
            put("date", col("date") + pl.duration(days=5000), where=col("date") == col("date").max()),
        ),
        "positions.parquet",
        2,
        "no such session",
    ),
    case(
        "pnl.total",
        "a flow",
        table("pnl", put("market_pnl", col("market_pnl") + 1e-3)),
        "pnl.parquet",
        1,
        "market_pnl",
    ),
    case(
        "pnl.total",
        "no rows at all for a day with costs",
        table(
            "pnl",
            lambda frame: frame.filter((col("date") != col("date").min()) | (col("book") != "long_only")),
        ),
        "pnl.parquet",
        1,
        "expected",
    ),
    case(
        "trades.session",
        "a holiday",
        table("trades", put("timestamp", MONDAY_IN_2031, 6)),
        "trades.parquet",
        6,
        "2031-06-02T13:30:00",
    ),
    case(
        "trades.session",
        "an adjustment of no book",
        table("trades", put("book", "ghost_adjustments")),
        "trades.parquet",
        1,
        "ghost_adjustments",
    ),
    case(
        "trials.days",
        "a day that one of two trials lacks",
        table("trials", lambda frame: frame.slice(1)),
        "trials.parquet",
        1,
        "half_life_weeks=2.0",
    ),
    case(
        "trials.own",
        "the run left out of its trials",
        table(
            "trials",
            put("period_return", col("period_return") + 1e-6, 10, col("trial") == "half_life_weeks=2.0"),
        ),
        "trials.parquet",
        10,
        "half_life_weeks=2.0",
    ),
    case(
        "trials.own",
        "a trial of days that the book has not",
        table("trials", lambda frame: frame.with_columns(col("date").dt.offset_by("40y"))),
        "trials.parquet",
        130,
        "half_life_weeks=1.0",
    ),
    case(
        "trades.reasons",
        "an exit on open",
        table("trades", put("exit_reason", "risk_exit", 2, col("phase") == "open")),
        "trades.parquet",
        2,
        "risk_exit",
    ),
    case(
        "metrics.record",
        "twice",
        table("metrics", more_records(RECORD, RECORD)),
        "metrics.json",
        2,
        "more than once",
    ),
    case(
        "metrics.record",
        "a field less",
        table("metrics", more_records({"name": "x"})),
        "metrics.json",
        1,
        "(absent)",
    ),
    case(
        "metrics.record",
        "an integer that not every reader of JSON reads exactly",
        table("metrics", more_records(RECORD | {"value": 2**53 + 1})),
        "metrics.json",
        1,
        "a number, within 2**53 of 0",
    ),
    case(
        "metrics.record",
        "no period",
        table("metrics", more_records(RECORD | {"scope": "yearly"})),
        "metrics.json",
        1,
        "2020",
    ),
    case(
        "metrics.record",
        "the year 0",
        table("metrics", more_records(RECORD | {"scope": "yearly", "period": "0000"})),
        "metrics.json",
        1,
        "2020",
    ),
    case(
        "metrics.record",
        "no list",
        table("metrics", lambda document: document["records"]),
        "metrics.json",
        1,
        "records",
    ),
    case(
        "description.object",
        "a list",
        table("description", lambda document: [document]),
        "description.json",
        1,
        "object",
    ),
    *(
        case(
            "description.shape",
            f"{path} is {value!r}",
            table("description", at(path, value)),
            "description.json",
            1,
            shows,
        )
        for path, value, shows in (
            ("name", ["A"], '"name"'),
            ("tldr", 7, "a string"),
            ("copyright", {}, "a string"),
            ("classification", "equity", "an object"),
            ("classification.tags", "one", "a list"),
            ("classification.tags", ["one", None], "classification.tags[1]"),
            ("classification.frequency.0", 1, "classification.frequency[0]"),
            ("thesis.falsification_criteria", [{"metric": 1}], "thesis.falsification_criteria[0].metric"),
            ("thesis.falsification_criteria", [None], "an object"),
            ("signal.pseudocode", "s = f(x)", "a list"),
            ("parameters", {}, "a list"),
            ("parameters.0.range", [1.0], "a list of 2"),
            ("parameters.0.range", [1.0, "4"], "parameters[0].range[1]"),
            ("parameters.0.tunable", 1, "true or false"),
            ("parameters.0.default", 2**53 + 1, "2**53"),
            ("parameters.0.search_values", [{"deep": [10**30]}], "parameters[0].search_values[0]"),
            ("parameters.0.selected_value_by_test_year", {"20": "2.0"}, "keys that match"),
            ("parameters.0.selected_value_by_test_year", {"2020": 2.0}, "a string"),
            ("data_requirements.lookback_bars", True, "an integer"),
            ("data_requirements.lookback_bars", 252.0, "an integer"),
            ("data_requirements.warmup_bars", -1, "at least 0"),
            ("data_requirements.fields.0.required", "yes", "data_requirements.fields[0].required"),
            ("source_papers", "none", "a list"),
            ("source_papers.0.role", "Seed", "one of seed, mechanism"),
            ("source_papers.0.role", ["seed"], "one of seed, mechanism"),
            ("source_papers.0.published_date", "1993-02-30", "YYYY-MM-DD"),
            ("source_papers.0.published_date", "1993", "YYYY-MM-DD"),
        )
    ),
)
WARNED = (
    case("seal.unknown", "a key", manifest(colour="blue"), "seal.json", 1, "colour"),
    case(
        "seal.unknown",
        "a kind",
        lambda seal: rewrite(
            seal,
            "seal",
            lambda document: (
                document | {"kinds": document["kinds"] | {"notes": document["kinds"]["description"]}}
            ),
        ),
        "seal.json",
        1,
        "kinds.notes",
    ),
    case(
        "table.extra",
        "a column",
        table("pnl", lambda frame: frame.with_columns(mood=pl.lit("good"))),
        "pnl.parquet",
        1,
        "mood",
    ),
    case(
        "description.extra",
        "a key",
        table("description", at("thesis.moral", "none")),
        "description.json",
        1,
        "thesis.moral",
    ),
    case(
        "description.extra",
        "the address, which the manifest holds",
        table("description", at("alpha_id", "Test_other")),
        "description.json",
        1,
        "alpha_id",
    ),
    case(
        "description.seed",
        "none",
        table("description", at("source_papers.0.role", "validation")),
        "description.json",
        1,
        "no seed",
    ),
    case(
        "description.seed",
        "two",
        table("description", lambda document: document | {"source_papers": document["source_papers"] * 2}),
        "description.json",
        2,
        "source_papers[1].role",
    ),
    case(
        "description.history",
        "counted and told",
        table("description", at("data_requirements.history_requirement", "a year")),
        "description.json",
        1,
        "lookback_bars",
    ),
    case("table.extra", "a field", table("metrics", more_records(RECORD | {"p": 1})), "metrics.json", 1, "p"),
    case(
        "decisions.rank_order",
        "two names exchanged",
        table(
            "decisions",
            put(
                "average_rank",
                3 - col("average_rank"),
                2,
                (col("date") == col("date").max()) & col("average_rank").is_in([1.0, 2.0]),
            ),
        ),
        "decisions.parquet",
        1,
        "rank_of_stronger",
    ),
)
