"""A mutation: its name, its change to a copy of a valid seal, and its expected outcome."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.seals import declare


class Fate(Enum):
    """Outcome of a mutated seal."""

    REFUSED = "refused by one of the rules named"
    SAME = "published, every file of the snapshot as of the unmutated seal"
    HONEST = "refused by a rule, or published with every sealed value as it was sealed and every derived one recomputed"
    NO_SEAL = "no finished seal"
    ENDS = "as honest, or the reading process ends and leaves no file"


@dataclass(frozen=True)
class Expected:
    """The outcome, the rules of which at least one must be broken, and what the report must name."""

    fate: Fate
    rules: tuple[str, ...] = ()
    shows: str = ""


SAME = Expected(Fate.SAME)
HONEST = Expected(Fate.HONEST)
NO_SEAL = Expected(Fate.NO_SEAL)
ENDS = Expected(Fate.ENDS)


def refused(*rules: str, shows: str = "") -> Expected:
    return Expected(Fate.REFUSED, rules, shows)


@dataclass(frozen=True)
class Mutation:
    """One of the table."""

    name: str
    apply: Callable[[Path], None]
    expected: Expected

    def in_share(self, percent: int) -> bool:
        """Whether it belongs to this percentage of the mutations, a fixed subset."""
        return zlib.crc32(self.name.encode()) % 100 < percent


Mutations = Iterator[Mutation]


def put_bytes(seal: Path, kind: str, raw: bytes, **declared: Any) -> None:
    """Replace the bytes of a kind, and sign them."""
    path = seal / json.loads((seal / "seal.json").read_text())["kinds"][kind]["path"]
    path.write_bytes(raw)
    declare(seal, kind, sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw), **declared)


def bytes_of(kind: str, change: Callable[[bytes], bytes], **declared: Any) -> Callable[[Path], None]:
    """Change the bytes of a kind with its usual file name, and sign them."""

    def apply(seal: Path) -> None:
        path = seal / json.loads((seal / "seal.json").read_text())["kinds"][kind]["path"]
        put_bytes(seal, kind, change(path.read_bytes()), **declared)

    return apply


def table_of(kind: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> Callable[[Path], None]:
    """Change the rows or columns of a table, write it by PyArrow, and sign it."""

    def apply(seal: Path) -> None:
        changed = change(pq.read_table(pa.BufferReader((seal / f"{kind}.parquet").read_bytes())))
        sink = pa.BufferOutputStream()
        pq.write_table(changed, sink, **options)
        put_bytes(seal, kind, sink.getvalue().to_pybytes(), rows=changed.num_rows)

    return apply


def in_place_of(path: str, put: Callable[[Path], object]) -> Callable[[Path], None]:
    """Replace a file by something else."""

    def apply(seal: Path) -> None:
        (seal / path).unlink()
        put(seal / path)

    return apply
