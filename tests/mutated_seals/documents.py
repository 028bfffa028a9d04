"""Mutations of the JSON documents: invalid or ambiguous JSON, and every key with values of every other type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from schemas.objects.seal import SEAL
from tests.mutated_seals.mutation import HONEST, NO_SEAL, Mutation, Mutations, bytes_of, refused
from tests.support.seals import rewrite

_LONG = "9" * 5000
UNREADABLE: dict[str, Callable[[bytes], bytes]] = {
    "no byte": lambda _: b"",
    "a mark of the byte order": lambda raw: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw: raw.decode().encode("utf-16"),
    "bytes of no text": lambda _: b"\xff\xfe\x00",
    "a list": lambda raw: b"[" + raw + b"]",
    "a number": lambda _: b"1",
    "null": lambda _: b"null",
    "a comment": lambda raw: b"// a comment\n" + raw,
    "a comma at the end": lambda raw: raw.rstrip().removesuffix(b"}") + b",}",
    "something behind": lambda raw: raw + b"{}",
    "a key twice": lambda raw: b'{"alpha_id": "a", "alpha_id": "b",' + raw.lstrip()[1:],
    "an infinite number": lambda raw: b'{"x": 1e999,' + raw.lstrip()[1:],
    "half of a pair": lambda raw: b'{"x": "\\ud800",' + raw.lstrip()[1:],
    "a number of 5000 digits": lambda raw: f'{{"x": {_LONG},'.encode() + raw.lstrip()[1:],
    "a hundred thousand lists": lambda raw: (
        b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"," + raw.lstrip()[1:]
    ),
    "a hundred thousand objects": lambda raw: (
        b'{"x": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"," + raw.lstrip()[1:]
    ),
    "not a number": lambda raw: b'{"x": NaN,' + raw.lstrip()[1:],
    "NUL in a text": lambda raw: b'{"x": "\x00",' + raw.lstrip()[1:],
}
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "0": 0,
    "-1": -1,
    "a fraction": 0.5,
    "10**400": 10**400,
    "1e308": 1e308,
    "no text": "",
    "a text": "x",
    "a control character": "a\x1b[2Jb",
    "a change of direction": "a\u202eb",
    "a path": "../../x",
    "a long text": "x" * 300_000,
    "a list": [],
    "a list of lists": [[[]]],
    "an object": {},
    "an object of odd names": {"": 1, "\u0000": 2, "__proto__": 3},
}


def mutations() -> Mutations:
    rules = {"seal": "seal.manifest", "metrics": "metrics.record", "description": "description.object"}
    for kind, rule in rules.items():
        for what, change in UNREADABLE.items():
            # In the metrics, NaN and infinity are parsed, so that a rule can name the record.
            lenient = kind == "metrics" and what in {"not a number", "an infinite number"}
            expected = HONEST if lenient else refused(rule, shows="(file)" if kind != "description" else "")
            yield Mutation(f"{kind}.json: {what}", _bytes(kind, change), expected)
    yield Mutation("seal.json: nothing in its place", lambda seal: (seal / "seal.json").unlink(), NO_SEAL)
    for key in [member.name for member in SEAL.fields]:
        yield from _values("seal", (key,), "seal.json")
    for key in ("path", "sha256", "bytes", "rows"):
        yield from _values("seal", ("kinds", "pnl", key), "seal.json")
    for key in ("path", "files"):
        yield from _values("seal", ("kinds", "source", key), "seal.json")
    for key in ("name", "scope", "period", "value", "unit", "source_kind", "annualised"):
        yield from _values("metrics", ("records", 0, key), "metrics.json")
    yield from _values("metrics", ("records",), "metrics.json")
    for key in DESCRIBED:
        yield from _values("description", (key,), "description.json")
    for what, instant in {
        "29 February of no leap year": "2026-02-29T00:00:00Z",
        "hour 24": "2026-02-01T24:00:00Z",
        "digits of another script": "٢٠٢٦-01-05T06:00:00Z",
    }.items():
        yield Mutation(
            f"seal.json sealed_at: {what}",
            partial(_put, kind="seal", path=("sealed_at",), value=instant),
            HONEST,
        )


DESCRIBED = (
    *("name", "tldr", "copyright", "classification", "thesis", "signal", "parameters"),
    *("data_requirements", "source_papers"),
)


def _values(kind: str, path: tuple[Any, ...], file: str) -> Mutations:
    named = ".".join(str(part) for part in path)
    for what, value in VALUES.items():
        yield Mutation(f"{file} {named}: {what}", partial(_put, kind=kind, path=path, value=value), HONEST)
    yield Mutation(f"{file} {named}: left out", partial(_take, kind=kind, path=path), HONEST)


def _bytes(kind: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    if kind != "seal":
        return bytes_of(kind, change)

    def apply(seal: Path) -> None:
        (seal / "seal.json").write_bytes(change((seal / "seal.json").read_bytes()))

    return apply


def _edit(seal: Path, kind: str, change: Callable[[Any], Any]) -> None:
    if kind == "seal":
        rewrite(seal, "seal", change)
        return
    path = seal / f"{kind}.json"
    raw = json.dumps(change(json.loads(path.read_text()))).encode()
    path.write_bytes(raw)

    def sign(manifest: Any) -> Any:
        manifest["kinds"][kind] |= {"sha256": hashlib.sha256(raw).hexdigest(), "bytes": len(raw)}
        return manifest

    rewrite(seal, "seal", sign)


def _put(seal: Path, kind: str, path: tuple[Any, ...], value: Any) -> None:
    def change(document: Any) -> Any:
        node = document
        for part in path[:-1]:
            node = node[part]
        node[path[-1]] = value
        return document

    _edit(seal, kind, change)


def _take(seal: Path, kind: str, path: tuple[Any, ...]) -> None:
    def change(document: Any) -> Any:
        node = document
        for part in path[:-1]:
            node = node[part]
        node.pop(path[-1], None)
        return document

    _edit(seal, kind, change)
