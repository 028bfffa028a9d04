"""``seal.json`` as a JSON Schema, from what :mod:`pipeline.seal.manifest` reads it by."""

from __future__ import annotations

import re
from typing import Any, Final

from pipeline.seal.declared_differences import MOST_ROUNDING, TARGETS, VARIANTS
from pipeline.seal.manifest import FOLDER_KIND, INSTANT, KEYS, SHA256
from schemas.kinds import ALPHA_ID, KINDS, SEAL_VERSION, SOURCE_ALPHA_ID, TABLE_KINDS

_MAY_BE_NULL: Final = ("source_alpha_id", "smoothing", "reconciliation")


def _text(pattern: re.Pattern[str], meaning: str) -> dict[str, Any]:
    # A schema's patterns are found anywhere and know no \Z.
    return {
        "type": "string",
        "pattern": f"^{pattern.pattern.removesuffix(chr(92) + 'Z')}$",
        "description": meaning,
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [schema, {"type": "null"}], "description": schema.pop("description", "")}


def _kind(kind: str) -> dict[str, Any]:
    digest = _text(SHA256, "SHA-256 of the file.")
    path = {"type": "string", "description": "Relative to the seal, without `..`; never a link."}
    if kind == FOLDER_KIND:
        files = {"type": "object", "additionalProperties": digest, "description": "Relative path to digest."}
        return {"type": "object", "required": ["path", "files"], "properties": {"path": path, "files": files}}
    count = {"type": "integer", "minimum": 0}
    rows = ["rows"] if kind in TABLE_KINDS else []
    return {
        "type": "object",
        "required": ["path", "sha256", "bytes", *rows],
        "properties": {"path": path, "sha256": digest, "bytes": count, "rows": count},
    }


def manifest_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12): what the rule ``seal.manifest`` demands.

    Keys that it does not name are a warning, not a refusal, and so are allowed. That paths stay inside the seal and digests are
    those of the files is for other rules to say.
    """
    number_or_null = {"type": ["number", "null"]}
    smoothing = {
        "type": "object",
        "required": ["applied"],
        "properties": {
            "applied": {"type": "boolean"},
            "half_life_weeks": number_or_null,
            "detail": {"type": ["string", "null"]},
        },
        "description": "Whether and how the score was smoothed; null where that is not known.",
    }
    variants = {"type": "array", "items": {"enum": list(VARIANTS)}}
    declared = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "outside_ledger": variants,
            "outside_turnover": variants,
            "targets": {"enum": list(TARGETS)},
            "rounding": {"type": "number", "minimum": 0, "maximum": MOST_ROUNDING},
        },
        "description": "What the engine does in ways of its own.",
    }
    properties: dict[str, Any] = {
        "seal_version": {"type": "integer", "const": SEAL_VERSION},
        "alpha_id": _text(ALPHA_ID, "Address of the run."),
        "source_alpha_id": _or_null(
            _text(SOURCE_ALPHA_ID, "What a research system calls the alpha; null: `alpha_id`.")
        ),
        "started_at": _text(INSTANT, "When the run began, in UTC."),
        "sealed_at": _text(
            INSTANT, "When it was finished; of two seals of an alpha the later one is served."
        ),
        "engine": {"type": "object", "description": "Name and version of what made the run."},
        "equity_basis": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "What each book opens with.",
        },
        "smoothing": _or_null(smoothing),
        "reconciliation": _or_null(declared),
        "kinds": {
            "type": "object",
            "properties": {kind: _kind(kind) for kind in KINDS},
            "additionalProperties": {"type": "object", "required": ["path"]},
            "description": "The files of the seal.",
        },
    }
    assert tuple(properties) == KEYS
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"seal.json, version {SEAL_VERSION}",
        "type": "object",
        "required": [key for key in KEYS if key not in _MAY_BE_NULL],
        "properties": properties,
    }
