"""Objects about the service itself: its health, archives, and what administrators see of each alpha."""

from __future__ import annotations

from typing import Final

from schemas.field import anything, array, day, flag, instant, integer, number, record, text
from schemas.kinds import KINDS, REQUIRED_KINDS
from schemas.objects.keys import REGISTRY_VERSION
from schemas.tables.sealed_metrics import RECONCILIATIONS, SCOPES
from schemas.units import Unit

SOURCE_LIFETIME: Final = 3600
"""Seconds a signed address of a source archive stays valid."""
SOURCE_STATUSES: Final = ("packaging", "delivered", "failed")
"""States of a source archive; no state is recorded where the run sealed no source."""

HEALTH: Final = record(
    "health",
    "Whether the service is up. The answer is 200 in both states.",
    text(
        "status",
        "`degraded` while anything that answers depend on is away or damaged: results, keys, limits, market data, archives.",
        vocabulary=("ok", "degraded"),
    ),
    text("service", "Name of the service."),
    text("environment", "The deployment, such as live."),
    text("version", "Version of the running build."),
    REGISTRY_VERSION,
    instant("time", "The server's clock."),
    integer(
        "affected_alphas",
        Unit.COUNT,
        "Alphas known to be not served as they were published: their pointer cannot be read, or what it names is damaged, "
        "missing or something else; left out while there are none.",
        minimum=1,
        optional=True,
    ),
    model="Health",
)

_SHA256: Final = "^[0-9a-f]{64}$"

SOURCE_DOWNLOAD: Final = record(
    "source_download",
    "A signed address of the run's source archive, made for this call.",
    text("url", "Where the archive can be fetched without a key until it expires.", pattern="^https?://"),
    integer(
        "expires_in",
        Unit.SECONDS,
        "How long the address stays valid.",
        minimum=SOURCE_LIFETIME,
        maximum=SOURCE_LIFETIME,
    ),
    text("filename", "`<alpha_id>.zip`.", pattern=r"\.zip$"),
    integer("size_bytes", Unit.BYTES, "Size of the archive; null when it was not recorded.", nullable=True),
    text(
        "sha256",
        "SHA-256 of the archive in hexadecimal; null when not recorded.",
        nullable=True,
        pattern=_SHA256,
    ),
    model="SourceDownload",
)

_PUBLISHED: Final = (
    text("alpha_id", "The alpha's address."),
    flag("complete", "Whether the run holds every required kind."),
    array("missing_kinds", "Required kinds the run lacks.", text("", "A kind.", vocabulary=REQUIRED_KINDS)),
    text("snapshot", "Id of the snapshot that is served."),
    instant("started_at", "When the run began."),
    instant("published_at", "When the snapshot became the served one for the first time."),
)

ADMIN_ALPHA: Final = record(
    "admin_alpha", "One alpha as an administrator sees it in the list.", *_PUBLISHED, model="AdminAlpha"
)

_KIND: Final = record(
    "",
    "One kind of data.",
    text("kind", "Its name.", vocabulary=KINDS),
    flag("required", "Whether a complete run holds it."),
    flag("present", "Whether this run does."),
    integer("rows", Unit.COUNT, "Rows published; null for kinds that are not tables.", nullable=True),
    day("first_date", "First day with a row; null when there is none.", nullable=True),
    day("last_date", "Last day with a row; null when there is none.", nullable=True),
)

SEAL_WARNING: Final = record(
    "",
    "A rule that the seal bends without being refused.",
    text("rule", "Its id, as the rules document lists it."),
    text("file", "The file concerned."),
    integer("rows", Unit.COUNT, "Rows concerned."),
    array("examples", "Up to five of them.", anything("", "One example.")),
    text("message", "What was noticed."),
    text("remedy", "The fix."),
)

FIGURE: Final = record(
    "",
    "One of the run's own figures, recomputed.",
    text("name", "The run's name of it."),
    text("scope", "What span it describes.", vocabulary=SCOPES),
    text("period", "The year (2020) or month (2020-03); null overall.", nullable=True),
    number("sealed", Unit.MIXED, "The sealed value.", nullable=True),
    number(
        "recomputed",
        Unit.MIXED,
        "What the tables come to; null when they do not determine it, or it was not checked.",
        nullable=True,
    ),
    text(
        "status",
        "Whether a documented convention gives the sealed value. One that is `not_reproduced` is not served.",
        vocabulary=RECONCILIATIONS,
    ),
    text("convention", "The convention that gives it; only then.", optional=True),
    text("reason", "Why it was not checked; only then.", optional=True),
)

_RECONCILIATION: Final = record(
    "reconciliation",
    "The run's figures against its tables.",
    anything("declared", "Where the seal says that its engine differs; empty when nowhere."),
    flag("adjusted", "Whether the seal has adjustments of quantity or cash, such as splits or dividends."),
    array("figures", "Every figure that the interface serves, overall and by period.", FIGURE),
)

READINESS: Final = record(
    "readiness",
    "What one alpha's snapshot holds, kind by kind.",
    *_PUBLISHED,
    array("kinds", "Every kind a run may hold.", _KIND),
    array("warnings", "What the rule check noticed without refusing the seal.", SEAL_WARNING),
    _RECONCILIATION,
    text(
        "source_status",
        "State of the source archive; null when none is recorded.",
        nullable=True,
        vocabulary=SOURCE_STATUSES,
    ),
    flag("description", "Whether a written description was sealed."),
    model="Readiness",
)
