"""Compute the answer of `/metrics` from a run's figures and a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from datasets.figures.blocks import (
    ic_deciles,
    nwt_ic,
    nwt_ic_computed,
    nwt_ic_score_panel,
    nwt_ir,
    panel,
    rank_ic,
    signal_processing,
    tenure,
)
from datasets.figures.periods import computed_periods, periods
from datasets.figures.run_figures import RunFigures, Sources
from datasets.figures.series import FULL_HISTORY, Window, sessions_per_year
from datasets.figures.statistics import Span, core_statistics, unsealed
from datasets.figures.unavailable import MISSING_KIND, Unavailable, Warnings, guarded
from schemas.endpoints import ENDPOINTS
from schemas.metrics.core import CORE
from schemas.metrics.statistic import Checked
from schemas.tables.books import RAW_PREFIX

_DOC_PATH: Final = ENDPOINTS["performance.metrics.doc"].path


@dataclass(frozen=True, slots=True)
class MetricsQuery:
    """The parameters of a metrics request.

    Attributes
    ----------
    may_call : frozenset of str
        Registry ids of the endpoints the key may call.
    window : Window
        Days to narrow the figures to, where possible.
    granularity : str
        ``overall``, ``yearly`` or ``monthly``.
    panel : bool
        Whether to include the weekly panel.
    raw : bool
        Whether the key has raw-book access; without it, columns and records that require it are not named.
    alphas : frozenset of str
        Alphas named in notices about the run that the key may see.
    """

    may_call: frozenset[str]
    window: Window = FULL_HISTORY
    granularity: str = "overall"
    panel: bool = False
    raw: bool = False
    alphas: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a metrics request.

    Attributes
    ----------
    data : dict
        The `data` object, JSON-ready.
    warnings : tuple of dict
        The entries of `meta.warnings`.
    """

    data: dict[str, Any]
    warnings: tuple[dict[str, str], ...]


# Vanishing equity gives infinite returns; their figures are withheld, so NumPy need not warn.
@np.errstate(all="ignore")
def assemble(run: RunFigures, query: MetricsQuery) -> Answer:
    """Compute the answer to a request from a run's figures.

    Parameters
    ----------
    run : RunFigures
        Inputs of the run.
    query : MetricsQuery
        Parameters of the request, and permissions of the key.

    Returns
    -------
    Answer
        Every key of the declared payload except `doc`, which is the same for all runs. A block that is withheld or fails is
        null with a warning; the other blocks are not affected.
    """
    sources = Sources(run, query.may_call)
    rows, ledger, warnings = sources.within(query.window), sources.ledger, Warnings()
    frequency = ledger if isinstance(ledger, Unavailable) else sessions_per_year(ledger.date)
    unreadable = run.sealed if isinstance(run.sealed, Unavailable) else None
    records = run.records("overall")
    span = Span(records, sources, sources, run.equity_basis, unreadable, raw=query.raw)
    score_field = run.score_field if query.raw or not run.score_field.startswith(RAW_PREFIX) else None
    if run.sealed is None:
        warnings.add(
            "core", MISSING_KIND, "The run sealed no figures; those that can be computed are.", "metrics"
        )

    core = core_statistics(span, warnings, "core")
    if unreadable is None:
        _warn_of_unsealed(unsealed(CORE, span.records), core, warnings)
    else:
        text = f"The statistics of core are withheld: {unreadable.text}."
        warnings.add("core", unreadable.code, text, unreadable.kind)
    deciles = guarded("ic_deciles", ic_deciles, rows, score_field)
    data: dict[str, Any] = {
        "granularity": query.granularity,
        "checked": None
        if run.checked is None
        else run.checked.for_reader(raw=query.raw, may_read=query.alphas.__contains__),
        "window": {
            "from": None if query.window.first is None else query.window.first.isoformat(),
            "to": None if query.window.last is None else query.window.last.isoformat(),
        },
        "sessions_per_year": None if isinstance(frequency, Unavailable) else frequency,
        "core": {**core, "tenure": warnings.computed("core.tenure", tenure, rows)},
        "rank_ic": warnings.computed("rank_ic", rank_ic, span, warnings),
        "signal_processing": warnings.computed("signal_processing", signal_processing, run, raw=query.raw),
        "periods": None
        if query.granularity == "overall"
        else warnings.computed("periods", periods, run, sources, query.window, query.granularity, warnings),
        "within_window": None if rows is sources else _within_window(run, rows, query, warnings),
        "ic_deciles": warnings.or_null("ic_deciles", deciles),
        "nwt": {
            "ic": warnings.computed("nwt.ic", nwt_ic, span),
            "ic_score_panel": warnings.computed("nwt.ic_score_panel", nwt_ic_score_panel, rows),
            "ir": warnings.computed("nwt.ir", nwt_ir, rows),
        },
    }
    if query.panel:
        data["panel"] = warnings.computed("panel", panel, rows, deciles)
    if rows is not sources:
        _warn_of_lifetime(data, warnings)
    _warn_of_checks(data, warnings)
    data["doc_url"] = _DOC_PATH.format(alpha=run.alpha_id)
    data["alpha"] = run.alpha_id
    data["alpha_id"] = run.source_alpha_id
    return Answer(data, warnings.entries)


def _within_window(run: RunFigures, rows: Sources, query: MetricsQuery, warnings: Warnings) -> dict[str, Any]:
    """Compute for the window those blocks that otherwise describe the whole run."""
    name = "within_window"
    span = Span({}, rows, rows, run.equity_basis, raw=query.raw, computed=True)
    return {
        "core": core_statistics(span, warnings, f"{name}.core"),
        "rank_ic": warnings.computed(f"{name}.rank_ic", rank_ic, span, warnings, f"{name}.rank_ic"),
        "nwt": {"ic": warnings.computed(f"{name}.nwt.ic", nwt_ic_computed, rows)},
        "periods": None
        if query.granularity == "overall"
        else warnings.computed(f"{name}.periods", computed_periods, run, rows, query.granularity, warnings),
    }


def _warn_of_unsealed(names: Sequence[str], entries: Mapping[str, Any], warnings: Warnings) -> None:
    """Add a warning that lists the core statistics without a sealed value."""
    with_value = [name for name in names if entries[name]["value"] is not None]
    withheld = [name for name in names if entries[name]["value"] is None]
    parts = [f"computed instead: {', '.join(with_value)}"] if with_value else []
    parts += [f"withheld: {', '.join(withheld)}"] if withheld else []
    if parts:
        message = f"The run sealed no value of some core statistics; {'; '.join(parts)}."
        warnings.add("core", "missing_core_metrics", message)


def _warn_of_checks(data: Mapping[str, Any], warnings: Warnings) -> None:
    """Add notices about figures that no table supports, and about those sealed by another convention."""
    blocks = {
        "core": [data["core"]],
        "rank_ic": list((data["rank_ic"] or {}).values()),
        "periods": [period["core"] for period in data["periods"] or ()],
    }
    for block, parts in blocks.items():
        entries = [
            (name, entry)
            for part in parts
            for name, entry in part.items()
            if name != "tenure" and "deprecated" not in entry
        ]
        stated = [name for name, entry in entries if entry["checked"] == Checked.STATED]
        if stated:
            warnings.add(
                block,
                "figure_stated",
                f"Sealed, and supported by no table of the run: {_listed(stated)}. They take no part in sorts, bounds and "
                "comparisons.",
                "metrics",
            )
        by_other_convention = [name for name, entry in entries if entry.get("sealed_convention") is not None]
        if by_other_convention:
            warnings.add(
                block,
                "figure_by_other_convention",
                f"Sealed by another convention than the definition served: {_listed(by_other_convention)}.",
                "metrics",
            )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _warn_of_lifetime(data: Mapping[str, Any], warnings: Warnings) -> None:
    """Add warnings about blocks that the window does not narrow."""
    for block in ("core", "rank_ic", "nwt.ic"):
        content = data["nwt"]["ic"] if block == "nwt.ic" else data[block]
        if content is not None:
            warnings.add(
                block,
                "window_lifetime_only",
                f"The figures of {block} describe the whole run; those of the window are in within_window.{block}.",
            )
