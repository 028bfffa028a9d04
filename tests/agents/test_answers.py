"""Answers of tools, cut to their limit of bytes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from serve.agents import tools
from serve.agents.answer import MAX_BYTES, fit


def test_lists_within_the_entries_of_a_list_are_cut() -> None:
    rolling = [{"date": "2022-01-03", "alpha_annualised": 0.01 * n, "r_squared": 0.5} for n in range(500)]
    models = [{"name": name, "r_squared": 0.5, "rolling": rolling} for name in ("SPY", "factors")]
    text = fit({"exposures": {"data": {"book": "long_short", "models": models}, "call": "GET /v1/…"}})
    assert len(text.encode()) <= MAX_BYTES
    answer = json.loads(text)
    shown = answer["exposures"]["data"]["models"]
    assert [model["name"] for model in shown] == ["SPY", "factors"]
    for place, model in enumerate(shown):
        cut = answer["cut"][f"exposures.data.models.{place}.rolling"]
        assert cut == {"of": 500, "shown": len(model["rolling"])}


def test_every_omitted_member_is_named() -> None:
    figures: dict[str, object] = {
        f"{name}{number}": "x" * 199 for name in ("icir", "ic") for number in range(40)
    }
    figures |= {"icir": {"text": ["x" * 190] * 2}, "ic": {"text": ["x" * 180] * 2}}
    text = fit({"metrics": {"data": {"core": figures}}})
    answer = json.loads(text)
    left_out = figures.keys() - answer["metrics"]["data"]["core"].keys()
    assert {"icir", "ic"} <= left_out
    assert {f"metrics.data.core.{name}" for name in left_out} <= answer["cut"].keys()


def test_many_long_texts_are_cut_and_then_omitted() -> None:
    texts = {f"text{number}": "x" * 300 for number in range(60)}
    answer = json.loads(fit({"description": {"data": {"thesis": texts}}}))
    shown = answer["description"]["data"]["thesis"]
    assert set(shown.values()) == {"x" * 200 + "…"}
    left_out = {f"description.data.thesis.{name}" for name in texts.keys() - shown.keys()}
    assert left_out
    assert {name for name, entry in answer["cut"].items() if not entry["shown"]} == left_out


def test_an_answer_is_cut_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def recorded(parts: Mapping[str, Any]) -> str:
        threads.append(threading.current_thread())
        return fit(parts)

    async def empty(_: tools.Call) -> tuple[int, Any]:
        return 200, {"data": {}}

    monkeypatch.setattr(tools, "fit", recorded)
    asyncio.run(tools.Tools(empty).risk("Test_full"))
    assert threads
    assert threading.current_thread() not in threads
