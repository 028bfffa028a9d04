"""Run the example's DAG once in its own database; print the states of its tasks as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from airflow.utils.db import initdb

initdb()
sys.path.insert(0, str(Path(os.environ["AIRFLOW_HOME"]) / "dags"))
import airflow_publish  # noqa: E402 - the example, on the path set above

run = airflow_publish.publish_alphas_dag.test()
tasks = {task.task_id: [str(task.state), task.try_number] for task in run.get_task_instances()}
sys.stdout.write("\n" + json.dumps({"state": str(run.state), "tasks": tasks}) + "\n")
