import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="One alpha, from the catalogue to conclusions")


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    # One alpha, from the catalogue to conclusions

    Every figure is read from the published files, or computed from them by the functions that the service uses. A figure that
    the data do not support is withheld with a reason.
    """)
    return


@app.cell
def _():
    import os
    import shlex
    from pathlib import Path

    import alpha_results_datasets as datasets
    import marimo as mo
    import matplotlib.pyplot as plt
    import numpy as np
    import polars as pl
    from scipy.stats import t as student

    # `$ROOT` and `$MARKET` as the demo's line sets them, else those of a demo started in this folder.
    file = Path(".demo/env")
    words = shlex.split(file.read_text()) if file.is_file() else []
    variables = dict(word.split("=", 1) for word in words if "=" in word) | os.environ
    place = variables.get("ALPHA_RESULTS_DATASETS") or variables.get("ROOT") or ".demo/published"
    market = variables.get("ALPHA_RESULTS_MARKET_DATA") or variables.get("MARKET")
    return datasets, market, mo, np, pl, place, plt, student


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## The catalogue
    """)
    return


@app.cell
def _(datasets, place):
    root = datasets.open(place)
    catalogue = root.list()
    catalogue.select("alpha_id", "name", "tldr", "complete", "published_at")
    return catalogue, root


@app.cell
def _(catalogue, mo):
    ids = catalogue["alpha_id"].to_list()
    mo.stop(not ids, mo.md("No alpha is published here."))
    preferred = "Test_sim_momentum" if "Test_sim_momentum" in ids else ids[0]
    choice = mo.ui.dropdown(ids, value=preferred, label="Alpha")
    choice
    return (choice,)


@app.cell(hide_code=True)
def _(choice, mo, root):
    run = root[choice.value]
    about = run.description() or {}
    thesis = about.get("thesis") or {}
    mo.md(f"""
    ## {about.get("name") or run.alpha_id}

    {about.get("tldr") or ""}

    **Claim.** {thesis.get("hypothesis") or "not sealed"}

    **Mechanism.** {thesis.get("mechanism") or "not sealed"}

    **Who loses.** {thesis.get("who_loses") or "not sealed"}

    Snapshot `{run.id}`, published {run.published_at}; it never changes.
    """)
    return (run,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Headline figures

    The same figures as `/v1/alphas/{alpha}/metrics`: as sealed if the tables reproduce them, else computed from the tables, else
    withheld with a reason.
    """)
    return


@app.cell
def _(pl, run):
    metrics = run.metrics(panel=True)
    headline = pl.DataFrame(
        [
            {
                "figure": name,
                "value": entry["value"],
                "unit": entry["unit"],
                "source": entry["source_kind"],
                "withheld": entry.get("withheld_reason"),
            }
            for name, entry in metrics["core"].items()
            if name not in {"tenure", "sharpe"}
        ],
        infer_schema_length=None,
    )
    headline.with_columns(pl.col(pl.Float64).round(4))
    return (metrics,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Equity against the benchmark
    """)
    return


@app.cell
def _(market, mo, plt, run):
    mo.stop(
        not run.has_rows("equity_curve", "long_short"), mo.md("The run has no ledger of the book long_short.")
    )
    equity = run.scan("equity_curve", "long_short").collect()
    benchmark = run.benchmark(market) if market else None

    _figure, (_curve, _fall) = plt.subplots(
        2, sharex=True, figsize=(9, 5), height_ratios=[2, 1], layout="constrained"
    )
    _curve.plot(equity["date"], 100 * equity["cumulative_return"], label="long_short")
    _fall.fill_between(equity["date"], -equity["drawdown_pct"], 0, alpha=0.4)
    if benchmark is not None:
        _curve.plot(benchmark["date"], 100 * benchmark["cumulative_return"], label="benchmark")
        _fall.plot(benchmark["date"], -benchmark["drawdown_pct"], color="C1", linewidth=0.8)
    _curve.axhline(0, color="grey", linewidth=0.6)
    _curve.set_ylabel("return, %")
    _fall.set_ylabel("drawdown, %")
    _curve.legend(frameon=False)
    _figure
    return benchmark, equity


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Does the score predict returns?

    Each bar is the rank correlation (IC) of one week's scores with the returns that followed. The band is the 95% interval of
    their mean with Newey-West standard errors, which allow for autocorrelation.
    """)
    return


@app.cell
def _(metrics, mo, pl, plt, run, student):
    mo.stop(not run.has_rows("weekly_signal"), mo.md("The run has no weekly scores."))
    rolling = 26
    weekly = (
        run.scan("weekly_signal")
        .select("date", "ic")
        .drop_nulls()
        .collect()
        .with_columns(rolling_mean=pl.col("ic").rolling_mean(rolling))
    )
    test = metrics["nwt"]["ic"]
    if test is None:
        interval = None
    else:
        _reach = student.ppf(0.975, test["n"] - 1) * test["standard_error"]
        interval = (test["mean"] - _reach, test["mean"] + _reach)

    _figure, _axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    _axes.bar(weekly["date"], weekly["ic"], width=5, alpha=0.35, label="weekly IC")
    _axes.plot(weekly["date"], weekly["rolling_mean"], color="C1", label=f"mean of {rolling} weeks")
    if interval is not None:
        _axes.axhspan(*interval, color="C2", alpha=0.3, label="95% interval of the mean")
    _axes.axhline(0, color="grey", linewidth=0.6)
    _axes.set_ylabel("rank correlation")
    _axes.legend(frameon=False, ncols=3)
    _figure
    return interval, test, weekly


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Deciles and horizons

    If the score ranks the names, each decile earns more than the one below it. The correlation should fade with the horizon no
    faster than the book can trade.
    """)
    return


@app.cell
def _(metrics, mo, np, plt):
    deciles, panel = metrics["ic_deciles"], metrics["panel"]
    if deciles is None or panel is None:
        _reasons = [x["message"] for x in metrics["warnings"] if x.get("block") in {"ic_deciles", "panel"}]
        _shown = mo.md("Withheld: " + " ".join(_reasons))
    else:
        _shown, (_left, _right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
        _buckets = deciles["buckets"]
        _means = np.array([x["mean_forward_return"] for x in _buckets], dtype=float)  # no bar for a null
        _left.bar([x["bucket"] for x in _buckets], 1e4 * _means)
        _left.set_xlabel("decile by raw signal, Q1 the lowest")
        _left.set_ylabel("mean forward return, basis points")
        _horizons = panel["ic_term_structure"]
        _right.plot([x["horizon_weeks"] for x in _horizons], [x["mean_ic"] for x in _horizons], marker="o")
        _right.axhline(0, color="grey", linewidth=0.6)
        _right.set_xlabel("horizon, weeks")
        _right.set_ylabel("mean IC")
    _shown
    return deciles, panel


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Costs, and profit by name
    """)
    return


@app.cell
def _(mo, pl, run):
    mo.stop(
        not run.has_rows("portfolio", "long_short"), mo.md("The run has no ledger of the book long_short.")
    )
    ledger = run.scan("portfolio", "long_short").collect()
    parts = ["market_pnl", "execution_cost", "borrow_cashflow", "cash_carry", "rounding_adjustment"]
    pnl_parts = ledger.select(pl.col(parts).sum()).unpivot(
        variable_name="component", value_name="equity units"
    )
    pnl_parts.with_columns(pl.col("equity units").round(4))
    return ledger, pnl_parts


@app.cell
def _(mo, pl, run):
    mo.stop(
        not run.has_rows("pnl", "long_short"), mo.md("The run has no P&L by name of the book long_short.")
    )
    by_name = (
        run.scan("pnl", "long_short")
        .group_by("symbol")
        .agg(pl.col("net_pnl").sum(), sessions=pl.len())
        .sort("net_pnl", "symbol", descending=[True, False])
        .collect()
    )
    # With fewer than ten names, none is repeated.
    pl.concat([by_name.head(5), by_name[5:].tail(5)]).with_columns(pl.col("net_pnl").round(4))
    return (by_name,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Conclusions

    Computed by the cell below for the chosen alpha.
    """)
    return


@app.cell
def _(benchmark, by_name, deciles, equity, interval, ledger, metrics, mo, run, test):
    from alpha_results_datasets.figures.daily_returns import correlation

    conclusions = {}

    if test is None:
        conclusions["skill"] = "Whether the mean IC differs from zero is withheld: " + next(
            (x["message"] for x in metrics["warnings"] if x.get("block") == "nwt.ic"), "no reason was given"
        )
    else:
        _verdict = (
            "differs from zero" if test["p_value"] < 0.05 else "does not differ significantly from zero"
        )
        conclusions["skill"] = (
            f"Over {test['n']} weeks the mean IC is {test['mean']:.4f} (95% interval {interval[0]:.4f} to "
            f"{interval[1]:.4f}, t {test['t_stat']:.2f}): at the 5% level it **{_verdict}**."
        )

    _total = float(equity["ending_equity"][-1] / equity["starting_equity"][0] - 1)
    _worst = metrics["core"]["max_drawdown_pct"]["value"]
    conclusions["return"] = f"The long_short book returned {_total:.2%} over {equity.height} sessions" + (
        "." if _worst is None else f"; its deepest drawdown was {_worst:.2f}%."
    )
    beta_correlation = None
    if benchmark is not None and benchmark.is_empty():
        conclusions["benchmark"] = "The market data have no price of the benchmark on the days of the book."
    elif benchmark is not None:
        _both = equity.select("date", "period_return").join(
            benchmark.select("date", other="period_return"), on="date"
        )
        _both = _both.drop_nulls()
        _related = correlation(_both["period_return"].to_numpy(), _both["other"].to_numpy())
        _first, _last = benchmark["date"][0], benchmark["date"][-1]
        _days = (
            "over the same sessions"
            if (_first, _last) == (equity["date"][0], equity["date"][-1])
            else f"from {_first} to {_last}, the days of the book that the market data have"
        )
        conclusions["benchmark"] = (
            f"The benchmark returned {benchmark['cumulative_return'][-1]:.2%} {_days}; "
        )
        if _unmeasured := equity["period_return"].null_count():
            conclusions["benchmark"] += (
                f"the correlation with it is withheld: {_unmeasured} of {equity.height} sessions have no return, as they open without equity."
            )
        elif isinstance(_related, float):
            beta_correlation = _related
            conclusions["benchmark"] += (
                f"daily returns of the two correlate at {beta_correlation:.2f}, so the book is "
                f"{'**not** neutral to it' if abs(beta_correlation) > 0.2 else 'close to neutral to it'}."
            )
        else:
            conclusions["benchmark"] += f"the correlation with it is withheld: {_related.text}."

    if deciles is not None and (spread := deciles["monotonicity"]["top_minus_bottom"]) is not None:
        _order = deciles["monotonicity"]["spearman_bucket_vs_mean_forward_return"]
        conclusions["deciles"] = (
            f"The top decile earned {1e4 * spread:.1f} basis points a week more than the bottom one; "
            + (
                "all deciles have the same mean return."
                if _order is None
                else f"deciles and their mean returns rank-correlate at {_order:.2f}."
            )
        )

    _basis = run.manifest.equity_basis
    gross = float(ledger["market_pnl"].sum()) / _basis
    costs = -float(ledger["execution_cost"].sum() + ledger["borrow_cashflow"].sum()) / _basis
    conclusions["costs"] = (
        f"Positions earned {gross:.4f} in units of the opening equity, trading and borrowing cost {costs:.4f}: "
        + (
            f"**{costs / gross:.0%} of the gross profit**."
            if gross > 0
            else "there was no gross profit to cover them."
        )
    )

    _best, _all = float(by_name["net_pnl"].head(5).sum()), float(by_name["net_pnl"].sum())
    top_share = _best / _all if _all > 0 else None
    conclusions["concentration"] = (
        f"Of {by_name.height} names, {by_name.filter(by_name['net_pnl'] > 0).height} earned a profit; the best five made "
        f"{_best:.4f} of a total of {_all:.4f}."
    )
    mo.md("\n".join(f"- {sentence}" for sentence in conclusions.values()))
    return beta_correlation, conclusions, costs, gross, top_share


if __name__ == "__main__":
    app.run()
