"""Mutations of ``source/``: links, pipes, names that are paths or collide, zip bombs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from tests.mutated_seals.files import IN_PLACE, sparse
from tests.mutated_seals.mutation import HONEST, SAME, Expected, Mutation, Mutations, refused
from tests.support.seals import declare

FILE = "source/books/strategy.py"
ABSENT = hashlib.sha256(b"absent").hexdigest()


def _more(seal: Path, files: Mapping[str, bytes]) -> None:
    """Write further files and declare them."""
    declared = json.loads((seal / "seal.json").read_text())["kinds"]["source"]["files"]
    for name, raw in files.items():
        path = seal / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        declared[name] = hashlib.sha256(raw).hexdigest()
    declare(seal, "source", files=declared)


def _said(seal: Path, name: str) -> None:
    """Declare a file that cannot exist."""
    declared = json.loads((seal / "seal.json").read_text())["kinds"]["source"]["files"]
    declare(seal, "source", files=declared | {name: ABSENT})


def _bomb() -> bytes:
    """Return a zip bomb with path traversal and duplicate names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../outside", bytes(2**26))
        archive.writestr("/etc/passwd", "x")
        archive.writestr("a\\..\\b", "x")
        archive.writestr("link", "/etc/passwd")
        archive.filelist[-1].external_attr = 0o120777 << 16
    return file.getvalue()


def _folder_elsewhere(seal: Path, where: str) -> None:
    (seal / "source/books").rename(seal.parent / "books")
    (seal / "source/books").symlink_to(where)


def _whole_folder_elsewhere(seal: Path) -> None:
    (seal / "source").rename(seal.parent / "elsewhere")
    (seal / "source").symlink_to("../elsewhere")


def _in_its_place(seal: Path, put: Callable[[Path], object]) -> None:
    (seal / FILE).unlink()
    put(seal / FILE)


def _second_name(seal: Path) -> None:
    os.link(seal / FILE, seal.parent / "outside")


def _undeclared(seal: Path) -> None:
    (seal / "source/link").symlink_to("/etc/passwd")
    os.mkfifo(seal / "source/pipe")


LAWFUL: dict[str, Mapping[str, bytes]] = {
    "an archive that is a bomb": {"bomb.zip": b""},
    "names that differ in case": {"Signal.py": b"1", "SIGNAL.PY": b"2"},
    "names that differ in composition": {"\u00e9.py": b"1", "e\u0301.py": b"2"},
    "devices of another system": {"con": b"1", "nul.py": b"2", "aux/prn": b"3"},
    "a name with a change of direction": {"a\u202eyp.py": b"1"},
    "a name that an archiver may obey": {"-rf": b"1", "@list": b"2", "~": b"3", "a b;c": b"4"},
    "an empty file": {"empty.py": b""},
    "a file of eight megabytes of zeros": {"zeros": bytes(2**23)},
    "a thousand files": {f"many/{number}.py": b"1" for number in range(1000)},
    "thirty folders deep": {"/".join("d" * 30): b"1"},
}
PATHS = (
    *(
        "../outside",
        "/etc/passwd",
        "a\\b",
        "books/../../x",
        "./signal.py",
        "books//strategy.py",
        "c:x",
        "books/",
    ),
    *("a\nb", "a\x00b", "", "x" * 300, "/".join("y" * 600)),
)


def mutations() -> Mutations:
    for what, (put, expected) in IN_PLACE.items():
        if "terabyte" not in what:
            yield Mutation(f"source: {what} in place of a file", partial(_in_its_place, put=put), expected)
    yield Mutation("source: a sparse file", partial(_in_its_place, put=sparse), refused("seal.size"))
    for where in ("../../books", "/etc", "books"):
        expected = refused("seal.path")
        yield Mutation(
            f"source: a folder that is a link to {where}", partial(_folder_elsewhere, where=where), expected
        )
    yield Mutation("source is a link", _whole_folder_elsewhere, refused("seal.path"))
    yield Mutation("source: a second name outside", _second_name, SAME)
    yield Mutation("source: links and pipes that are not declared", _undeclared, SAME)
    for what, files in LAWFUL.items():
        made = {"bomb.zip": _bomb()} if "bomb" in what else files
        yield Mutation(f"source: {what}", partial(_more, files=made), SAME)
    for name in PATHS:
        yield Mutation(
            f"source: a file said to be {name[:40]!r}", partial(_said, name=name), refused("seal.path")
        )
    yield Mutation(
        "source: a file that is not there", partial(_said, name="absent.py"), refused("seal.digest")
    )
    yield Mutation("source: no file", partial(declare, kind="source", files={}), SAME)
    for path in ("../", "/etc", "source/..", "metrics.json", "seal.json", "."):
        yield Mutation(
            f"source said to be {path!r}", partial(declare, kind="source", path=path), _elsewhere(path)
        )


def _elsewhere(path: str) -> Expected:
    return HONEST if "json" in path else refused("seal.path")
