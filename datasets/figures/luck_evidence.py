"""Series and parameters from which luck figures are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from datasets.figures.run_figures import Ledger
from datasets.figures.series import FULL_HISTORY, Dates, Floats, Matrix, Window
from datasets.figures.unavailable import MISSING_KIND, Unavailable
from schemas.metrics.statistic import CROSS_SECTIONS, LEDGER

NO_TRIALS: Final = Unavailable(MISSING_KIND, "the run sealed no returns of its trials")
"""Evidence of a run without trials."""
EVIDENCE_ENDPOINTS: Final = frozenset({LEDGER.endpoint, CROSS_SECTIONS.endpoint})
"""Endpoints that serve the evidence: a key sees all figures if it may call each of them."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The inputs of luck figures, for any window and key.

    Attributes
    ----------
    alpha_id : str
        Id of the alpha, which seeds the random numbers.
    ledger : Ledger or Unavailable
        Sessions of the book, or the reason why there are none.
    weekly : tuple of (Dates, Floats), each of shape (n_weeks,), or Unavailable
        Rebalance dates, ascending, and the IC of each, NaN for null; or the reason why there are none.
    searched : int or None
        Number of combinations of search values in the description; None when it names none.
    trials : TrialReturns or Unavailable
        Returns of the trials, or the reason why there are none.
    """

    alpha_id: str
    ledger: Ledger | Unavailable
    weekly: tuple[Dates, Floats] | Unavailable
    searched: int | None
    trials: TrialReturns | Unavailable


@dataclass(frozen=True, slots=True)
class TrialReturns:
    """The daily returns of every trial.

    Attributes
    ----------
    date : Dates, shape (n_days,)
        Ascending.
    returns : Matrix, shape (n_days, n_trials)
        Fractions, without NaN; trials in the order of their names.
    """

    date: Dates
    returns: Matrix


@dataclass(frozen=True, slots=True)
class LuckQuery:
    """The parameters of a luck request, except its trials.

    Attributes
    ----------
    book : str
        Name of the book.
    may_call : frozenset of str
        Those of :data:`EVIDENCE_ENDPOINTS` that the key may call.
    window : Window
        Days to measure.
    """

    book: str
    may_call: frozenset[str] = EVIDENCE_ENDPOINTS
    window: Window = FULL_HISTORY
