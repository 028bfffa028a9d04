import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="The published files in plain SQL")


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    # The published files in plain SQL

    DuckDB over the folder, without any package of this project. **Read only the snapshots that the catalogue names**: older ones
    stay in the folder for a while.
    """)
    return


@app.cell
def _():
    import os
    import shlex
    from pathlib import Path

    import duckdb
    import marimo as mo
    import polars.selectors as cs

    # `$ROOT` as the demo's line sets it, else that of a demo started in this folder.
    file = Path(".demo/env")
    words = shlex.split(file.read_text()) if file.is_file() else []
    given = dict(word.split("=", 1) for word in words if "=" in word) | os.environ
    place = given.get("ALPHA_RESULTS_DATASETS") or given.get("ROOT") or ".demo/published"
    place = place.replace("'", "''")  # it is interpolated into SQL strings
    connection = duckdb.connect()
    return connection, cs, mo, place


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## The catalogue: which snapshot of which alpha is served
    """)
    return


@app.cell
def _(connection, place):
    connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE served AS
            SELECT alpha_id, snapshot, name, started_at, published_at
            FROM read_json('{place}/catalog/*.json', union_by_name = true)
            WHERE len(kinds) > 0"""
    )
    served = connection.sql("SELECT * FROM served ORDER BY started_at DESC, alpha_id").pl()
    served
    return (served,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## One view per table

    Folders named `column=value` become columns: alpha, snapshot, and book if the table has one.
    """)
    return


@app.cell
def _(connection, mo, place, served):
    mo.stop(served.is_empty(), mo.md("No alpha is served here."))
    tables = {
        "weekly_signal": "weekly_signal/*.parquet",
        "decisions": "decisions/*.parquet",
        "sealed_metrics": "sealed_metrics/*.parquet",
        "equity_curve": "equity_curve/*/*.parquet",
        "portfolio": "portfolio/*/*.parquet",
        "positions": "positions/*/*.parquet",
        "pnl": "pnl/*/*.parquet",
    }
    # Of a table that no run has, the columns read below, without a row.
    _columns = {
        "VARCHAR": "alpha_id book symbol",
        "DATE": "date",
        "DOUBLE": "ic starting_equity ending_equity period_return drawdown_pct turnover equity_basis market_pnl execution_cost "
        "borrow_cashflow weight",
    }
    _nulls = ", ".join(
        f"NULL::{_type} AS {_name}" for _type, _names in _columns.items() for _name in _names.split()
    )
    absent = []
    for _name, _files in tables.items():
        _path = f"{place}/alphas/*/*/{_files}"
        if connection.sql(f"SELECT * FROM glob('{_path}') LIMIT 1").fetchall():
            _rows = f"""SELECT * FROM read_parquet('{_path}',
                            hive_partitioning = true, hive_types_autocast = false, union_by_name = true)
                        SEMI JOIN served USING (alpha_id, snapshot)"""
        else:
            _rows = f"SELECT {_nulls} LIMIT 0"
            absent.append(f"`{_name}`")
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {_name} AS {_rows}")
    ready = True
    mo.md(f"No run has {', '.join(absent)}." if absent else "")
    return (ready,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## How well do the scores rank the names?
    """)
    return


@app.cell
def _(connection, cs, ready):
    assert ready
    signal = connection.sql(
        """SELECT alpha_id, count(ic) AS weeks, avg(ic) AS mean_ic,
                  -- weekly ICs that do not vary have no ratio
                  avg(ic) / nullif(stddev_samp(ic), 0) * sqrt(52) AS icir, avg((ic > 0)::INTEGER) AS hit_rate
           FROM weekly_signal GROUP BY alpha_id ORDER BY alpha_id"""
    ).pl()
    signal.with_columns(cs.float().round(4))
    return (signal,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## The same by year
    """)
    return


@app.cell
def _(connection, ready):
    assert ready
    by_year = connection.sql(
        """PIVOT (SELECT alpha_id, year(date)::VARCHAR AS year, ic FROM weekly_signal)
           ON alpha_id USING round(avg(ic), 4) GROUP BY year ORDER BY year"""
    ).pl()
    by_year
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Results of each book
    """)
    return


@app.cell
def _(connection, cs, ready):
    assert ready
    books = connection.sql(
        """SELECT alpha_id, book, count(*) AS sessions,
                  last(ending_equity ORDER BY date) / first(starting_equity ORDER BY date) - 1 AS total_return,
                  -- a session that opens with equity not above 0 has no return, and such a book no ratio
                  CASE WHEN min(starting_equity) > 0
                       THEN avg(period_return) / nullif(stddev_samp(period_return), 0) * sqrt(252) END AS information_ratio,
                  max(drawdown_pct) AS max_drawdown_pct, avg(turnover) * 252 AS turnover_per_year
           FROM equity_curve WHERE book IN ('long_short', 'long_only')
           GROUP BY alpha_id, book ORDER BY alpha_id, book DESC"""
    ).pl()
    books.with_columns(cs.float().round(4))
    return (books,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Trading costs, in units of the opening equity
    """)
    return


@app.cell
def _(connection, cs, ready):
    assert ready
    costs = connection.sql(
        """SELECT alpha_id, sum(market_pnl / equity_basis) AS gross, sum(execution_cost / equity_basis) AS execution,
                  sum(borrow_cashflow / equity_basis) AS borrowing,
                  sum((market_pnl + execution_cost + borrow_cashflow) / equity_basis) AS net
           FROM portfolio WHERE book = 'long_short' GROUP BY alpha_id ORDER BY alpha_id"""
    ).pl()
    costs.with_columns(cs.float().round(4))
    return (costs,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Names that two alphas hold on the same side, at their last common close
    """)
    return


@app.cell
def _(connection, cs, ready):
    assert ready
    overlap = connection.sql(
        """WITH held AS (SELECT alpha_id, date, symbol, weight FROM positions WHERE book = 'long_short'),
                pairs AS (
                    SELECT a.alpha_id AS one, b.alpha_id AS other, a.date, a.symbol, a.weight AS w1, b.weight AS w2
                    FROM held a JOIN held b USING (date, symbol) WHERE a.alpha_id < b.alpha_id
                ),
                latest AS (SELECT * FROM pairs QUALIFY date = max(date) OVER (PARTITION BY one, other))
           SELECT one, other, date, count(*) AS names_in_both, count_if(sign(w1) = sign(w2)) AS same_side,
                  sum(CASE WHEN sign(w1) = sign(w2) THEN least(abs(w1), abs(w2)) ELSE 0 END) AS common_weight
           FROM latest GROUP BY one, other, date ORDER BY one, other"""
    ).pl()
    overlap.with_columns(cs.float().round(4))
    return (overlap,)


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    ## Conclusions

    Computed by the cell below.
    """)
    return


@app.cell
def _(books, costs, mo, overlap, served, signal):
    _long_short = books.filter(books["book"] == "long_short")
    _ranked = signal.drop_nulls("icir").sort("icir", descending=True)
    _best = None if _ranked.is_empty() else _ranked.row(0, named=True)
    conclusions = [
        f"{len(served)} alphas are served. "
        + (
            "None has weekly ICs that vary, which an ICIR needs."
            if _best is None
            else f"`{_best['alpha_id']}` ranks names best: ICIR {_best['icir']:.2f} over {_best['weeks']} weeks."
        )
    ]
    for _row in _long_short.join(costs, on="alpha_id").iter_rows(named=True):
        _paid, _gross = -(_row["execution"] + _row["borrowing"]), _row["gross"]
        if _gross <= 0:
            _share = "there was no gross profit to pay costs from"
        elif _paid > _gross:
            _share = "costs were more than the gross profit"
        else:
            _share = f"costs took {_paid / _gross:.0%} of the gross profit"
        conclusions.append(
            f"`{_row['alpha_id']}` returned {_row['total_return']:.2%} with a drawdown of up to {_row['max_drawdown_pct']:.2f}%; "
            f"{_share}."
        )
    for _row in overlap.iter_rows(named=True):
        conclusions.append(
            f"On {_row['date']} `{_row['one']}` and `{_row['other']}` both held {_row['names_in_both']} names, "
            f"{_row['same_side']} of them on the same side."
        )
    mo.md("\n".join(f"- {sentence}" for sentence in conclusions))
    return (conclusions,)


if __name__ == "__main__":
    app.run()
