"""Airflow: publish new seals every quarter of an hour. Tested with Airflow 3.3.

The build runs in an environment with alpha-results and without Airflow, because Airflow pins older libraries. Airflow
retries temporary failures; failures that need a fix fail once and name the seals.
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
    """Publish new and changed seals; return the failures that need a fix."""
    from alpha_results.pipeline import AlphaResultsError, build_from

    retryable, permanent = [], []
    try:
        for result in build_from(seals, datasets, jobs=4):
            print(result.at, result.seal, result.outcome, flush=True)
            if result.error is not None:
                (retryable if result.retryable else permanent).append(f"{result.seal}: {result.error}")
    except AlphaResultsError as error:
        # The call itself failed: the root is unavailable, or an address invalid.
        (retryable if error.retryable else permanent).append(str(error))
    if retryable:
        raise RuntimeError("; ".join(retryable))  # Airflow retries; seals that are served already are skipped
    return permanent


@task(retries=0)
def require_none(permanent: list[str]) -> None:
    """Fail without a retry if a seal cannot be published as it is."""
    if permanent:
        raise AirflowFailException("; ".join(permanent))


@dag(
    schedule="*/15 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
)
def publish_alphas() -> None:
    """Publish, then report the failures that need a fix."""
    require_none(publish(SEALS, DATASETS))


publish_alphas_dag = publish_alphas()
