"""Mutated seals are refused by a rule or published as sealed, in bounded memory and time.

``just mutated-seals`` runs all of them, `.ci/nightly` a fixed share.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from schemas.tables import SEALED_TABLES
from tests.mutated_seals import columns, documents, files, forgeries, rows, source_tree, values
from tests.mutated_seals.campaign import Campaign
from tests.mutated_seals.mutation import Mutation

_ASKED = os.environ.get("ALPHA_RESULTS_TEST_MUTATIONS", "2")
SHARE = 100 if _ASKED == "all" else int(_ASKED)
"""Share of the mutations, in percent."""


def every_mutation() -> list[Mutation]:
    return [
        mutation
        for family in (columns, values, rows, files, documents, source_tree, forgeries)
        for mutation in family.mutations()
    ]


def test_mutation_names_are_unique_and_every_column_is_mutated() -> None:
    names = [mutation.name for mutation in every_mutation()]
    assert len({*names}) == len(names)
    for kind, table in SEALED_TABLES.items():
        for column in table.sealed_columns:
            assert sum(name.startswith(f"{kind}.{column.name}") for name in names) >= 8


def test_mutated_seals(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path)
    campaign.run(mutation for mutation in every_mutation() if mutation.in_share(SHARE))
    sys.stdout.write(json.dumps(campaign.tally.as_json(), indent=2, ensure_ascii=False) + "\n")
    assert not campaign.tally.faults, "\n".join(campaign.tally.faults)
