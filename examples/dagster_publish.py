"""Dagster: publish what engines sealed, as an asset on a schedule. Tried with Dagster 1.13."""

import os

import dagster as dg
from alpha_results.pipeline import AlphaResultsError, build_from

SEALS = os.environ.get("ALPHA_RESULTS_SEALS", "/srv/seals")
DATASETS = os.environ.get("ALPHA_RESULTS_DATASETS", "/srv/published")


@dg.asset
def published_alphas(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Publish what is due, and fail where something is left to do."""
    counts: dict[str, int] = {}
    again, to_mend = [], []
    try:
        for result in build_from(SEALS, DATASETS, jobs=4):
            context.log.info("%s: %s", result.seal, result.outcome)
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
            if result.error is not None:
                (again if result.retryable else to_mend).append(f"{result.seal}: {result.error}")
    except AlphaResultsError as error:  # it concerns all: the root is away, or an address makes no sense
        (again if error.retryable else to_mend).append(str(error))
    if again:
        context.log.warning("; ".join(again))
        raise dg.RetryRequested(max_retries=3, seconds_to_wait=float(os.environ.get("RETRY_SECONDS", "300")))
    if to_mend:
        raise dg.Failure("; ".join(to_mend), allow_retries=False)
    return dg.MaterializeResult(metadata=counts)


publish = dg.define_asset_job("publish", selection=[published_alphas])
definitions = dg.Definitions(
    assets=[published_alphas],
    jobs=[publish],
    schedules=[dg.ScheduleDefinition(job=publish, cron_schedule="*/15 * * * *")],
)
