"""The plot of the comparison: a panel per query, a bar per server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.ratios import FLOOR, OURS, Figures
from benchmarks.workload import QUERIES

mpl.use("agg")
import matplotlib.pyplot as plt

_MISS, _HIT, _PEER, _INK = "#0b6e99", "#7fb8d1", "#b9b9b9", "#333333"


def draw(results: dict[str, Any], file: Path) -> None:
    """Write the plot as PNG: answers a second at 16 connections, Q7 in MB/s."""
    figures = Figures(results)
    queries = figures.queries
    rows = -(-len(queries) // 2)
    canvas, panels = plt.subplots(rows, 2, figsize=(12, 2.9 * rows), squeeze=False)
    for panel, query in zip(panels.flat, queries, strict=False):
        _panel(panel, figures, query)
    for panel in panels.flat[len(queries) :]:
        panel.set_axis_off()
    canvas.subplots_adjust(left=0.11, right=0.985, top=0.93, bottom=0.015, wspace=0.3, hspace=0.32)
    canvas.suptitle(
        f"Answers a second at 16 connections: {OURS} with keys, limits and totals; peers without",
        fontsize=13,
        color=_INK,
    )
    canvas.savefig(file, dpi=110)
    plt.close(canvas)


def _panel(panel: Any, figures: Figures, query: str) -> None:
    walking = query == "Q7"
    field, scale = ("bytes_a_second", 1e6) if walking else ("rate", 1.0)
    bars = [
        (f"{OURS}, {state}", figures.of(OURS, query, state, 16, field), colour)
        for state, colour in (("hit", _HIT), ("miss", _MISS))
    ]
    peers = [(peer, figures.of(peer, query, "miss", 16, field), _PEER) for peer in figures.peers]
    bars += sorted(peers, key=lambda bar: -(bar[1] or 0))
    shown = [(name, value / scale, colour) for name, value, colour in bars if value is not None]
    names = [name for name, *_ in shown]
    panel.barh(names, [value for _, value, _ in shown], color=[colour for *_, colour in shown], height=0.72)
    # Bars of the same height in every panel.
    panel.set_ylim(len(figures.peers) + 1.6, -0.6)
    floor = figures.of(FLOOR, query, "constant", 16, field)
    most = max([value for _, value, _ in shown] + ([floor / scale] if floor else []), default=1.0)
    for place, (_, value, _) in enumerate(shown):
        text = f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
        panel.text(value + most * 0.01, place, text, va="center", fontsize=8, color=_INK)
    if floor:
        panel.axvline(floor / scale, color=_INK, linewidth=1, linestyle=":")
        panel.text(floor / scale, -0.62, "constant body ", ha="right", va="bottom", fontsize=7, color=_INK)
    panel.set_xlim(0, most * 1.14)
    about = QUERIES[query]
    panel.set_title(
        f"{query}  {about}" + (" (MB/s)" if walking else ""), loc="left", fontsize=9, color=_INK, pad=12
    )
    panel.tick_params(labelsize=8, length=0)
    panel.xaxis.set_visible(False)
    for side in ("top", "right", "bottom"):
        panel.spines[side].set_visible(False)
