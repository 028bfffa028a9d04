"""History of alphas: changes of the catalogue, snapshots of one alpha, and comparisons of two."""

from __future__ import annotations

from typing import Final

from schemas.field import count, figure, flag, instant, record, series, text, texts, withheld
from schemas.metrics.headline import IN_METRICS
from schemas.metrics.statistic import Checked
from schemas.parameters import CURSOR
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.units import Unit

CHANGES: Final = ("published", "replaced", "rolled_back", "withdrawn")
"""Kinds of changes of an alpha."""

CHANGE: Final = record(
    "change",
    "One change of the served snapshot of an alpha.",
    text("cursor", "Pass it as `since` to continue after this change.", pattern=f"^{CURSOR}$"),
    instant("at", "Time of the change, by the clock of the machine that made it."),
    text(
        "change",
        "`published` if no snapshot was served before; `replaced` or `rolled_back` if another one was; "
        "`withdrawn` if none is served any more.",
        vocabulary=CHANGES,
    ),
    text("alpha_id", "The alpha's address."),
    text("snapshot", "Id of the snapshot served from then on; null after a withdrawal.", nullable=True),
    text(
        "previous_snapshot",
        "Id of the snapshot served until then; null if there was none, or none is recorded.",
        nullable=True,
    ),
    model="Change",
)

KEPT_SNAPSHOT: Final = record(
    "kept_snapshot",
    "One kept snapshot; pass its id as `snapshot` to read from it. Members from its manifest are null if that cannot be read.",
    text("snapshot", "Its id."),
    instant("published_at", "When it was first served."),
    instant("replaced_at", "When another one last replaced it; null for the served one.", nullable=True),
    flag("served", "Whether it is the served one."),
    flag("rolled_back", "Whether an operator rolled back from it."),
    instant("started_at", "When its run started.", nullable=True),
    instant("sealed_at", "When its run was sealed.", nullable=True),
    flag("complete", "Whether its run has every required kind.", nullable=True),
    text("seal_digest", "Digest of the seal that it was built from.", nullable=True),
    text("declarations", "Version of the declarations that it was built with.", nullable=True),
    texts("built_with", "Libraries that wrote its files, each with its release."),
    model="KeptSnapshot",
)

_SPANS: Final = (
    texts("added", "Only in the later snapshot."),
    texts("removed", "Only in the earlier snapshot."),
    texts("changed", "In both, with different values or rows."),
)

SNAPSHOT_COMPARISON: Final = record(
    "snapshot_comparison",
    "Changes between two snapshots of an alpha, as far as the key may read them.",
    text("from_snapshot", "Id of the earlier snapshot."),
    text("to_snapshot", "Id of the later snapshot."),
    series(
        "figures",
        "Every figure of the run's metrics; empty if the key may not read them.",
        text("figure", "Its name.", vocabulary=tuple(x.name for x in IN_METRICS)),
        text(
            "book",
            "Book that it measures; null for a figure of the signal.",
            nullable=True,
            vocabulary=CONDITIONED_BOOKS[:1],
        ),
        text("unit", "Unit of the values; of the later one if they differ."),
        figure("before", "Value in the earlier snapshot; null if withheld.", unit=Unit.MIXED),
        figure("after", "Value in the later snapshot; null if withheld.", unit=Unit.MIXED),
        *(
            text(
                f"{which}_checked",
                f"Provenance of `{which}`, as `checked` in the metrics.",
                nullable=True,
                vocabulary=tuple(Checked),
            )
            for which in ("before", "after")
        ),
        figure(
            "change",
            "`after` less `before`; null if either is null or only stated, or if their units differ.",
            unit=Unit.MIXED,
        ),
        one="One figure.",
        model="FigureChange",
    ),
    record("weeks", "Weekly cross-sections by rebalance date; null if withheld.", *_SPANS, nullable=True),
    record("names", "Weekly cross-sections by ticker; null if withheld.", *_SPANS, nullable=True),
    series(
        "datasets",
        "Every published table, or its file of one book, that the key may read.",
        text("dataset", "The table.", vocabulary=tuple(PUBLISHED_TABLES)),
        text("book", "Book; null if the table is not stored by book.", nullable=True),
        text("change", "Kind of change.", vocabulary=("added", "removed", "changed", "unchanged")),
        count("rows_before", "Rows in the earlier snapshot; null if absent.", nullable=True),
        count("rows_after", "Rows in the later snapshot; null if absent.", nullable=True),
        texts("columns_added", "Columns only in the later snapshot."),
        texts("columns_removed", "Columns only in the earlier snapshot."),
        one="One table or file.",
        model="DatasetChange",
    ),
    withheld("Null member to the reason; empty if there are none."),
    model="SnapshotComparison",
)
