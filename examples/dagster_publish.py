"""Dagster: publish new seals as an asset on a schedule. Tested with Dagster 1.13."""

import os

import dagster as dg
from alpha_results.pipeline import AlphaResultsError, build_from

SEALS = os.environ.get("ALPHA_RESULTS_SEALS", "/srv/seals")
DATASETS = os.environ.get("ALPHA_RESULTS_DATASETS", "/srv/published")


@dg.asset
def published_alphas(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Publish new and changed seals; retry or fail if any could not be published."""
    counts: dict[str, int] = {}
    retryable, permanent = [], []
    try:
        for result in build_from(SEALS, DATASETS, jobs=4):
            context.log.info("%s: %s", result.seal, result.outcome)
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
            if result.error is not None:
                (retryable if result.retryable else permanent).append(f"{result.seal}: {result.error}")
    except AlphaResultsError as error:
        # The call itself failed: the root is unavailable, or an address invalid.
        (retryable if error.retryable else permanent).append(str(error))
    if retryable:
        context.log.warning("; ".join(retryable))
        raise dg.RetryRequested(max_retries=3, seconds_to_wait=float(os.environ.get("RETRY_SECONDS", "300")))
    if permanent:
        raise dg.Failure("; ".join(permanent), allow_retries=False)
    return dg.MaterializeResult(metadata=counts)


publish = dg.define_asset_job("publish", selection=[published_alphas])
definitions = dg.Definitions(
    assets=[published_alphas],
    jobs=[publish],
    schedules=[dg.ScheduleDefinition(job=publish, cron_schedule="*/15 * * * *")],
)
