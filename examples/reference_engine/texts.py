"""Description and source folder of a simulated run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.reference_engine.alpha import AlphaSpec, SignalName
from examples.reference_engine.signal import LOOKBACK, MOMENTUM_GAP
from examples.reference_engine.write import json_bytes


@dataclass(frozen=True)
class _SignalText:
    """Description of a signal. The papers are real; the run is not."""

    title: str
    tldr: str
    hypothesis: str
    mechanism: str
    who_loses: str
    rationale: str
    formula: str
    paper: str
    published: str


_SIGNALS: dict[SignalName, _SignalText] = {
    "momentum": _SignalText(
        title="Momentum on a simulated market",
        tldr="Simulated: names that climbed over the last quarter keep climbing for another week.",
        hypothesis="In the simulated market a name's expected return moves slowly, so past strength persists.",
        mechanism="Expected returns follow a first-order autoregression whose memory lasts for months.",
        who_loses="Simulated traders who fade a trend before it has run its course.",
        rationale="Under-reaction to news is the usual reading of the effect in real markets.",
        formula=f"log(close[-{MOMENTUM_GAP}] / close[-{LOOKBACK['momentum']}])",
        paper="Returns to Buying Winners and Selling Losers: Implications for Stock Market Efficiency",
        published="1993-03-01",
    ),
    "reversal": _SignalText(
        title="One-week reversal on a simulated market",
        tldr="Simulated: a name that fell over the last week gives some of the fall back.",
        hypothesis="In the simulated market closes carry a pricing error that is gone within days.",
        mechanism="A transient error is added to each price; its change reverts at the next session.",
        who_loses="Simulated traders who demand immediacy at the close.",
        rationale="Compensation for providing liquidity is the usual reading of the effect in real markets.",
        formula=f"-log(close[0] / close[-{LOOKBACK['reversal']}])",
        paper="Fads, Martingales, and Market Efficiency",
        published="1990-02-01",
    ),
    "low_volatility": _SignalText(
        title="Low volatility on a simulated market",
        tldr="Simulated: calm names against restless ones, with no edge built into the prices.",
        hypothesis="Calm names do no worse than restless ones; the simulated market gives no reason for more.",
        mechanism="None in the simulated prices: the run shows what a signal without an edge looks like.",
        who_loses="Nobody in particular; the costs of trading are what is left.",
        rationale="In real markets the effect is linked to leverage limits and a taste for lotteries.",
        formula=f"-stdev(daily log returns, {LOOKBACK['low_volatility']} sessions)",
        paper="The Cross-Section of Volatility and Expected Returns",
        published="2006-02-01",
    ),
}


def description(spec: AlphaSpec, years: tuple[int, ...]) -> dict[str, Any]:
    """Return the description of a run, with every key the API documents.

    Parameters
    ----------
    spec
        The run.
    years
        Calendar years the run has decisions in, for the parameter values chosen by year.

    Returns
    -------
    dict
        The content of `description.json`.
    """
    text = _SIGNALS[spec.signal]
    half_life = spec.half_life_weeks
    return {
        "name": text.title,
        "tldr": text.tldr,
        "copyright": "Simulated data: no real security, price or trade is described.",
        "classification": {
            "structure": "cross_sectional",
            "method": "price_based",
            "frequency": ["weekly"],
            "tags": ["simulated", spec.signal, "equity"],
        },
        "thesis": {
            "hypothesis": text.hypothesis,
            "mechanism": text.mechanism,
            "who_loses": text.who_loses,
            "economic_rationale": text.rationale,
            "falsification_criteria": [],
        },
        "signal": {
            "score_direction": "higher is stronger",
            "decision_timing": "official close of the last session of the week; fills at the next open",
            "core_math_framework": "cross-sectional ranking of a price ratio or a dispersion",
            "signal_logic": text.formula,
            "pseudocode": [
                f"x = {text.formula}",
                "s = a * x + (1 - a) * s_previous, a = 1 - 2 ** (-1 / half_life)",
            ],
            "validity_rules": ["a close on the decision day", "listed for the whole lookback"],
            "output_contract": "one score per name and week, null where invalid",
        },
        "parameters": [
            {
                "name": "half_life_weeks",
                "type": "float",
                "default": half_life,
                "search_values": [1.0, 2.0, 4.0],
                "range": [1.0, 4.0],
                "tunable": True,
                "unit": "weeks",
                "description": "weeks after which a score counts half in the smoothed one",
                "selected_value_by_test_year": {str(year): str(half_life) for year in years},
            },
            {
                "name": "lookback",
                "type": "int",
                "default": LOOKBACK[spec.signal],
                "search_values": [],
                "range": [LOOKBACK[spec.signal], LOOKBACK[spec.signal]],
                "tunable": False,
                "unit": "sessions",
                "description": "sessions of history behind one score",
                "selected_value_by_test_year": {str(year): str(LOOKBACK[spec.signal]) for year in years},
            },
        ],
        "data_requirements": _data_requirements(spec),
        "source_papers": [
            {
                "title": text.paper,
                "published_date": text.published,
                "role": "seed",
                "rationale": "the effect imitated",
            }
        ],
    }


def _data_requirements(spec: AlphaSpec) -> dict[str, Any]:
    """Return the data requirements, with bar counts or, for low volatility, the history in words."""
    counted = spec.signal != "low_volatility"
    prose = "Forty daily returns after a name's listing; gaps are bridged with the last known close."
    return {
        "universe": "simulated equities SIM001 and up",
        "granularity": "daily",
        "lookback_bars": LOOKBACK[spec.signal] if counted else None,
        "warmup_bars": LOOKBACK[spec.signal] if counted else None,
        "adjustment": "none needed: simulated names neither split nor pay",
        "fields": [
            {"name": "close", "category": "price", "required": True},
            {"name": "open", "category": "price", "required": True},
            {"name": "borrow_available", "category": "short_selling", "required": False},
        ],
        "history_requirement": None if counted else prose,
    }


def source_files(spec: AlphaSpec) -> dict[str, bytes]:
    """Return the source folder of a run: modules of the engine, and private and cache files.

    Real runs are sealed from working folders; the private and cache files show that archives exclude them.
    """
    here = Path(__file__).parent
    readme = f"# {spec.alpha_id}\n\nA run on a simulated market. The modules here score the names and size the books.\n"
    parameters = {"signal": spec.signal, "half_life_weeks": spec.half_life_weeks, "raw": spec.raw}
    return {
        "README.md": readme.encode(),
        "parameters.json": json_bytes(parameters),
        "signal.py": (here / "signal.py").read_bytes(),
        "books/strategy.py": (here / "strategy.py").read_bytes(),
        "books/ledger.py": (here / "ledger.py").read_bytes(),
        ".env": b"SIMULATED_SETTING=not-for-readers\n",
        "__pycache__/signal.cpython-311.pyc": b"simulated bytecode\n",
        "books/__pycache__/ledger.cpython-311.pyc": b"simulated bytecode\n",
    }
