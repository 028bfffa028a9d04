"""Materialise the example's asset; print the result as JSON."""

from __future__ import annotations

import json
import sys

import dagster as dg

sys.path.insert(0, sys.argv[1])
import dagster_publish

with dg.DagsterInstance.ephemeral() as instance:
    done = dg.materialize([dagster_publish.published_alphas], instance=instance, raise_on_error=False)
failures = [event.step_failure_data for event in done.all_events if event.event_type_value == "STEP_FAILURE"]
metadata = [each.metadata for each in done.asset_materializations_for_node("published_alphas")]
(schedule,) = dagster_publish.definitions.schedules
sys.stdout.write(
    json.dumps(
        {
            "succeeded": done.success,
            "retries": sum(event.event_type_value == "STEP_RESTARTED" for event in done.all_events),
            "failures": [str(failure.error) for failure in failures],
            "counts": [{name: value.value for name, value in each.items()} for each in metadata],
            "schedule": schedule.cron_schedule,
        }
    )
)
