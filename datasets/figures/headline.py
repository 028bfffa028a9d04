"""Headline figures of an alpha, computed at publication and recorded in its pointer.

Lists of ten thousand alphas read them from the pointers in memory, without opening snapshots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final, Self

import msgspec
import numpy as np
from msgspec import Meta

from datasets.figures.blocks import rank_ic, tenure
from datasets.figures.checks import CheckSummary
from datasets.figures.equity import solvent_returns
from datasets.figures.newey_west import newey_west
from datasets.figures.ratios import annualised_return, annualised_volatility
from datasets.figures.run_figures import Ledger, RunFigures, Sources
from datasets.figures.series import measured
from datasets.figures.sharpe import probabilistic_sharpe, sharpe_moments
from datasets.figures.statistics import Span, core_statistics
from datasets.figures.unavailable import Figure, Unavailable, Warnings
from datasets.figures.withheld import UNBOUNDED
from schemas.metrics.headline import HEADLINE_VERSION, RECORDED, HeadlineFigure
from schemas.metrics.statistic import DERIVED, INDEX, LEDGER, SOURCES, Checked

SEALED: Final = ""
"""Marks a sealed figure instead of a kind of data."""
_MAX_TAGS: Final = 50
_MAX_TAG_CHARACTERS: Final = 100
"""Maximum tags in a pointer, and characters of each."""
_MAX_REASON_CHARACTERS: Final = 300
_FAILED: Final = "the figure could not be computed from the published files"
OTHER_VERSION: Final = "the figures were recorded by another version of the pipeline; build the seal again"
_NONE: Final = "-"
_CHECKED: Final = {
    Checked.REPRODUCED: "r",
    Checked.COMPUTED: "c",
    Checked.STATED: "s",
    Checked.CONTRADICTED: "x",
}
_CODES: Final = {SEALED: "s", **{source.kind: source.kind[0] for source in SOURCES}}


_Figure = tuple[float, str, Checked]
"""A value in the unit of :data:`schemas.metrics.headline.RECORDED`, the kind of data it was computed from (:data:`SEALED` for a
sealed one), and its evidence."""


@np.errstate(all="ignore")
def headline_of(run: RunFigures, description: Any, cost_bp: Figure) -> dict[str, Any]:
    """Compute the headline figures of a run, as its pointer records them.

    Parameters
    ----------
    run : RunFigures
        Inputs of the run, every part readable.
    description : Any
        The sealed description; None if the run has none.
    cost_bp : float or Unavailable
        Execution cost of the long_short book, in basis points of traded notional.

    Returns
    -------
    dict
        JSON-ready; decoded by :class:`Headline`. A figure that is not determined, or not in the list's
        unit, is withheld with the reason.
    """
    sources = Sources(run, [source.endpoint for source in SOURCES])
    records = run.records("overall")
    span = Span(records, sources, sources, run.equity_basis)
    blocks = {"core": core_statistics(span, Warnings(), "core"), "rank_ic": rank_ic(span, Warnings())}
    screened = _screened(sources, cost_bp)
    figures: dict[str, _Figure | Unavailable] = {}
    for figure in RECORDED:
        if figure.path:
            figures[figure.name] = _of_metrics(blocks, figure)
        else:
            value, kind = screened[figure.name]
            figures[figure.name] = (
                value if isinstance(value, Unavailable) else (float(value), kind, Checked.COMPUTED)
            )
    tags = _tags(description)
    return {
        **_record(figures),
        **({} if tags is None else {"tags": tags}),
        **({} if run.checked is None else {"checked": asdict(run.checked)}),
    }


def _record(figures: Mapping[str, _Figure | Unavailable]) -> dict[str, Any]:
    """Encode all figures compactly, because every node keeps those of all alphas in memory."""
    entries = [None if isinstance(figure, Unavailable) else figure for figure in figures.values()]
    return {
        "version": HEADLINE_VERSION,
        "values": [None if entry is None else entry[0] for entry in entries],
        "made_of": "".join(_NONE if entry is None else _CODES[entry[1]] for entry in entries),
        "figures_checked": "".join(_NONE if entry is None else _CHECKED[entry[2]] for entry in entries),
        "withheld": {
            name: figure.text[:_MAX_REASON_CHARACTERS]
            for name, figure in figures.items()
            if isinstance(figure, Unavailable)
        },
    }


def _screened(sources: Sources, cost_bp: Figure) -> dict[str, tuple[Figure, str]]:
    """Compute the figures for screening, each with the kind of data it comes from."""
    span = tenure(sources)
    years = (span, INDEX.kind) if isinstance(span, Unavailable) else (span["years"], span["source"])
    figures = {**_of_ledger(sources.ledger), "cost_bp": cost_bp}
    return {"tenure_years": years, **{name: (figure, LEDGER.kind) for name, figure in figures.items()}}


def _of_ledger(ledger: Ledger | Unavailable) -> dict[str, Figure]:
    names = ("sessions", "annualised_return", "volatility", "t_stat", "probabilistic_sharpe")
    if isinstance(ledger, Unavailable):
        return dict.fromkeys(names, ledger)
    returns = solvent_returns(ledger.starting, ledger.ending)
    if isinstance(returns, Unavailable):
        return dict.fromkeys(names, returns)
    test, moments, known = newey_west(returns), sharpe_moments(returns), measured(returns)
    figures: dict[str, Figure] = {
        "sessions": float(known.size),
        "t_stat": test if isinstance(test, Unavailable) else test.t_stat,
        "probabilistic_sharpe": moments
        if isinstance(moments, Unavailable)
        else probabilistic_sharpe(moments),
        "annualised_return": annualised_return(known),
        "volatility": annualised_volatility(known),
    }
    return {
        name: UNBOUNDED if isinstance(figure, float) and not math.isfinite(figure) else figure
        for name, figure in figures.items()
    }


def _of_metrics(blocks: Mapping[str, Any], figure: HeadlineFigure) -> _Figure | Unavailable:
    """Return the value of a figure of the metrics; it is withheld with its block, and in another unit than the list's."""
    entry: Any = blocks
    for step in figure.path:
        if isinstance(entry, Unavailable):
            return entry
        entry = entry[step]
    value = entry["value"]
    if value is None:
        return Unavailable("insufficient_data", entry["withheld_reason"])
    if (entry["unit"], entry["annualisation"]) != (figure.unit, figure.statistic.annualisation):
        where, unit = ".".join(figure.path), f"{entry['unit']} ({entry['annualisation']})"
        return Unavailable(
            "other_unit",
            f"the run's figure is in {unit}, which cannot be compared; see {where} in its metrics",
        )
    kind = figure.statistic.source.kind if entry["source_kind"] == DERIVED else SEALED
    return value, kind, Checked(entry["checked"])


def _tags(description: Any) -> list[str] | None:
    if not isinstance(description, Mapping):
        return None
    classification = description.get("classification")
    tags = classification.get("tags") if isinstance(classification, Mapping) else None
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return [tag[:_MAX_TAG_CHARACTERS] for tag in texts[:_MAX_TAGS]]


def without_figures() -> dict[str, Any]:
    """Return the record of a run with unreadable files.

    Returns
    -------
    dict
        The record, with every figure withheld.
    """
    reason = Unavailable("insufficient_data", _FAILED)
    return _record(dict.fromkeys((figure.name for figure in RECORDED), reason))


STATED: Final = ord(_CHECKED[Checked.STATED])
"""Code of a figure that no table supports."""
CODE_OF_KIND: Final = {kind: ord(code) for kind, code in _CODES.items()}
"""Kind of data, or :data:`SEALED` -> its code in :attr:`Headline.made_of`."""
CHECKED_BY_CODE: Final = {ord(code): checked for checked, code in _CHECKED.items()}
"""Code in :attr:`Headline.figures_checked` -> evidence of a figure."""
Recorded = Mapping[str, Any]
"""A pointer's record, as :func:`headline_of` returns it."""


def has_headline(recorded: Recorded) -> bool:
    """Whether this version of the pipeline computed the figures.

    Parameters
    ----------
    recorded : Recorded
        Record in the pointer.

    Returns
    -------
    bool
        False for a record of another version.
    """
    return recorded.get("version") == HEADLINE_VERSION


_N_FIGURES: Final = len(RECORDED)
_OneEach = Annotated[tuple[float | None, ...], Meta(min_length=_N_FIGURES, max_length=_N_FIGURES)]
_CodeEach = Annotated[str, Meta(pattern=rf"^[!-~]{{{_N_FIGURES}}}\Z")]


@dataclass(frozen=True, slots=True)
class Headline:
    """The figures that a pointer records, by default none.

    Attributes
    ----------
    values : tuple of (float or None)
        In the order of :data:`schemas.metrics.headline.RECORDED`; None for a figure without a value.
    made_of, figures_checked : str
        One code for each figure: for its kind of data (:data:`CODE_OF_KIND`), and for its evidence (:data:`CHECKED_BY_CODE`).
    withheld : Mapping[str, str]
        Figure without a value -> one clause with the reason.
    tags : tuple of str
        Tags of the description.
    checked : CheckSummary or None
        Check summary; None when none is recorded.
    """

    values: _OneEach = (None,) * _N_FIGURES
    made_of: _CodeEach = _NONE * _N_FIGURES
    figures_checked: _CodeEach = _NONE * _N_FIGURES
    withheld: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    checked: CheckSummary | None = None

    @classmethod
    def decode(cls, recorded: Recorded) -> Self:
        """Decode a record.

        Parameters
        ----------
        recorded : Recorded
            Record in the pointer.

        Returns
        -------
        Self
            Without figures when the record is of another version or cannot be read.
        """
        try:
            return msgspec.convert(recorded, cls) if has_headline(recorded) else cls()
        except msgspec.ValidationError:
            return cls()
