"""verify detects every change of published files and names the file."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from datasets.layout import MANIFEST, pointer_path
from pipeline.notices.evidence import Evidence
from pipeline.rule import Level
from pipeline.rules import Report
from pipeline.rules.registry import RULES
from pipeline.snapshot_builder import build_seal
from pipeline.snapshot_builder import snapshot as snapshot_module
from schemas.errors import KindNotPublished
from tests.rules.broken_seals import CASES, Case
from tests.support.history import ALPHA, History
from tests.support.seals import make_seal

Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_seal(tmp_path_factory.mktemp("valid"), ranks=True, tried=(1.0,))


def _faults(history: History, *arguments: str) -> list[dict[str, str]]:
    result = history.run("verify", "--json", *arguments)
    faults: list[dict[str, str]] = [fault for alpha in result.json["alphas"] for fault in alpha["faults"]]
    assert result.exit_code == (4 if faults else 0)
    return faults


def test_a_published_root_is_intact(history: History) -> None:
    for named in ([], [ALPHA, ALPHA]):  # an alpha named twice is one alpha
        result = history.run("verify", *named)
        assert result.exit_code == 0
        assert "1 of 1 alpha intact" in result.output


@pytest.mark.parametrize(
    "options",
    [
        {"raw": False, "half_life_weeks": None},
        {"ranks": True, "skipped": False, "pending": False},
        {"trades": False, "metrics": False, "description": False},
        {"without_kinds": ("decisions",)},
        {"without_kinds": ("portfolio", "positions", "pnl", "trades")},
        {"without_columns": {"decisions": ("forward_return",)}},
        {"equity_basis": 1e6},
    ],
)
def test_partial_runs_are_intact(tmp_path: Path, options: dict[str, object]) -> None:
    build_seal(str(make_seal(tmp_path, alpha_id=ALPHA, weeks=20, **options)), tmp_path / "root")  # type: ignore[arg-type]
    assert _faults(History(tmp_path / "root", (), ())) == []


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_file_is_named(history: History, damage: str, quick: bool) -> None:
    path = history.place("positions/book=long_only/part-0.parquet")
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-100] if damage == "cut" else data[:50] + bytes([data[50] ^ 1]) + data[51:])
    faults = _faults(history, *(["--quick"] if quick else []))
    assert [fault["file"] for fault in faults] == [str(path.relative_to(history.root))]
    assert faults[0]["check"] == {"cut": "size", "flipped": "digest", "gone": "missing"}[damage]


def test_a_manifest_with_a_wrong_digest_is_named(history: History) -> None:
    path = history.place(MANIFEST)
    path.write_bytes(path.read_bytes().replace(b'"missing": []', b'"missing": [ ]'))
    (fault,) = _faults(history)
    assert fault["file"].endswith(MANIFEST)
    assert "SHA-256" in fault["message"]


def test_show_warns_of_a_served_snapshot_without_a_manifest(history: History) -> None:
    assert "warning" not in history.run("show", ALPHA).output
    history.place(MANIFEST).unlink()
    shown = history.run("show", ALPHA)
    assert shown.exit_code == 0
    assert (
        f"warning: the manifest of the served snapshot {history.pointer.snapshot} is missing" in shown.output
    )
    assert f"`alpha-results verify {ALPHA}` says how to repair it" in shown.output


def test_an_unreadable_pointer_is_replaced_as_the_message_says(history: History) -> None:
    pointer, seal = history.root / pointer_path(ALPHA), str(history.seals[-1])
    pointer.write_text("{")
    fix = "remove that file and build the seal again"
    (fault,) = _faults(history)
    assert fix in fault["message"]
    assert "--force" not in history.run("verify").output, "a forced build does not replace a pointer"
    assert f"`alpha-results show {ALPHA}` says how to repair it" in history.run("list").output
    for command in (("show", ALPHA), ("rollback", ALPHA), ("build", seal, "--force")):
        result = history.run(*command)
        assert (result.exit_code, fix in result.output) == (4, True), result.output
    pointer.unlink()
    assert history.run("build", seal).exit_code == 0
    assert history.pointer.snapshot == history.snapshots[-1]
    assert history.run("verify").exit_code == 0


def test_an_unreadable_pointer_is_named_and_the_others_are_verified(history: History, tmp_path: Path) -> None:
    build_seal(str(make_seal(tmp_path, alpha_id="Test_sound", weeks=14)), history.root)
    (history.root / pointer_path(ALPHA)).write_text("{")
    result = history.run("verify")
    assert result.exit_code == 4
    assert "1 of 2 alphas intact" in result.output
    assert [fault["file"] for fault in _faults(history)] == [pointer_path(ALPHA)]


def _scaled(column: str) -> Change:
    return lambda rows: rows.with_columns(pl.col(column) * 1.001)


@pytest.mark.parametrize(
    ("relative", "change", "check"),
    [
        ("portfolio/book=long_short/part-0.parquet", _scaled("ending_equity"), "portfolio.identity"),
        ("positions/book=long_short/part-0.parquet", _scaled("signed_notional"), "positions.notional"),
        ("positions/book=long_short/part-0.parquet", _scaled("weight"), "positions.weight"),
        ("pnl/book=long_only/part-0.parquet", _scaled("market_pnl"), "pnl.total"),
        ("positions/book=long_short/part-0.parquet", lambda rows: rows[1:], "positions.total"),
        ("decisions/part-0.parquet", _scaled("score_z"), "derived"),
        ("decisions/part-0.parquet", lambda rows: rows.with_columns(cohort_size=pl.lit(7, pl.Int64)), "derived"),
        ("pnl/book=long_only/part-0.parquet", _scaled("net_pnl"), "derived"),
        ("equity_curve/book=long_only/part-0.parquet", _scaled("drawdown"), "derived"),
        ("weekly_signal/part-0.parquet", _scaled("ic"), "derived"),
        ("rebalances/part-0.parquet", lambda rows: rows.with_columns(pl.col("n_symbols") + 1), "derived"),
        ("books/part-0.parquet", lambda rows: rows.with_columns(pl.col("rows") + 1), "derived"),
        ("sealed_metrics/part-0.parquet", _scaled("recomputed_value"), "derived"),
        ("decisions/part-0.parquet", lambda rows: rows.reverse(), "order"),
        ("decisions/part-0.parquet", lambda rows: pl.concat([rows[:1], rows]), "table.key"),
        ("rebalances/part-0.parquet", lambda rows: rows.drop("n_symbols"), "columns"),
        ("rebalances/part-0.parquet", lambda rows: rows[:-1], "span"),
        ("equity_curve/book=long_only/part-0.parquet", lambda rows: rows.with_columns(drawdown=pl.lit(float("nan"))), "derived"),
    ],
)  # fmt: skip
def test_a_resigned_table_must_follow_from_the_run(
    history: History, relative: str, change: Change, check: str
) -> None:
    file = history.change_table(relative, change)
    results = [fault for fault in _faults(history) if fault["check"] == check]
    assert results, "not noticed"
    assert any(file.startswith(fault["file"]) for fault in results)
    assert _faults(history, "--quick") == [], "its digests agree, which is all a quick look compares"


def test_one_wrong_value_is_counted_in_the_singular(history: History) -> None:
    first = pl.int_range(pl.len()) == 0
    history.change_table("books/part-0.parquet", lambda rows: rows.with_columns(pl.col("rows") + first))
    (fault,) = _faults(history)
    assert fault["message"] == "has 1 value in rows other than recomputed"


def test_the_printed_fix_works(history: History) -> None:
    path = history.place("trades/book=long_only/part-0.parquet")
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert "--force" in history.run("verify").output
    assert not build_seal(str(history.seals[-1]), history.root).changed, (
        "a build does not look at what is served already"
    )
    assert build_seal(str(history.seals[-1]), history.root, force=True).changed
    assert path.read_bytes() == content
    assert _faults(history) == []


def test_a_missing_alpha_is_an_error(history: History) -> None:
    assert history.run("verify", "Test_none").exit_code == 9
    result = History(history.root / "nowhere", (), ()).run("verify")
    assert result.exit_code == 2
    assert "there is no folder" in result.output


_ON_ROWS = {
    (case.rule, case.file): case
    for case in reversed(CASES)
    if RULES[case.rule].level in {Level.TABLE, Level.RUN}
}
"""Rule and file -> the first seal that breaks the rule there; every one is checked in tests/rules."""


@pytest.mark.parametrize("broken", _ON_ROWS.values(), ids=str)
def test_every_broken_row_rule_is_detected(
    seal: Path, tmp_path: Path, broken: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.alter(seal)
    monkeypatch.setattr(
        snapshot_module, "check", lambda seal, **_: Report(seal.address, seal.alpha_id, evidence=Evidence())
    )
    try:
        build_seal(str(seal), tmp_path / "root")
    except (KindNotPublished, RuntimeWarning, pl.exceptions.SchemaError):
        # It cannot be part of a file or path, so it is never published and cannot be verified.
        assert broken.rule in {"table.finite", "table.null", "table.bound"}
        return
    assert _faults(History(tmp_path / "root", (), ()))


def test_one_changed_byte_of_any_file_is_detected(history: History) -> None:
    generator = random.Random(4)
    paths = sorted(path for path in history.place("").rglob("*") if path.is_file())
    assert len(paths) > 20
    for path in paths:
        content = path.read_bytes()
        place = generator.randrange(len(content))
        path.write_bytes(
            content[:place] + bytes([content[place] ^ (1 << generator.randrange(8))]) + content[place + 1 :]
        )
        (fault,) = _faults(history, "--quick")
        assert (history.root / fault["file"], fault["check"]) == (path, "digest")
        path.write_bytes(content)
    assert _faults(history) == []
