"""Signatures of what blocking and asynchronous clients share, and of the methods that are made of `declared.ENDPOINTS`."""

# Written by `just docs` from the declarations of the API; a test fails when it is stale.
# fmt: off

import datetime as dt
import os
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar, Union, overload

import httpx
import pandas as pd
import polars as pl
from alpha_results_client.asynchronous import AsyncClient, AsyncRun
from alpha_results_client.client import Client, Run
from alpha_results_client.table import Table
from alpha_results_client.values import Value
from typing_extensions import Unpack

F = TypeVar("F")
Day = Union[str, dt.date]

class Options(TypedDict, total=False):
    cache: str | os.PathLike[str] | None
    cache_bytes: int
    retries: int
    longest_wait: float
    timeout: float
    links: bool
    transport: httpx.BaseTransport | httpx.AsyncBaseTransport | None

class ClientMethods(Generic[F]):
    @overload
    def __init__(self: Client[pl.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['polars'] = 'polars', **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: Client[pd.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['pandas'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: Client[list[dict[str, Any]]], base_url: str | None = None, key: str | None = None, *, frames: Literal['rows'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    def __getitem__(self, alpha: str) -> Run[F]: ...
    def run(self, alpha: str, snapshot: str | None = None) -> Run[F]: ...
    def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    def returns(self, alphas: Sequence[str] | None = None, *, book: str = 'long_short', start: Value = None, end: Value = None) -> F: ...
    def health(self) -> dict[str, Any]:
        """Health and build of the service."""
    def me(self) -> dict[str, Any]:
        """Identity, permissions and usage of the calling key."""
    def keys(self) -> F:
        """Keys of the caller's account, newest first."""
    def alphas(self, *, search: str | None = None, complete_only: bool = False) -> F:
        """Alphas that the key may read, latest started first."""
    def benchmark(self, symbol: str, *, start: Day | None = None, end: Day | None = None) -> F:
        """Daily series of a market index, to compare an equity curve with."""
    def screen(self, *, search: str | None = None, complete_only: bool = False, fields: str | Sequence[str] | None = None, sort: Literal['alpha_id', '-alpha_id', 'name', '-name', 'started_at', '-started_at', 'published_at', '-published_at', 'ic', '-ic', 'icir', '-icir', 'information_ratio', '-information_ratio', 'sharpe', '-sharpe', 'excess_sharpe', '-excess_sharpe', 'pnl', '-pnl', 'max_drawdown', '-max_drawdown', 'max_drawdown_pct', '-max_drawdown_pct', 'turnover', '-turnover', 'hit_rate', '-hit_rate', 'dispersion', '-dispersion', 'coverage', '-coverage', 'sessions', '-sessions', 'tenure_years', '-tenure_years', 'annualised_return', '-annualised_return', 'volatility', '-volatility', 't_stat', '-t_stat', 'probabilistic_sharpe', '-probabilistic_sharpe', 'cost_bp', '-cost_bp', 'q_value', '-q_value', 'q_value_by', '-q_value_by', 'haircut_sharpe', '-haircut_sharpe'] | None = None, checked_only: bool = False, tag: str | None = None, started_from: Day | None = None, started_to: Day | None = None, published_from: Day | None = None, published_to: Day | None = None, min_ic: float | None = None, max_ic: float | None = None, min_icir: float | None = None, max_icir: float | None = None, min_information_ratio: float | None = None, max_information_ratio: float | None = None, min_sharpe: float | None = None, max_sharpe: float | None = None, min_excess_sharpe: float | None = None, max_excess_sharpe: float | None = None, min_pnl: float | None = None, max_pnl: float | None = None, min_max_drawdown: float | None = None, max_max_drawdown: float | None = None, min_max_drawdown_pct: float | None = None, max_max_drawdown_pct: float | None = None, min_turnover: float | None = None, max_turnover: float | None = None, min_hit_rate: float | None = None, max_hit_rate: float | None = None, min_dispersion: float | None = None, max_dispersion: float | None = None, min_coverage: float | None = None, max_coverage: float | None = None, min_sessions: float | None = None, max_sessions: float | None = None, min_tenure_years: float | None = None, max_tenure_years: float | None = None, min_annualised_return: float | None = None, max_annualised_return: float | None = None, min_volatility: float | None = None, max_volatility: float | None = None, min_t_stat: float | None = None, max_t_stat: float | None = None, min_probabilistic_sharpe: float | None = None, max_probabilistic_sharpe: float | None = None, min_cost_bp: float | None = None, max_cost_bp: float | None = None, min_q_value: float | None = None, max_q_value: float | None = None, min_q_value_by: float | None = None, max_q_value_by: float | None = None, min_haircut_sharpe: float | None = None, max_haircut_sharpe: float | None = None) -> F:
        """Alphas that the key may read, sorted and filtered by figures, tags and days."""
    def changes(self, *, since: str | None = None) -> F:
        """Publications, replacements, rollbacks and withdrawals of the alphas that the key may read, oldest first."""
    def benchmarks(self) -> F:
        """Market indices that curves can be compared with; none if the deployment has no usable market data."""
    def correlations(self, alphas: str | Sequence[str], book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None) -> dict[str, Any]:
        """Similarity of each pair of the given alphas."""
    def luck(self) -> dict[str, Any]:
        """Number of discoveries among the alphas that the key may read, and their effective number."""
    def admin_alphas(self) -> F:
        """Every alpha with its snapshot and missing kinds."""
    def key_usage(self, key_id: str) -> dict[str, Any]:
        """Owner, limits and usage of one key."""

class RunMethods(Generic[F]):
    def pinned(self) -> Run[F]: ...
    def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    def metrics_frame(self, *, granularity: str = 'overall', **parameters: Value) -> F: ...
    def description(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Written description of one alpha."""
    def source_download(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Freshly signed, short-lived URL of the run's source archive."""
    def tables(self, *, snapshot: str | None = None) -> F:
        """Published files that the key may download, with size, digest, span and columns; in the order of the data dictionary and of `/books`."""
    def tables_download(self, table: Literal['rebalances', 'decisions', 'portfolio', 'positions', 'pnl', 'trades', 'trials', 'books', 'equity_curve', 'weekly_signal', 'weekly_deciles', 'sealed_metrics'], book: str | None = None, *, snapshot: str | None = None) -> dict[str, Any]:
        """Freshly signed, short-lived URL of one table as a Parquet file."""
    def rebalances(self, *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Index of weekly rebalance dates."""
    def rebalance(self, date: Day, *, symbols: str | Sequence[str] | None = None, direction: Literal['1', 'long', '-1', 'short', '0', 'flat', 'neutral'] | None = None, min_abs_weight: float | None = None, book: Literal['long_short', 'long_only'] = 'long_short', sort: Literal['score', 'rank', 'weight', 'symbol'] = 'score', order: Literal['asc', 'desc'] | None = None, snapshot: str | None = None) -> F:
        """Cross-section of one rebalance week."""
    def scores(self, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, fields: Literal['core', 'all'] = 'core', snapshot: str | None = None) -> F:
        """Score panel: one row per name per week."""
    def books(self, *, snapshot: str | None = None) -> F:
        """Books of the run, with the span and size of each dataset."""
    def portfolio(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Daily ledger of one book."""
    def positions(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Names that one book held at each close."""
    def pnl(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Daily profit and loss of each name of one book."""
    def trades(self, book: str, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Fills of one book."""
    def equity_curve(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Equity, return and drawdown of one book, session by session."""
    def metrics(self, *, start: Day | None = None, end: Day | None = None, granularity: Literal['overall', 'yearly', 'monthly'] = 'overall', doc: bool = False, panel: bool = False, snapshot: str | None = None) -> dict[str, Any]:
        """Performance and signal-quality figures."""
    def metrics_doc(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Definition of every figure of the metrics."""
    def audit(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Checks of a run and their outcomes: notices, earlier seals, figures and rules, worst first."""
    def snapshots(self) -> F:
        """Snapshots kept of one alpha, newest first."""
    def compare_snapshots(self, *, from_snapshot: str | None = None, to_snapshot: str | None = None) -> dict[str, Any]:
        """Changes between two snapshots of an alpha: figures, weeks, names and tables."""
    def neighbours(self, book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None, order: Literal['nearest', 'farthest', 'strongest'] = 'nearest', among: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Other alphas, most similar first or least similar first."""
    def contribution(self, alphas: str | Sequence[str], book: str = 'long_short', *, weights: str | Sequence[float] = 'equal', start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """Contribution of the alpha to a book of others."""
    def luck(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, trials: int | None = None, trial_deviation: float | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure."""
    def costs(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Trading and borrowing costs of a book, its break-even, and its Sharpe ratio at other costs."""
    def concentration(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Contribution of each leg of a book, and the share of its P&L from its best days, weeks and names."""
    def risk(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation of one book."""
    def signal(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Decay of the delivered score, its turnover-adjusted IC, its IC by side, and monotonicity of its deciles, over the weeks in which a signal was in force."""
    def regimes(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmark: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """Returns of a book in both halves of its record, in up and down markets and by volatility, with tests for a break."""
    def exposures(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmarks: str | Sequence[str] | None = None, rolling: int = 252, snapshot: str | None = None) -> dict[str, Any]:
        """Regressions of a book's returns on benchmarks and factors: coefficients, residuals, attribution of the profit."""
    def readiness(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Contents of one alpha's snapshot, by kind."""

class AsyncClientMethods(Generic[F]):
    @overload
    def __init__(self: AsyncClient[pl.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['polars'] = 'polars', **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: AsyncClient[pd.DataFrame], base_url: str | None = None, key: str | None = None, *, frames: Literal['pandas'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    @overload
    def __init__(self: AsyncClient[list[dict[str, Any]]], base_url: str | None = None, key: str | None = None, *, frames: Literal['rows'], **options: Unpack[Options]) -> None: ...  # type: ignore[misc]
    def __getitem__(self, alpha: str) -> AsyncRun[F]: ...
    def run(self, alpha: str, snapshot: str | None = None) -> AsyncRun[F]: ...
    async def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    async def returns(self, alphas: Sequence[str] | None = None, *, book: str = 'long_short', start: Value = None, end: Value = None) -> F: ...
    async def health(self) -> dict[str, Any]:
        """Health and build of the service."""
    async def me(self) -> dict[str, Any]:
        """Identity, permissions and usage of the calling key."""
    async def keys(self) -> F:
        """Keys of the caller's account, newest first."""
    async def alphas(self, *, search: str | None = None, complete_only: bool = False) -> F:
        """Alphas that the key may read, latest started first."""
    async def benchmark(self, symbol: str, *, start: Day | None = None, end: Day | None = None) -> F:
        """Daily series of a market index, to compare an equity curve with."""
    async def screen(self, *, search: str | None = None, complete_only: bool = False, fields: str | Sequence[str] | None = None, sort: Literal['alpha_id', '-alpha_id', 'name', '-name', 'started_at', '-started_at', 'published_at', '-published_at', 'ic', '-ic', 'icir', '-icir', 'information_ratio', '-information_ratio', 'sharpe', '-sharpe', 'excess_sharpe', '-excess_sharpe', 'pnl', '-pnl', 'max_drawdown', '-max_drawdown', 'max_drawdown_pct', '-max_drawdown_pct', 'turnover', '-turnover', 'hit_rate', '-hit_rate', 'dispersion', '-dispersion', 'coverage', '-coverage', 'sessions', '-sessions', 'tenure_years', '-tenure_years', 'annualised_return', '-annualised_return', 'volatility', '-volatility', 't_stat', '-t_stat', 'probabilistic_sharpe', '-probabilistic_sharpe', 'cost_bp', '-cost_bp', 'q_value', '-q_value', 'q_value_by', '-q_value_by', 'haircut_sharpe', '-haircut_sharpe'] | None = None, checked_only: bool = False, tag: str | None = None, started_from: Day | None = None, started_to: Day | None = None, published_from: Day | None = None, published_to: Day | None = None, min_ic: float | None = None, max_ic: float | None = None, min_icir: float | None = None, max_icir: float | None = None, min_information_ratio: float | None = None, max_information_ratio: float | None = None, min_sharpe: float | None = None, max_sharpe: float | None = None, min_excess_sharpe: float | None = None, max_excess_sharpe: float | None = None, min_pnl: float | None = None, max_pnl: float | None = None, min_max_drawdown: float | None = None, max_max_drawdown: float | None = None, min_max_drawdown_pct: float | None = None, max_max_drawdown_pct: float | None = None, min_turnover: float | None = None, max_turnover: float | None = None, min_hit_rate: float | None = None, max_hit_rate: float | None = None, min_dispersion: float | None = None, max_dispersion: float | None = None, min_coverage: float | None = None, max_coverage: float | None = None, min_sessions: float | None = None, max_sessions: float | None = None, min_tenure_years: float | None = None, max_tenure_years: float | None = None, min_annualised_return: float | None = None, max_annualised_return: float | None = None, min_volatility: float | None = None, max_volatility: float | None = None, min_t_stat: float | None = None, max_t_stat: float | None = None, min_probabilistic_sharpe: float | None = None, max_probabilistic_sharpe: float | None = None, min_cost_bp: float | None = None, max_cost_bp: float | None = None, min_q_value: float | None = None, max_q_value: float | None = None, min_q_value_by: float | None = None, max_q_value_by: float | None = None, min_haircut_sharpe: float | None = None, max_haircut_sharpe: float | None = None) -> F:
        """Alphas that the key may read, sorted and filtered by figures, tags and days."""
    async def changes(self, *, since: str | None = None) -> F:
        """Publications, replacements, rollbacks and withdrawals of the alphas that the key may read, oldest first."""
    async def benchmarks(self) -> F:
        """Market indices that curves can be compared with; none if the deployment has no usable market data."""
    async def correlations(self, alphas: str | Sequence[str], book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None) -> dict[str, Any]:
        """Similarity of each pair of the given alphas."""
    async def luck(self) -> dict[str, Any]:
        """Number of discoveries among the alphas that the key may read, and their effective number."""
    async def admin_alphas(self) -> F:
        """Every alpha with its snapshot and missing kinds."""
    async def key_usage(self, key_id: str) -> dict[str, Any]:
        """Owner, limits and usage of one key."""

class AsyncRunMethods(Generic[F]):
    async def pinned(self) -> AsyncRun[F]: ...
    async def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    async def metrics_frame(self, *, granularity: str = 'overall', **parameters: Value) -> F: ...
    async def description(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Written description of one alpha."""
    async def source_download(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Freshly signed, short-lived URL of the run's source archive."""
    async def tables(self, *, snapshot: str | None = None) -> F:
        """Published files that the key may download, with size, digest, span and columns; in the order of the data dictionary and of `/books`."""
    async def tables_download(self, table: Literal['rebalances', 'decisions', 'portfolio', 'positions', 'pnl', 'trades', 'trials', 'books', 'equity_curve', 'weekly_signal', 'weekly_deciles', 'sealed_metrics'], book: str | None = None, *, snapshot: str | None = None) -> dict[str, Any]:
        """Freshly signed, short-lived URL of one table as a Parquet file."""
    async def rebalances(self, *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Index of weekly rebalance dates."""
    async def rebalance(self, date: Day, *, symbols: str | Sequence[str] | None = None, direction: Literal['1', 'long', '-1', 'short', '0', 'flat', 'neutral'] | None = None, min_abs_weight: float | None = None, book: Literal['long_short', 'long_only'] = 'long_short', sort: Literal['score', 'rank', 'weight', 'symbol'] = 'score', order: Literal['asc', 'desc'] | None = None, snapshot: str | None = None) -> F:
        """Cross-section of one rebalance week."""
    async def scores(self, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, fields: Literal['core', 'all'] = 'core', snapshot: str | None = None) -> F:
        """Score panel: one row per name per week."""
    async def books(self, *, snapshot: str | None = None) -> F:
        """Books of the run, with the span and size of each dataset."""
    async def portfolio(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Daily ledger of one book."""
    async def positions(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Names that one book held at each close."""
    async def pnl(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Daily profit and loss of each name of one book."""
    async def trades(self, book: str, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Fills of one book."""
    async def equity_curve(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Equity, return and drawdown of one book, session by session."""
    async def metrics(self, *, start: Day | None = None, end: Day | None = None, granularity: Literal['overall', 'yearly', 'monthly'] = 'overall', doc: bool = False, panel: bool = False, snapshot: str | None = None) -> dict[str, Any]:
        """Performance and signal-quality figures."""
    async def metrics_doc(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Definition of every figure of the metrics."""
    async def audit(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Checks of a run and their outcomes: notices, earlier seals, figures and rules, worst first."""
    async def snapshots(self) -> F:
        """Snapshots kept of one alpha, newest first."""
    async def compare_snapshots(self, *, from_snapshot: str | None = None, to_snapshot: str | None = None) -> dict[str, Any]:
        """Changes between two snapshots of an alpha: figures, weeks, names and tables."""
    async def neighbours(self, book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None, order: Literal['nearest', 'farthest', 'strongest'] = 'nearest', among: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """Other alphas, most similar first or least similar first."""
    async def contribution(self, alphas: str | Sequence[str], book: str = 'long_short', *, weights: str | Sequence[float] = 'equal', start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """Contribution of the alpha to a book of others."""
    async def luck(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, trials: int | None = None, trial_deviation: float | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure."""
    async def costs(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Trading and borrowing costs of a book, its break-even, and its Sharpe ratio at other costs."""
    async def concentration(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Contribution of each leg of a book, and the share of its P&L from its best days, weeks and names."""
    async def risk(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation of one book."""
    async def signal(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Decay of the delivered score, its turnover-adjusted IC, its IC by side, and monotonicity of its deciles, over the weeks in which a signal was in force."""
    async def regimes(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmark: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """Returns of a book in both halves of its record, in up and down markets and by volatility, with tests for a break."""
    async def exposures(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmarks: str | Sequence[str] | None = None, rolling: int = 252, snapshot: str | None = None) -> dict[str, Any]:
        """Regressions of a book's returns on benchmarks and factors: coefficients, residuals, attribution of the profit."""
    async def readiness(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Contents of one alpha's snapshot, by kind."""
