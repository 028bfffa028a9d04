import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="Several alphas side by side")


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    # Several alphas compared

    How similar are they, and what does each add to the others? Figures cover the sessions and weeks that all of them have.
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

    # `$ROOT` as the demo's line sets it, else that of a demo started in this folder.
    file = Path(".demo/env")
    words = shlex.split(file.read_text()) if file.is_file() else []
    given = dict(word.split("=", 1) for word in words if "=" in word) | os.environ
    place = given.get("ALPHA_RESULTS_DATASETS") or given.get("ROOT") or ".demo/published"
    return datasets, mo, np, pl, place, plt


@app.cell
def _(datasets, mo, place):
    root = datasets.open(place)
    choice = mo.ui.multiselect(list(root), value=sorted(root)[:6], label="Alphas")
    choice
    return choice, root


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Headline figures

    The same as `/v1/alphas/{alpha}/metrics`; an empty cell is withheld.
    """)
    return


@app.cell
def _(choice, mo, root):
    _chosen = {alpha: root[alpha] for alpha in choice.value}
    runs = {alpha: run for alpha, run in _chosen.items() if run.has_rows("equity_curve", "long_short")}
    mo.stop(not runs, mo.md("Choose an alpha with a long_short book above."))
    _left_out = [alpha for alpha in _chosen if alpha not in runs]
    mo.md(f"Left out, without a long_short book: {', '.join(_left_out)}." if _left_out else "")
    return (runs,)


@app.cell
def _(pl, runs):
    figures = pl.DataFrame(
        [
            {
                "alpha": _alpha,
                **{
                    name: entry["value"] for name, entry in _run.metrics()["core"].items() if name != "tenure"
                },
            }
            for _alpha, _run in runs.items()
        ],
        infer_schema_length=None,
    ).drop("sharpe")
    figures.with_columns(pl.col(pl.Float64).round(4))
    return (figures,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Curves on a common base
    """)
    return


@app.cell
def _(np, pl, plt, runs):
    from alpha_results_datasets.figures.daily_returns import between_common_closes

    # A session that another alpha lacks is compounded into the next session that all have.
    _common = between_common_closes(
        [
            (x["date"].to_numpy(), x["period_return"].to_numpy())
            for x in (_run.returns() for _run in runs.values())
        ]
    )
    daily = pl.DataFrame({"date": _common.days} | dict(zip(runs, _common.returns, strict=True)))
    returns = _common.returns
    together = returns.mean(axis=0)

    _figure, _axes = plt.subplots(figsize=(9, 4), layout="constrained")
    for _alpha, _series in zip(runs, returns, strict=True):
        _axes.plot(daily["date"], np.cumprod(1 + _series), linewidth=1, label=_alpha)
    _axes.plot(daily["date"], np.cumprod(1 + together), color="black", linewidth=2, label="in equal parts")
    _axes.set_ylabel("growth of 1")
    _axes.legend(frameon=False)
    _figure
    return daily, returns, together


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Correlations

    Three views, as `/v1/correlations` defines them: correlation of daily returns; mean over the common weeks of the rank
    correlation of scores; mean over the common sessions of the overlap of holdings, 1 where two books hold the same in the same
    proportions.
    """)
    return


@app.cell
def _(pl, root, runs):
    _table = root.correlations(list(runs), by="returns")
    return_correlations = _table.drop("alpha_id").to_numpy()
    _table.with_columns(pl.exclude("alpha_id").round(4))
    return (return_correlations,)


@app.cell
def _(pl, root, runs):
    _table = root.correlations(list(runs), by="scores")
    score_correlations = _table.drop("alpha_id").to_numpy()
    _table.with_columns(pl.exclude("alpha_id").round(4))
    return (score_correlations,)


@app.cell
def _(pl, root, runs):
    _table = root.correlations(list(runs), by="holdings")
    overlaps = _table.drop("alpha_id").to_numpy()
    _table.with_columns(pl.exclude("alpha_id").round(4))
    return (overlaps,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## What each adds to an equally weighted book of all

    The book holds all alphas at equal weights, rebalanced each session. `without` is the book without the alpha.
    """)
    return


@app.cell
def _(pl, root, runs):
    # The same as `/v1/alphas/{alpha}/contribution`, which needs at least one other alpha.
    _answers = {
        alpha: root.contribution(alpha, [other for other in runs if other != alpha])
        for alpha in runs
        if len(runs) > 1
    }
    together_figures = next(iter(_answers.values()))["with"] if _answers else None
    contribution = pl.DataFrame(
        [
            {"alpha": alpha, "without": answer["without"]["sharpe"], "adds": answer["marginal"]["sharpe"]}
            for alpha, answer in _answers.items()
        ],
        schema={"alpha": pl.String, "without": pl.Float64, "adds": pl.Float64},
    )
    contribution.with_columns(pl.exclude("alpha").round(4))
    return contribution, together_figures


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Conclusions

    Each sentence is computed by the cell below.
    """)
    return


@app.cell
def _(
    contribution,
    mo,
    np,
    overlaps,
    return_correlations,
    runs,
    score_correlations,
    together_figures,
):
    conclusions = []
    _names = list(runs)
    if len(_names) > 1:
        # A pair that cannot be compared, such as one with few common sessions, is NaN.
        _known = np.tri(len(_names), k=-1, dtype=bool) & ~np.isnan(return_correlations)
        _pairs = np.where(_known, np.abs(return_correlations), -1)
        _i, _j = np.unravel_index(int(np.argmax(_pairs)), _pairs.shape)
        _scores, _overlap = score_correlations[_i, _j], overlaps[_i, _j]
        if _known.any():
            _one, _other = (runs[name].returns().drop_nulls() for name in (_names[_i], _names[_j]))
            conclusions.append(
                f"Closest by returns are `{_names[_i]}` and `{_names[_j]}`: {return_correlations[_i, _j]:.2f} over "
                f"{_one.join(_other, on='date').height} common sessions; their scores "
                + ("cannot be compared" if np.isnan(_scores) else f"correlate at {_scores:.2f}")
                + ", and their holdings "
                + ("cannot be compared." if np.isnan(_overlap) else f"overlap by {_overlap:.0%}.")
            )
        else:
            conclusions.append("No two of them have returns that can be compared.")
    if together_figures is not None and together_figures["sharpe"] is not None:
        conclusions.append(
            f"Equally weighted, they have a Sharpe ratio of {together_figures['sharpe']:.2f}; their deepest drawdown is "
            f"{together_figures['max_drawdown_pct']:.2f}%."
        )
    for _row in contribution.drop_nulls("adds").iter_rows(named=True):
        _verb = "adds" if _row["adds"] > 0 else "takes away"
        conclusions.append(f"`{_row['alpha']}` {_verb} {abs(_row['adds']):.2f} of Sharpe ratio.")
    mo.md("\n".join(f"- {sentence}" for sentence in conclusions))
    return (conclusions,)


if __name__ == "__main__":
    app.run()
