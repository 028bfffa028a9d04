"""Simulated price paths: common factors, slow drifts, and pricing errors that fade."""

from __future__ import annotations

import numpy as np

from examples.reference_engine.sessions import Floats

_SECTORS = 6
_DIVIDEND_EVERY = 63
_DIVIDEND_YIELD = 0.0035


def log_price_paths(
    rng: np.random.Generator, drift: Floats, noise_scale: Floats
) -> tuple[Floats, Floats, Floats]:
    """Draw opening and closing log prices.

    A close-to-close return is beta times the market, a sector factor, a name's own shock, a slowly
    moving expected return, which momentum can exploit, and the change of a transient pricing error, which
    reversal can.

    Parameters
    ----------
    rng
        Source of randomness, advanced by the call.
    drift
        Shape (T, N): expected log return to add, per session.
    noise_scale
        Shape (T, N): multiplier of a name's random return; 1 leaves it as drawn.

    Returns
    -------
    log_open, log_close
        Shape (T, N), natural logarithm of currency per share.
    factor
        Shape (T,): the market's own log return.
    """
    sessions, names = drift.shape
    factor: Floats = rng.normal(0.0003, 0.008, (sessions,))
    sectors: Floats = rng.normal(0.0, 0.004, (sessions, _SECTORS))
    beta: Floats = rng.uniform(0.7, 1.3, (names,))
    sector = rng.integers(0, _SECTORS, names)
    volatility: Floats = rng.uniform(0.009, 0.022, (names,))

    expected = np.zeros((sessions, names))
    error = np.zeros((sessions, names))
    shocks: Floats = rng.normal(0.0, 0.00012, (sessions, names))
    error_shocks: Floats = volatility * rng.normal(0.0, 0.45, (sessions, names))
    for row in range(1, sessions):
        expected[row] = 0.985 * expected[row - 1] + shocks[row]
        error[row] = 0.75 * error[row - 1] + error_shocks[row]
    idiosyncratic: Floats = volatility * rng.normal(0.0, 1.0, (sessions, names))
    returns = noise_scale * (factor[:, None] * beta + sectors[:, sector] + idiosyncratic + expected) + drift

    start: Floats = rng.normal(np.log(45.0), 0.5, (names,))
    fair = start + np.cumsum(returns, axis=0)
    before = np.vstack([start, fair[:-1]])
    overnight: Floats = before + 0.35 * returns + noise_scale * rng.normal(0.0, 0.003, (sessions, names))
    # An open still carries most of the previous close's pricing error.
    log_close = fair + noise_scale * error
    log_open = overnight + noise_scale * 0.87 * np.vstack([np.zeros(names), error[:-1]])
    # Prices are quoted in cents: a floor keeps a long slide from rounding to zero.
    floor = np.log(0.5)
    return np.maximum(log_open, floor), np.maximum(log_close, floor), factor


def benchmark_paths(rng: np.random.Generator, factor: Floats) -> tuple[Floats, Floats]:
    """Build the simulated index: its level, and the level adjusted for quarterly dividends.

    Parameters
    ----------
    rng
        Source of randomness, advanced by the call.
    factor
        Shape (T,): log return of the market.

    Returns
    -------
    level, adjusted
        Shape (T,). They agree from the last dividend on; before it the adjusted level is lower.
    """
    level = np.round(400.0 * np.exp(np.cumsum(factor + rng.normal(0.0, 0.001, len(factor)))), 2)
    keeps = np.ones(len(factor))
    # The adjustment of a session is the product over the dividends that go ex after it.
    keeps[_DIVIDEND_EVERY - 1 : -1 : _DIVIDEND_EVERY] = 1.0 - _DIVIDEND_YIELD
    return level, level * np.cumprod(keeps[::-1])[::-1]
