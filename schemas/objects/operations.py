"""Objects about the service: health, source archives, and the administrators' view of each alpha."""

from __future__ import annotations

from typing import Final

from schemas.field import anything, array, count, day, figure, flag, instant, integer, record, text
from schemas.kinds import KINDS, REQUIRED_KINDS
from schemas.objects.downloads import SHA256, signed_url
from schemas.objects.keys import REGISTRY_VERSION
from schemas.tables.sealed_metrics import RECONCILIATIONS, SCOPES
from schemas.units import Unit

SOURCE_LIFETIME: Final = 3600
"""Validity of a signed URL of a source archive, in seconds."""
SOURCE_STATUSES: Final = ("packaging", "delivered", "failed")
"""States of a source archive; no state is recorded where the run sealed no source."""

HEALTH: Final = record(
    "health",
    "Health of the service; the status code is 200 in both states.",
    text(
        "status",
        "`degraded` while results, keys, limits, market data or archives are unavailable or damaged.",
        vocabulary=("ok", "degraded"),
    ),
    text("service", "Name of the service."),
    text("environment", "Name of the deployment, such as live."),
    text("version", "Version of the running build."),
    REGISTRY_VERSION,
    instant("time", "The server's clock."),
    count(
        "affected_alphas",
        "Alphas that are not served as published, because their pointer cannot be read or their snapshot is missing, damaged or "
        "different; absent if there are none.",
        minimum=1,
        optional=True,
    ),
    model="Health",
)

SOURCE_DOWNLOAD: Final = record(
    "source_download",
    "Signed URL of the run's source archive, made for this call.",
    *signed_url("archive", SOURCE_LIFETIME),
    text("filename", "`<alpha_id>.zip`.", pattern=r"\.zip$"),
    integer("size_bytes", Unit.BYTES, "Size of the archive; null if not recorded.", nullable=True),
    text("sha256", "Its SHA-256 in hexadecimal; null if not recorded.", nullable=True, pattern=SHA256),
    model="SourceDownload",
)

_PUBLISHED: Final = (
    text("alpha_id", "The alpha's address."),
    flag("complete", "Whether the run has every required kind."),
    array("missing_kinds", "Required kinds the run lacks.", text("", "A kind.", vocabulary=REQUIRED_KINDS)),
    text("snapshot", "Id of the served snapshot."),
    instant("started_at", "When the run started."),
    instant("published_at", "When the snapshot was first served."),
)

ADMIN_ALPHA: Final = record("admin_alpha", "One alpha, for administrators.", *_PUBLISHED, model="AdminAlpha")

_KIND: Final = record(
    "",
    "One kind of data.",
    text("kind", "Its name.", vocabulary=KINDS),
    flag("required", "Whether a complete run has it."),
    flag("present", "Whether this run has it."),
    count("rows", "Rows published; null for kinds that are not tables.", nullable=True),
    day("first_date", "First day with a row; null without rows.", nullable=True),
    day("last_date", "Last day with a row; null without rows.", nullable=True),
)

SEAL_WARNING: Final = record(
    "",
    "A rule that the seal breaks without being refused.",
    text("rule", "Id of the rule."),
    text("file", "File affected."),
    count("rows", "Rows affected."),
    array("examples", "Up to five examples.", anything("", "One example.")),
    text("message", "Description of the violation."),
    text("remedy", "The fix."),
)

FIGURE: Final = record(
    "",
    "One sealed figure, recomputed.",
    text("name", "Sealed name of the figure."),
    text("scope", "Span that it describes.", vocabulary=SCOPES),
    text("period", "The year (2020) or month (2020-03); null overall.", nullable=True),
    figure("sealed", "The sealed value.", unit=Unit.MIXED),
    figure(
        "recomputed",
        "Value from the tables; null if they do not determine it, or it was not checked.",
        unit=Unit.MIXED,
    ),
    text(
        "status",
        "Whether a documented convention reproduces the sealed value. `not_reproduced` values are not served.",
        vocabulary=RECONCILIATIONS,
    ),
    text("convention", "Convention that reproduces it; only if there is one.", optional=True),
    text("reason", "Why it was not checked; only in that case.", optional=True),
)

_RECONCILIATION: Final = record(
    "reconciliation",
    "Reconciliation of the run's figures with its tables.",
    anything("declared", "Differences of the engine that the seal declares; empty without any."),
    flag("adjusted", "Whether the seal has quantity or cash adjustments, such as splits or dividends."),
    array("figures", "Every figure that the API serves, overall and by period.", FIGURE),
)

READINESS: Final = record(
    "readiness",
    "Contents of one alpha's snapshot, by kind.",
    *_PUBLISHED,
    array("kinds", "Every kind that a run may have.", _KIND),
    array("warnings", "Rules that the seal breaks without being refused.", SEAL_WARNING),
    _RECONCILIATION,
    text(
        "source_status",
        "State of the source archive; null if none is recorded.",
        nullable=True,
        vocabulary=SOURCE_STATUSES,
    ),
    flag("description", "Whether a written description was sealed."),
    model="Readiness",
)
