"""Mutations of every file: missing, empty, truncated, damaged, of another kind, elsewhere, not a regular file."""

from __future__ import annotations

import io
import os
import random
import socket
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from schemas.tables import SEALED_TABLES
from tests.mutated_seals.mutation import (
    HONEST,
    SAME,
    Expected,
    Mutation,
    Mutations,
    bytes_of,
    in_place_of,
    refused,
)
from tests.support.seals import declare

FILES = {
    **{kind: f"{kind}.parquet" for kind in SEALED_TABLES},
    "metrics": "metrics.json",
    "description": "description.json",
}
PATHS = (
    *(
        "../pnl.parquet",
        "/etc/passwd",
        "..\\pnl.parquet",
        "a/../pnl.parquet",
        "./pnl.parquet",
        "",
        "a//b",
        "c:/pnl",
    ),
    *("a\x00b", "a\nb", "\x7f", "file:///etc/passwd", "a" * 300, "/".join("a" * 600), "source/../../x"),
)


def _socket(path: Path) -> None:
    """Leave a socket, bound by a short path since long ones are refused."""
    folder = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
    os.close(folder)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


def _zip(_: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../x", "x")
    return file.getvalue()


def _cut(raw: bytes, twelfths: int) -> bytes:
    return raw[: len(raw) * twelfths // 12]


def _flipped(raw: bytes, seed: int) -> bytes:
    draw = random.Random(seed)
    changed = bytearray(raw)
    for _ in range(draw.choice((1, 1, 3))):
        changed[draw.randrange(len(raw))] ^= 1 << draw.randrange(5)
    return bytes(changed)


IN_PLACE: dict[str, tuple[Callable[[Path], object], Expected]] = {
    "nothing": (lambda _: None, refused("seal.digest")),
    "a folder": (Path.mkdir, refused("seal.digest", "seal.path")),
    "a pipe": (os.mkfifo, refused("seal.path")),
    "a socket": (_socket, refused("seal.path")),
    "a link to another file": (lambda path: path.symlink_to("seal.json"), refused("seal.path")),
    "a link to outside": (lambda path: path.symlink_to("/etc/passwd"), refused("seal.path")),
    "a link to itself": (lambda path: path.symlink_to(path), refused("seal.path")),
    "a link to an endless device": (lambda path: path.symlink_to("/dev/zero"), refused("seal.path")),
    "a sparse file of a terabyte": (
        sparse,
        refused("seal.size", "seal.digest"),
    ),
}


def mutations() -> Mutations:
    for kind, path in FILES.items():
        # JSON files are refused by their own rules.
        broken = refused("table.columns") if kind in SEALED_TABLES else HONEST
        for what, (put, expected) in IN_PLACE.items():
            yield Mutation(f"{path}: {what} in its place", in_place_of(path, put), expected)
        yield Mutation(f"{path}: a second name outside", partial(_second_name, path=path), SAME)
        contents: dict[str, Callable[[bytes], bytes]] = {
            "empty": lambda _: b"",
            "a zip": _zip,
            "text": lambda _: b"PAR1 this is text PAR1",
            "zeros": lambda raw: bytes(len(raw)),
            "itself twice": lambda raw: raw + raw,
            **{f"cut at {at} of 12": partial(_cut, twelfths=at) for at in (1, 6, 11)},
        }
        for what, change in contents.items():
            expected = HONEST if what == "itself twice" else broken
            yield Mutation(f"{path}: {what}, signed", bytes_of(kind, change), expected)
            yield Mutation(
                f"{path}: {what}", partial(_unsigned, path=path, change=change), refused("seal.digest")
            )
        for seed in range(5):
            flip = partial(_flipped, seed=seed)
            yield Mutation(f"{path}: bits flipped, {seed}, signed", bytes_of(kind, flip), HONEST)
            yield Mutation(
                f"{path}: bits flipped, {seed}",
                partial(_unsigned, path=path, change=flip),
                refused("seal.digest"),
            )
        for place in PATHS:
            yield Mutation(
                f"{kind} said to be at {place[:40]!r}",
                partial(declare, kind=kind, path=place),
                refused("seal.path"),
            )
        for place in (
            "con",
            "nul.parquet",
            f"{kind.upper()}.parquet",
            "source",
            "seal.json",
            "e\u0301.parquet",
        ):
            yield Mutation(
                f"{kind} said to be at {place!r}",
                partial(declare, kind=kind, path=place),
                refused("seal.digest"),
            )
    for kind in SEALED_TABLES:
        for rows in (-1, 0, 2**31, 2**63, 10**300):
            rules = ("seal.manifest",) if rows < 0 else ("seal.digest", "seal.size")
            yield Mutation(
                f"{kind} said to have {rows:.3g} rows",
                partial(declare, kind=kind, rows=rows),
                refused(*rules),
            )


def _unsigned(seal: Path, path: str, change: Callable[[bytes], bytes]) -> None:
    (seal / path).write_bytes(change((seal / path).read_bytes()))


def _second_name(seal: Path, path: str) -> None:
    os.link(seal / path, seal.parent / "outside")
