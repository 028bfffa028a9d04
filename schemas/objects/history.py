"""What became of alphas over time: changes of the catalogue, the snapshots of one alpha, and two of them compared."""

from __future__ import annotations

from typing import Final

from schemas.field import array, flag, instant, integer, number, record, text, texts, withheld
from schemas.metrics.headline import IN_METRICS
from schemas.metrics.statistic import Checked
from schemas.parameters import CURSOR
from schemas.tables import PUBLISHED_TABLES
from schemas.tables.books import CONDITIONED_BOOKS
from schemas.units import Unit

CHANGES: Final = ("published", "replaced", "rolled_back", "withdrawn")
"""What can become of an alpha."""

CHANGE: Final = record(
    "change",
    "One change of what is served.",
    text("cursor", "Hand it back as `since` to read on behind this change.", pattern=f"^{CURSOR}$"),
    instant("at", "When it was, by the clock of whoever made it."),
    text(
        "change",
        "`published` where no snapshot was served before, or none that is remembered; `replaced` and `rolled_back` where "
        "another snapshot was; `withdrawn` where none is served any more.",
        vocabulary=CHANGES,
    ),
    text("alpha_id", "The alpha's address."),
    text(
        "snapshot", "Id of the snapshot that is served from then on; null after a withdrawal.", nullable=True
    ),
    text(
        "previous_snapshot",
        "Id of the one that was served until then; null where none was, or it is not remembered any more.",
        nullable=True,
    ),
    model="Change",
)

KEPT_SNAPSHOT: Final = record(
    "kept_snapshot",
    "One snapshot that is still there: `snapshot=` with its id has any endpoint of the alpha answer from it.",
    text("snapshot", "Its id."),
    instant("published_at", "When it became the served one for the first time."),
    instant(
        "replaced_at", "When another took its place last; null of the one that is served.", nullable=True
    ),
    flag("served", "Whether it is the one that is served."),
    flag("rolled_back", "Whether an operator rolled back from it."),
    instant("started_at", "When its run began; null when its manifest cannot be read.", nullable=True),
    instant("sealed_at", "When its run was sealed; null as above.", nullable=True),
    flag("complete", "Whether its run holds every required kind; null as above.", nullable=True),
    text("seal_digest", "Digest of the seal it was built from; null as above.", nullable=True),
    text("declarations", "Version of the declarations it was built with; null as above.", nullable=True),
    texts("built_with", "Libraries that wrote its files, each with its release."),
    model="KeptSnapshot",
)

_SPANS: Final = (
    texts("added", "In the later snapshot alone."),
    texts("removed", "In the earlier one alone."),
    texts("changed", "In both, with another value, or with a row more or less."),
)

SNAPSHOT_COMPARISON: Final = record(
    "snapshot_comparison",
    "What changed from one snapshot of an alpha to another, of what this key may read.",
    text("from_snapshot", "Id of the earlier one."),
    text("to_snapshot", "Id of the later one."),
    array(
        "figures",
        "Every figure of the metrics of the run; empty to a key that may not read them.",
        record(
            "",
            "One figure.",
            text("figure", "Its name.", vocabulary=tuple(x.name for x in IN_METRICS)),
            text(
                "book",
                "The book it measures; null of a figure of the signal.",
                nullable=True,
                vocabulary=CONDITIONED_BOOKS[:1],
            ),
            text("unit", "Unit of the values, of the later one where they differ."),
            number(
                "before", Unit.MIXED, "In the earlier one; null when it is withheld there.", nullable=True
            ),
            number("after", Unit.MIXED, "In the later one; null when it is withheld there.", nullable=True),
            *(
                text(
                    f"{which}_checked",
                    f"What `{which}` rests on, as `checked` of the metrics says; null as there.",
                    nullable=True,
                    vocabulary=tuple(x.value for x in Checked),
                )
                for which in ("before", "after")
            ),
            number(
                "change",
                Unit.MIXED,
                "`after` less `before`; null when one of them is, they are in different units, or one is only stated.",
                nullable=True,
            ),
            model="FigureChange",
        ),
    ),
    record(
        "weeks",
        "Weekly cross-sections by rebalance date; null where `withheld` says why.",
        *_SPANS,
        nullable=True,
    ),
    record("names", "The same by ticker; null where `withheld` says why.", *_SPANS, nullable=True),
    array(
        "datasets",
        "Every published table, or its part of a book, that this key may read.",
        record(
            "",
            "One of them.",
            text("dataset", "The table.", vocabulary=tuple(PUBLISHED_TABLES)),
            text("book", "The book; null of a table that is not stored by book.", nullable=True),
            text("change", "What became of it.", vocabulary=("added", "removed", "changed", "unchanged")),
            integer(
                "rows_before",
                Unit.COUNT,
                "Rows in the earlier one; null when it had none of it.",
                nullable=True,
            ),
            integer(
                "rows_after", Unit.COUNT, "Rows in the later one; null when it has none of it.", nullable=True
            ),
            texts("columns_added", "Columns that only the later one has."),
            texts("columns_removed", "Columns that only the earlier one has."),
            model="DatasetChange",
        ),
    ),
    withheld("What is null above, and why; empty when all have values."),
    model="SnapshotComparison",
)
