"""Row tables shared between processes, and a service without their folder."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

from tests.support import plain_http, published
from tests.support.ports import free_port
from tests.support.server import served, token_for
from tests.support.waiting import eventually

RUN = f"/v1/alphas/{published.ALPHA}"


def test_a_second_process_reuses_row_tables(root: Path, tmp_path: Path) -> None:
    token, place = token_for(root), tmp_path / "rows"
    first = tables_of_a_process(root, place, tmp_path / "first.log", token)
    second = tables_of_a_process(root, place, tmp_path / "second.log", token)
    assert first["miss"] > 0
    assert second["hit"] > 0
    assert second["miss"] == 0


def tables_of_a_process(root: Path, place: Path, log: Path, token: str) -> dict[str, float]:
    """Start a process, request until it opened a table, and return its counts of tables opened and made."""
    port = free_port()

    def counted() -> dict[str, float]:
        text = plain_http.get(f"http://127.0.0.1:{port}/metrics").text
        actual = re.findall(r'rendered_rows_reads_total{result="(\w+)"} ([\d.]+)', text)
        return {result: float(count) for result, count in actual}

    requested = itertools.count()

    with served(root, "--rows", str(place), "--metrics-port", str(port), log=log) as (_, base):

        def opened() -> bool:
            address = f"{base}{RUN}/scores?limit=7&offset={next(requested) % 20}"
            actual = plain_http.get(address, headers={"authorization": f"Bearer {token}"})
            assert len(actual.json()["data"]) == 7
            return counted().get("hit", 0) > 0

        eventually(opened)
        return counted()


def test_without_a_row_folder_the_service_warns_and_answers(root: Path, tmp_path: Path) -> None:
    token, log = token_for(root), tmp_path / "server.log"
    (tmp_path / "file").write_bytes(b"")
    with served(root, "--rows", str(tmp_path / "file"), log=log) as (_, base):
        result = plain_http.get(
            f"{base}{RUN}/portfolio?limit=3", headers={"authorization": f"Bearer {token}"}
        )
        assert result.status_code == 200
    (line,) = [
        x for x in map(json.loads, log.read_text().splitlines()) if x["event"] == "rendered_rows_in_memory"
    ]
    assert line["folder"] == str(tmp_path / "file")
