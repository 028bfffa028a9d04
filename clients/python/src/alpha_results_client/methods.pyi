"""Signatures of what blocking and asynchronous clients share, and of the methods that are made of `declared.ENDPOINTS`."""

# Written by `just docs` from the declarations of the interface; a test fails when it is stale.
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
        """Is the service up, and since which build."""
    def me(self) -> dict[str, Any]:
        """Who the calling key is, what it may do and what it has used."""
    def keys(self) -> F:
        """The keys of the caller's account, newest first."""
    def alphas(self, *, search: str | None = None, complete_only: bool = False) -> F:
        """The alphas this key may read, latest started first."""
    def benchmark(self, symbol: str, *, start: Day | None = None, end: Day | None = None) -> F:
        """A market index to compare an equity curve with."""
    def screen(self, *, search: str | None = None, complete_only: bool = False, fields: str | Sequence[str] | None = None, sort: Literal['alpha_id', '-alpha_id', 'name', '-name', 'started_at', '-started_at', 'published_at', '-published_at', 'ic', '-ic', 'icir', '-icir', 'information_ratio', '-information_ratio', 'sharpe', '-sharpe', 'excess_sharpe', '-excess_sharpe', 'pnl', '-pnl', 'max_drawdown', '-max_drawdown', 'max_drawdown_pct', '-max_drawdown_pct', 'turnover', '-turnover', 'hit_rate', '-hit_rate', 'dispersion', '-dispersion', 'coverage', '-coverage', 'sessions', '-sessions', 'tenure_years', '-tenure_years', 'annualised_return', '-annualised_return', 'volatility', '-volatility', 't_stat', '-t_stat', 'probabilistic_sharpe', '-probabilistic_sharpe', 'cost_bp', '-cost_bp', 'q_value', '-q_value', 'q_value_by', '-q_value_by', 'haircut_sharpe', '-haircut_sharpe'] | None = None, checked_only: bool = False, tag: str | None = None, started_from: Day | None = None, started_to: Day | None = None, published_from: Day | None = None, published_to: Day | None = None, min_ic: float | None = None, max_ic: float | None = None, min_icir: float | None = None, max_icir: float | None = None, min_information_ratio: float | None = None, max_information_ratio: float | None = None, min_sharpe: float | None = None, max_sharpe: float | None = None, min_excess_sharpe: float | None = None, max_excess_sharpe: float | None = None, min_pnl: float | None = None, max_pnl: float | None = None, min_max_drawdown: float | None = None, max_max_drawdown: float | None = None, min_max_drawdown_pct: float | None = None, max_max_drawdown_pct: float | None = None, min_turnover: float | None = None, max_turnover: float | None = None, min_hit_rate: float | None = None, max_hit_rate: float | None = None, min_dispersion: float | None = None, max_dispersion: float | None = None, min_coverage: float | None = None, max_coverage: float | None = None, min_sessions: float | None = None, max_sessions: float | None = None, min_tenure_years: float | None = None, max_tenure_years: float | None = None, min_annualised_return: float | None = None, max_annualised_return: float | None = None, min_volatility: float | None = None, max_volatility: float | None = None, min_t_stat: float | None = None, max_t_stat: float | None = None, min_probabilistic_sharpe: float | None = None, max_probabilistic_sharpe: float | None = None, min_cost_bp: float | None = None, max_cost_bp: float | None = None, min_q_value: float | None = None, max_q_value: float | None = None, min_q_value_by: float | None = None, max_q_value_by: float | None = None, min_haircut_sharpe: float | None = None, max_haircut_sharpe: float | None = None) -> F:
        """The alphas this key may read, sorted and chosen by their figures, tags and days."""
    def changes(self, *, since: str | None = None) -> F:
        """What was published, replaced, rolled back and withdrawn of the alphas this key may read, oldest first."""
    def benchmarks(self) -> F:
        """The market indices that curves can be compared with; none where the deployment has no usable market data."""
    def correlations(self, book: str = 'long_short', *, alphas: str | Sequence[str], by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None) -> dict[str, Any]:
        """How alike each two of some alphas are."""
    def luck(self) -> dict[str, Any]:
        """How many of the alphas this key may read count as discoveries, and how many independent ones they come to."""
    def admin_alphas(self) -> F:
        """Every alpha with its snapshot and what its run lacks."""
    def key_usage(self, key_id: str) -> dict[str, Any]:
        """Owner, limits and use of one key."""

class RunMethods(Generic[F]):
    def pinned(self) -> Run[F]: ...
    def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    def metrics_frame(self, *, granularity: str = 'overall', **parameters: Value) -> F: ...
    def description(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """The written description of one alpha."""
    def source_download(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """A freshly signed, short-lived address of the run's source archive."""
    def tables(self, *, snapshot: str | None = None) -> F:
        """The published files this key may download: size, digest, span and columns of each; tables in the order of the dictionary, books in that of `/books`."""
    def tables_download(self, table: Literal['rebalances', 'decisions', 'portfolio', 'positions', 'pnl', 'trades', 'trials', 'books', 'equity_curve', 'weekly_signal', 'weekly_deciles', 'sealed_metrics'], book: str | None = None, *, snapshot: str | None = None) -> dict[str, Any]:
        """A freshly signed, short-lived address of the file of one table, as Parquet."""
    def rebalances(self, *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """The index of weekly rebalance dates."""
    def rebalance(self, date: Day, *, symbols: str | Sequence[str] | None = None, direction: Literal['1', 'long', '-1', 'short', '0', 'flat', 'neutral'] | None = None, min_abs_weight: float | None = None, book: Literal['long_short', 'long_only'] = 'long_short', sort: Literal['score', 'rank', 'weight', 'symbol'] = 'score', order: Literal['asc', 'desc'] | None = None, snapshot: str | None = None) -> F:
        """The cross-section of one rebalance week."""
    def scores(self, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, fields: Literal['core', 'all'] = 'core', snapshot: str | None = None) -> F:
        """The score panel: one row per name per week."""
    def books(self, *, snapshot: str | None = None) -> F:
        """The books the run wrote, with the span and size of each dataset."""
    def portfolio(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """The daily ledger of one book."""
    def positions(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The names one book held at each close."""
    def pnl(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The daily profit and loss of each name of one book."""
    def trades(self, book: str, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The fills of one book."""
    def equity_curve(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Equity, return and drawdown of one book, session by session."""
    def metrics(self, *, start: Day | None = None, end: Day | None = None, granularity: Literal['overall', 'yearly', 'monthly'] = 'overall', doc: bool = False, panel: bool = False, snapshot: str | None = None) -> dict[str, Any]:
        """Performance and signal-quality figures."""
    def metrics_doc(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What every figure of the metrics means and how it is computed."""
    def audit(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What was checked of a run and what came of it: notices, earlier seals, figures and rules, worst first."""
    def snapshots(self) -> F:
        """The snapshots of one alpha that are still there, newest first."""
    def compare_snapshots(self, *, from_snapshot: str | None = None, to_snapshot: str | None = None) -> dict[str, Any]:
        """Which figures, weeks, names and tables changed from one snapshot of an alpha to another."""
    def neighbours(self, book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None, order: Literal['nearest', 'farthest', 'strongest'] = 'nearest', among: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The other alphas, the most alike first, or the least alike."""
    def contribution(self, book: str = 'long_short', *, alphas: str | Sequence[str], weights: str = 'equal', start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """What the alpha adds to a book of others."""
    def luck(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, trials: int | None = None, trial_deviation: float | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure."""
    def costs(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """What trading and borrowing cost one book, its break-even, and its Sharpe ratio at other costs."""
    def concentration(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Legs of one book, and how much of its P&L comes from its best days, weeks and names."""
    def risk(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation of one book."""
    def signal(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """How fast the delivered score ages, its turnover-adjusted IC, its sides, and whether its deciles are in order."""
    def regimes(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmark: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """A book in the halves of its record, in up and down markets, in calm and rough ones; and whether its record broke."""
    def exposures(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmarks: str | Sequence[str] | None = None, rolling: int = 252, snapshot: str | None = None) -> dict[str, Any]:
        """What of a book's returns benchmarks and factors explain: coefficients, what is left, the profit of each."""
    def readiness(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Kind by kind, what one alpha's snapshot holds."""

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
        """Is the service up, and since which build."""
    async def me(self) -> dict[str, Any]:
        """Who the calling key is, what it may do and what it has used."""
    async def keys(self) -> F:
        """The keys of the caller's account, newest first."""
    async def alphas(self, *, search: str | None = None, complete_only: bool = False) -> F:
        """The alphas this key may read, latest started first."""
    async def benchmark(self, symbol: str, *, start: Day | None = None, end: Day | None = None) -> F:
        """A market index to compare an equity curve with."""
    async def screen(self, *, search: str | None = None, complete_only: bool = False, fields: str | Sequence[str] | None = None, sort: Literal['alpha_id', '-alpha_id', 'name', '-name', 'started_at', '-started_at', 'published_at', '-published_at', 'ic', '-ic', 'icir', '-icir', 'information_ratio', '-information_ratio', 'sharpe', '-sharpe', 'excess_sharpe', '-excess_sharpe', 'pnl', '-pnl', 'max_drawdown', '-max_drawdown', 'max_drawdown_pct', '-max_drawdown_pct', 'turnover', '-turnover', 'hit_rate', '-hit_rate', 'dispersion', '-dispersion', 'coverage', '-coverage', 'sessions', '-sessions', 'tenure_years', '-tenure_years', 'annualised_return', '-annualised_return', 'volatility', '-volatility', 't_stat', '-t_stat', 'probabilistic_sharpe', '-probabilistic_sharpe', 'cost_bp', '-cost_bp', 'q_value', '-q_value', 'q_value_by', '-q_value_by', 'haircut_sharpe', '-haircut_sharpe'] | None = None, checked_only: bool = False, tag: str | None = None, started_from: Day | None = None, started_to: Day | None = None, published_from: Day | None = None, published_to: Day | None = None, min_ic: float | None = None, max_ic: float | None = None, min_icir: float | None = None, max_icir: float | None = None, min_information_ratio: float | None = None, max_information_ratio: float | None = None, min_sharpe: float | None = None, max_sharpe: float | None = None, min_excess_sharpe: float | None = None, max_excess_sharpe: float | None = None, min_pnl: float | None = None, max_pnl: float | None = None, min_max_drawdown: float | None = None, max_max_drawdown: float | None = None, min_max_drawdown_pct: float | None = None, max_max_drawdown_pct: float | None = None, min_turnover: float | None = None, max_turnover: float | None = None, min_hit_rate: float | None = None, max_hit_rate: float | None = None, min_dispersion: float | None = None, max_dispersion: float | None = None, min_coverage: float | None = None, max_coverage: float | None = None, min_sessions: float | None = None, max_sessions: float | None = None, min_tenure_years: float | None = None, max_tenure_years: float | None = None, min_annualised_return: float | None = None, max_annualised_return: float | None = None, min_volatility: float | None = None, max_volatility: float | None = None, min_t_stat: float | None = None, max_t_stat: float | None = None, min_probabilistic_sharpe: float | None = None, max_probabilistic_sharpe: float | None = None, min_cost_bp: float | None = None, max_cost_bp: float | None = None, min_q_value: float | None = None, max_q_value: float | None = None, min_q_value_by: float | None = None, max_q_value_by: float | None = None, min_haircut_sharpe: float | None = None, max_haircut_sharpe: float | None = None) -> F:
        """The alphas this key may read, sorted and chosen by their figures, tags and days."""
    async def changes(self, *, since: str | None = None) -> F:
        """What was published, replaced, rolled back and withdrawn of the alphas this key may read, oldest first."""
    async def benchmarks(self) -> F:
        """The market indices that curves can be compared with; none where the deployment has no usable market data."""
    async def correlations(self, book: str = 'long_short', *, alphas: str | Sequence[str], by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None) -> dict[str, Any]:
        """How alike each two of some alphas are."""
    async def luck(self) -> dict[str, Any]:
        """How many of the alphas this key may read count as discoveries, and how many independent ones they come to."""
    async def admin_alphas(self) -> F:
        """Every alpha with its snapshot and what its run lacks."""
    async def key_usage(self, key_id: str) -> dict[str, Any]:
        """Owner, limits and use of one key."""

class AsyncRunMethods(Generic[F]):
    async def pinned(self) -> AsyncRun[F]: ...
    async def table(self, endpoint: str, **parameters: Value) -> Table[F]: ...
    async def metrics_frame(self, *, granularity: str = 'overall', **parameters: Value) -> F: ...
    async def description(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """The written description of one alpha."""
    async def source_download(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """A freshly signed, short-lived address of the run's source archive."""
    async def tables(self, *, snapshot: str | None = None) -> F:
        """The published files this key may download: size, digest, span and columns of each; tables in the order of the dictionary, books in that of `/books`."""
    async def tables_download(self, table: Literal['rebalances', 'decisions', 'portfolio', 'positions', 'pnl', 'trades', 'trials', 'books', 'equity_curve', 'weekly_signal', 'weekly_deciles', 'sealed_metrics'], book: str | None = None, *, snapshot: str | None = None) -> dict[str, Any]:
        """A freshly signed, short-lived address of the file of one table, as Parquet."""
    async def rebalances(self, *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """The index of weekly rebalance dates."""
    async def rebalance(self, date: Day, *, symbols: str | Sequence[str] | None = None, direction: Literal['1', 'long', '-1', 'short', '0', 'flat', 'neutral'] | None = None, min_abs_weight: float | None = None, book: Literal['long_short', 'long_only'] = 'long_short', sort: Literal['score', 'rank', 'weight', 'symbol'] = 'score', order: Literal['asc', 'desc'] | None = None, snapshot: str | None = None) -> F:
        """The cross-section of one rebalance week."""
    async def scores(self, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, fields: Literal['core', 'all'] = 'core', snapshot: str | None = None) -> F:
        """The score panel: one row per name per week."""
    async def books(self, *, snapshot: str | None = None) -> F:
        """The books the run wrote, with the span and size of each dataset."""
    async def portfolio(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """The daily ledger of one book."""
    async def positions(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The names one book held at each close."""
    async def pnl(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The daily profit and loss of each name of one book."""
    async def trades(self, book: str, *, start: Day | None = None, end: Day | None = None, symbols: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The fills of one book."""
    async def equity_curve(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> F:
        """Equity, return and drawdown of one book, session by session."""
    async def metrics(self, *, start: Day | None = None, end: Day | None = None, granularity: Literal['overall', 'yearly', 'monthly'] = 'overall', doc: bool = False, panel: bool = False, snapshot: str | None = None) -> dict[str, Any]:
        """Performance and signal-quality figures."""
    async def metrics_doc(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What every figure of the metrics means and how it is computed."""
    async def audit(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """What was checked of a run and what came of it: notices, earlier seals, figures and rules, worst first."""
    async def snapshots(self) -> F:
        """The snapshots of one alpha that are still there, newest first."""
    async def compare_snapshots(self, *, from_snapshot: str | None = None, to_snapshot: str | None = None) -> dict[str, Any]:
        """Which figures, weeks, names and tables changed from one snapshot of an alpha to another."""
    async def neighbours(self, book: str = 'long_short', *, by: Literal['returns', 'scores', 'holdings'] = 'returns', start: Day | None = None, end: Day | None = None, order: Literal['nearest', 'farthest', 'strongest'] = 'nearest', among: str | Sequence[str] | None = None, snapshot: str | None = None) -> F:
        """The other alphas, the most alike first, or the least alike."""
    async def contribution(self, book: str = 'long_short', *, alphas: str | Sequence[str], weights: str = 'equal', start: Day | None = None, end: Day | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """What the alpha adds to a book of others."""
    async def luck(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, trials: int | None = None, trial_deviation: float | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """How much of a book's record may be luck: deflated Sharpe ratio, minimum track record, bands of every figure."""
    async def costs(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """What trading and borrowing cost one book, its break-even, and its Sharpe ratio at other costs."""
    async def concentration(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Legs of one book, and how much of its P&L comes from its best days, weeks and names."""
    async def risk(self, book: str = 'long_short', *, snapshot: str | None = None) -> dict[str, Any]:
        """Drawdowns, tails, rolling figures and the Sharpe ratio under autocorrelation of one book."""
    async def signal(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """How fast the delivered score ages, its turnover-adjusted IC, its sides, and whether its deciles are in order."""
    async def regimes(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmark: str | None = None, snapshot: str | None = None) -> dict[str, Any]:
        """A book in the halves of its record, in up and down markets, in calm and rough ones; and whether its record broke."""
    async def exposures(self, book: str = 'long_short', *, start: Day | None = None, end: Day | None = None, benchmarks: str | Sequence[str] | None = None, rolling: int = 252, snapshot: str | None = None) -> dict[str, Any]:
        """What of a book's returns benchmarks and factors explain: coefficients, what is left, the profit of each."""
    async def readiness(self, *, snapshot: str | None = None) -> dict[str, Any]:
        """Kind by kind, what one alpha's snapshot holds."""
