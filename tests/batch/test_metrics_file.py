from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pipeline.batch.metrics_file import OUTCOMES
from pipeline.batch.result import SUCCESSES
from tests.support.pipeline_command import build
from tests.support.seals import rewrite

Seal = Callable[..., Path]
MONITORING = Path(__file__).resolve().parents[2] / "docs" / "monitoring.md"


def values(file: Path) -> dict[str, float]:
    """Return every sample of a file by its name and labels."""
    return {
        sample.name.removeprefix("alpha_results_")
        + "".join(f" {value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(file.read_text())
        for sample in family.samples
    }


@pytest.mark.parametrize("apart", [False, True])
def test_outcomes_are_counted_without_naming_seals(tmp_path: Path, seal: Seal, apart: bool) -> None:
    made = [str(seal("Test_a")), str(rewrite(seal("Test_b"), "pnl", lambda rows: rows[1:]))]
    file = tmp_path / "build.prom"
    which = ("--from", str(tmp_path / "seals"), "--jobs", "2") if apart else made
    result = build(tmp_path / "root", *which, "--metrics-file", str(file))
    assert result.exit_code == 1
    actual = values(file)
    assert {outcome: actual[f"builds_total {outcome}"] for outcome in OUTCOMES} == {
        **dict.fromkeys(OUTCOMES, 0), "built": 1, "refused": 1,
    }  # fmt: skip
    assert actual["build_exit_code"] == 1
    assert actual["build_seconds_count"] == 1
    assert actual["build_published_bytes_total"] > 0
    assert actual["build_finished_timestamp_seconds"] >= actual["build_started_timestamp_seconds"] > 0
    assert "Test_" not in file.read_text()
    assert [path.name for path in tmp_path.glob("build.prom*")] == ["build.prom"]
    document = MONITORING.read_text()
    for name in re.findall(r"^# TYPE (\S+)", file.read_text(), re.MULTILINE):
        assert f"`{name}`" in document
    assert set(SUCCESSES) < set(OUTCOMES)


def test_an_unavailable_store_is_reported(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    seal("Test_a")
    for name, value in {
        "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",  # no server listens there
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "any",
    }.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "build.prom"
    result = build("s3://bucket/root", "--from", str(tmp_path / "seals"), "--metrics-file", str(file))
    assert result.exit_code == 5, result.output
    actual = values(file)
    assert actual["build_exit_code"] == 5
    assert actual["build_stores_reachable"] == 0
    assert actual["build_looked_timestamp_seconds"] == 0


@pytest.mark.parametrize(
    ("name", "words"), [("build.txt", ".prom"), ("no-such-folder/build.prom", "--metrics-file")]
)
def test_an_unwritable_metrics_file_is_refused_before_building(
    tmp_path: Path, seal: Seal, name: str, words: str
) -> None:
    result = build(tmp_path / "root", str(seal("Test_a")), "--metrics-file", str(tmp_path / name))
    assert result.exit_code == 2
    assert words in result.output
    assert not (tmp_path / "root").exists()


def test_a_named_seal_takes_precedence_over_the_watched_folder(
    tmp_path: Path, seal: Seal, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = seal("Test_a")
    seal("Test_b")
    monkeypatch.setenv("ALPHA_RESULTS_SEALS", str(tmp_path / "seals"))
    assert build(tmp_path / "root", str(named), "--json").outcomes() == {"Test_a": "built"}
    assert build(tmp_path / "root", "--json").outcomes() == {"Test_a": "unchanged", "Test_b": "built"}
