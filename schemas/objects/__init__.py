"""Every payload of the interface, by the name the endpoint registry gives it."""

from __future__ import annotations

from typing import Final

from schemas.field import Field
from schemas.metrics.doc_block import METRICS_DOC
from schemas.metrics.families import FAMILIES
from schemas.metrics.payload import METRICS
from schemas.objects.audit import AUDIT
from schemas.objects.description import DESCRIPTION
from schemas.objects.downloads import DOWNLOADS
from schemas.objects.exposures import EXPOSURES
from schemas.objects.history import HISTORY
from schemas.objects.keys import KEY, KEY_USAGE, ME
from schemas.objects.luck import CATALOGUE_LUCK, LUCK
from schemas.objects.operations import OPERATIONS
from schemas.objects.regimes import REGIMES
from schemas.objects.research import PEERS
from schemas.objects.rows import ROW_FIELDS

OBJECTS: Final[dict[str, Field]] = {
    field.name: field
    for field in (ME, KEY, KEY_USAGE, DESCRIPTION, METRICS, METRICS_DOC, *OPERATIONS, *DOWNLOADS)
}
"""Payloads that are not table rows."""

RESEARCH: Final[dict[str, Field]] = {
    field.name: field
    for field in (
        AUDIT,
        *PEERS,
        LUCK,
        CATALOGUE_LUCK,
        EXPOSURES,
        REGIMES,
        *HISTORY,
        *(family.payload for family in FAMILIES.values()),
    )
}
"""Payloads of research questions, beyond the interface as it was given."""

PAYLOADS: Final[dict[str, Field]] = {**ROW_FIELDS, **OBJECTS, **RESEARCH}
"""Every payload: rows of tables and objects."""

FULL_ROW: Final[dict[str, str]] = {"score": "score_all"}
"""Row -> the row served in its place with ``fields=all``."""
