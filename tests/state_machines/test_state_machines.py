"""Random histories of a store, each answer compared with a model.

``ALPHA_RESULTS_TEST_STATE_MACHINES`` says how many histories; ``ALPHA_RESULTS_TEST_SEED`` repeats those of an earlier call.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.state_machines.call_rules import CallRules
from tests.state_machines.key_rules import KeyRules
from tests.state_machines.publication_rules import PublicationRules
from tests.state_machines.runs import make_runs

HISTORIES = int(os.environ.get("ALPHA_RESULTS_TEST_STATE_MACHINES", "15"))
SEED = int(os.environ.get("ALPHA_RESULTS_TEST_SEED", random.SystemRandom().randrange(2**32)))
STEPS = 40
FEW, MANY = 15, 200
COMMON = ("build", "gc", "answer 200", "answer 401 key_expired")
RARE = ("rollback", "withdraw", "restore", "walks ended", "answer 304", "answer 404 snapshot_not_found")
"""Events that only many histories are certain to reach."""


class Histories(PublicationRules, KeyRules, CallRules):
    """All rules together."""


def test_every_answer_matches_the_model(tmp_path: Path) -> None:
    Histories.runs = make_runs(tmp_path)
    sys.stdout.write(f"\nALPHA_RESULTS_TEST_SEED={SEED}\n")
    chosen = settings(
        max_examples=HISTORIES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(SEED)(Histories), settings=chosen)
    finally:
        sys.stdout.write(json.dumps(dict(sorted(Histories.tally.items())), indent=1) + "\n")
    for what in COMMON if HISTORIES < MANY else (*COMMON, *RARE):
        assert HISTORIES < FEW or Histories.tally[what], f"{what}: never happened in {HISTORIES} histories"
