"""Airflow: publish what engines sealed, every quarter of an hour. Tried with Airflow 3.3.

The build runs in an environment that has alpha-results and not Airflow, for the two want different releases of some
libraries. What may pass by itself is retried by Airflow; what somebody has to mend fails once and names the seals.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

PYTHON = os.environ.get("ALPHA_RESULTS_PYTHON", "/opt/alpha-results/bin/python")
SEALS = os.environ.get("ALPHA_RESULTS_SEALS", "/srv/seals")
DATASETS = os.environ.get("ALPHA_RESULTS_DATASETS", "/srv/published")


@task.external_python(
    python=PYTHON,
    expect_airflow=False,
    retries=3,
    retry_delay=timedelta(minutes=5),
    retry_exponential_backoff=True,
)
def publish(seals: str, datasets: str) -> list[str]:
    """Publish what is due; return what somebody has to mend."""
    from alpha_results.pipeline import AlphaResultsError, build_from

    again, to_mend = [], []
    try:
        for result in build_from(seals, datasets, jobs=4):
            print(result.at, result.seal, result.outcome, flush=True)
            if result.error is not None:
                (again if result.retryable else to_mend).append(f"{result.seal}: {result.error}")
    except AlphaResultsError as error:  # it concerns all: the root is away, or an address makes no sense
        (again if error.retryable else to_mend).append(str(error))
    if again:
        raise RuntimeError("; ".join(again))  # Airflow retries: alphas published by then are skipped
    return to_mend


@task(retries=0)
def require_none(to_mend: list[str]) -> None:
    """Fail, for good, when a seal cannot be published as it is."""
    if to_mend:
        raise AirflowFailException("; ".join(to_mend))


@dag(
    schedule="*/15 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
)
def publish_alphas() -> None:
    """Publish, and say what is left to do."""
    require_none(publish(SEALS, DATASETS))


publish_alphas_dag = publish_alphas()
