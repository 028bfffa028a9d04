"""Events of a root, derived from its pointers and stored refusals, and their two wire formats. Pure.

Sources: CloudEvents 1.0, JSON format; OpenLineage 2-0-2, RunEvent with the facet dataQualityAssertions.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from datasets.pointer import Pointer
from datasets.publication.history import recorded_changes
from schemas.instants import utc_text

if TYPE_CHECKING:
    from pipeline.batch.refusals import Refusal

REFUSED: Final = "refused"
_TYPE: Final = "alpha_results.alpha"
_PRODUCER: Final = "https://alpha-results.invalid/pipeline"
"""OpenLineage requires a URI of the producer; the project has no web page."""
_RUN_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_ASSERTIONS_SCHEMA: Final = "https://openlineage.io/spec/facets/1-0-1/DataQualityAssertionsDatasetFacet.json"
_NAMESPACE: Final = uuid.UUID("0b9df6f2-6a1d-5a0e-8a39-5d6f0f6f0c7e")
_JOB: Final = "alpha-results build"


@dataclass(frozen=True, slots=True)
class Event:
    """A publication, replacement, rollback, withdrawal or refusal.

    Attributes
    ----------
    at
        ISO-8601 UTC, by the clock of the machine that made the change.
    change
        ``published``, ``replaced``, ``rolled_back``, ``withdrawn`` or ``refused``.
    alpha_id
        The alpha; None for a refused seal that names none.
    snapshot, previous
        The snapshot served after the event, and the one served before it; None if none was.
    seal
        Digest of the seal; for a refusal, the digest of its ``seal.json``.
    by_operator
        Whether a command of an operator made the change, and not a build.
    violations
        The broken rules of a refusal, each with ``rule`` and ``message``.
    """

    at: str
    change: str
    alpha_id: str | None
    snapshot: str | None = None
    previous: str | None = None
    seal: str | None = None
    by_operator: bool = False
    violations: Sequence[Mapping[str, Any]] = field(default=(), compare=False)

    @property
    def id(self) -> str:
        """Id derived from the event, so that repeated deliveries have the same id.

        An alpha has at most one change at a time, so kind and snapshots need not be part of the id. They must not be, because
        they read differently once gc has removed the snapshot before the change.
        """
        refused = self.seal if self.change == REFUSED else None  # known only for the served snapshot
        text = "\0".join(str(x) for x in (self.at, self.alpha_id, refused))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def derive(pointers: Iterable[Pointer], refusals: Mapping[str, Refusal]) -> list[Event]:
    """Return all events that pointers and refusals record, oldest first.

    Parameters
    ----------
    pointers
        Pointers of all alphas, including withdrawn ones.
    refusals
        Digest of a ``seal.json`` -> its stored refusal.
    """
    events = [
        Event(
            at=utc_text(change.at),
            change=change.change,
            alpha_id=change.alpha_id,
            snapshot=change.snapshot,
            previous=change.previous,
            seal=pointer.seal_digest if change.snapshot == pointer.snapshot else None,
            by_operator=change.by_operator,
        )
        for pointer in pointers
        for change in recorded_changes(pointer)
    ]
    events += [
        Event(entry["refused_at"], REFUSED, entry["alpha_id"], seal=mark, violations=entry["violations"])
        for mark, entry in refusals.items()
    ]
    return sorted(events, key=lambda event: (datetime.fromisoformat(event.at), event.id))


def cloud_event(event: Event, root: str) -> dict[str, Any]:
    """Return an event as a CloudEvent.

    Parameters
    ----------
    root
        Address of the datasets root, without secrets; the ``source`` of the event.
    """
    rules = [{"rule": x["rule"], "message": x.get("message", "")} for x in event.violations]
    return {
        "specversion": "1.0",
        "id": event.id,
        "source": root,
        "type": f"{_TYPE}.{event.change}",
        "subject": event.alpha_id or event.seal,
        "time": event.at,
        "datacontenttype": "application/json",
        "data": {
            "alpha_id": event.alpha_id,
            "snapshot": event.snapshot,
            "previous_snapshot": event.previous,
            "seal_digest": event.seal,
            **({"violations": rules} if event.change == REFUSED else {}),
        },
    }


def lineage_event(event: Event, root: str, checks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return an event as a run of the build job; None for events without a build.

    Parameters
    ----------
    checks
        Rule outcomes from the manifest of the snapshot; unchecked rules are left out.
    """
    if event.by_operator or event.seal is None:
        return None
    failed = event.change == REFUSED
    if failed:
        assertions = [{"assertion": x["rule"], "success": False} for x in event.violations]
    else:
        assertions = [
            {"assertion": x["rule"], "success": x["outcome"] == "pass"}
            for x in checks
            if x["outcome"] != "not_checked"
        ]
    facet = {"_producer": _PRODUCER, "_schemaURL": _ASSERTIONS_SCHEMA, "assertions": assertions}
    version = {
        "_producer": _PRODUCER,
        "_schemaURL": "https://openlineage.io/spec/facets/1-0-1/DatasetVersionDatasetFacet.json",
        "datasetVersion": event.snapshot,
    }
    served = {"namespace": root, "name": event.alpha_id, "facets": {"version": version}}
    return {
        "eventType": "FAIL" if failed else "COMPLETE",
        "eventTime": event.at,
        "producer": _PRODUCER,
        "schemaURL": _RUN_SCHEMA,
        "run": {"runId": str(uuid.uuid5(_NAMESPACE, event.id))},
        "job": {"namespace": root, "name": _JOB},
        "inputs": [
            {"namespace": "seals", "name": event.seal, "inputFacets": {"dataQualityAssertions": facet}}
        ],
        "outputs": [] if failed else [served],
    }
