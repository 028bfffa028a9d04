"""The OpenAPI document matches the declarations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner
from schemathesis.specs.openapi.definitions import OPENAPI_31

from schemas.__main__ import main
from schemas.documents.openapi import document, rendered
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES
from schemas.objects.rows import ROW_FIELDS
from schemas.parameters import FIELDS, ParameterKind
from schemas.rows import ROWS, RowModel
from schemas.units import Type
from tests.support.conformance import resolved

DOCS = Path(__file__).resolve().parents[2] / "docs"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return document()


def nodes(node: Any, path: str = "#") -> Iterator[tuple[str, Any]]:
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from nodes(child, f"{path}/{key}")


def test_the_document_is_valid_openapi(described: dict[str, Any]) -> None:
    problems = list(jsonschema_rs.validator_for(OPENAPI_31).iter_errors(described))
    assert not problems, [(list(x.instance_path), x.message[:200]) for x in problems]


def test_every_definition_is_a_json_schema_and_every_reference_resolves(
    described: dict[str, Any],
) -> None:
    for name, schema in described["components"]["schemas"].items():
        assert jsonschema_rs.meta.is_valid({"$schema": DIALECT, **schema}), name
    used = {node["$ref"] for _, node in nodes(described) if isinstance(node, dict) and "$ref" in node}
    for reference in used:
        assert resolved({"$ref": reference}), reference
    defined = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert defined <= used, "a definition that nothing refers to"


def test_the_published_document_is_up_to_date() -> None:
    assert (DOCS / "openapi.json").read_text() == rendered(), (
        "run `just docs` to write docs/openapi.json again"
    )


def test_the_command_prints_the_document() -> None:
    assert CliRunner().invoke(main, ["openapi"]).output == rendered()
    assert json.loads(rendered()) == document()


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda x: x.id)
def test_an_operation_has_the_endpoints_parameters_with_their_rules(
    described: dict[str, Any], endpoint: Endpoint
) -> None:
    operation = described["paths"][endpoint.path]["get"]
    assert operation["operationId"] == endpoint.id
    assert operation.get("security") == ([] if endpoint.public else None)
    declared = {x["name"]: x for x in operation["parameters"] if x["in"] != "header"}
    refused = [x for x in endpoint.parameters if x.kind is ParameterKind.FORBIDDEN]
    assert list(declared) == [x.name for x in endpoint.parameters if x not in refused]
    assert all(x.constraint in operation["description"] for x in refused)
    for parameter in endpoint.parameters:
        if parameter in refused:
            continue
        result = declared[parameter.name]
        assert result["in"] == ("path" if parameter.in_path else "query")
        assert result["required"] == parameter.required
        schema = result["schema"]
        if parameter.default is not None:
            assert schema["default"] == parameter.default
        if parameter.kind is ParameterKind.TEXT:
            assert schema.get("minLength") == (1 if parameter.in_path else parameter.minimum)
        else:
            assert schema.get("minimum") == parameter.minimum
        assert schema.get("maximum") == parameter.maximum
        if parameter.kind is ParameterKind.NAMES:
            names = parameter.choices
            assert re.fullmatch(schema["pattern"], ",".join(names))
            assert not re.fullmatch(schema["pattern"], f"{names[0]},nonsense")
        elif parameter.choices:
            assert schema["enum"] == list(parameter.choices)
        if parameter.kind is not ParameterKind.TEXT:
            assert parameter.constraint in result["description"]


def error_codes(body: dict[str, Any]) -> set[str]:
    """Return the codes that the schema of an answer accepts."""
    error = body["schema"]["properties"]["error"]
    models = [resolved(x) for x in error.get("oneOf", [error])]
    return {code for model in models for code in model["properties"]["code"]["enum"]}


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda x: x.id)
def test_an_operation_lists_every_error_under_its_status(
    described: dict[str, Any], endpoint: Endpoint
) -> None:
    answers = described["paths"][endpoint.path]["get"]["responses"]
    listed = {
        int(status): error_codes(result["content"]["application/json"])
        for status, answer in answers.items()
        if int(status) >= 400
        for result in [resolved(answer)]
    }
    for code in endpoint.all_errors:
        # Each code belongs to one status: no other answer of the operation accepts its envelope.
        accepting = [status for status, codes in listed.items() if code in codes]
        assert accepting == [ERROR_CODES[code].status]
        description = resolved(answers[str(ERROR_CODES[code].status)])["description"]
        assert f"`{code}`: {ERROR_CODES[code].meaning}" in description


def test_requested_fields_are_not_part_of_the_schema(described: dict[str, Any]) -> None:
    body = described["paths"]["/v1/alphas/{alpha}/scores"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]
    pages = [resolved(x) for x in body["schema"]["anyOf"]]
    fields = [page["properties"]["meta"]["properties"]["fields"]["enum"] for page in pages]
    assert fields == [[name] for name in FIELDS.choices]


def test_flags_are_booleans(described: dict[str, Any]) -> None:
    flags = [
        x for path in described["paths"].values() for x in path["get"]["parameters"]
        if x["name"] in {p.name for e in ENDPOINTS.values() for p in e.query if p.kind is ParameterKind.BOOLEAN}
    ]  # fmt: skip
    assert flags
    assert all(x["schema"] == {"type": "boolean", "default": False} for x in flags)


@pytest.mark.parametrize("model", ROWS.values(), ids=lambda x: x.name)
def test_row_schemas_have_unit_meaning_and_presence(described: dict[str, Any], model: RowModel) -> None:
    schema = described["components"]["schemas"][ROW_FIELDS[model.name].model]
    assert list(schema["properties"]) == [column.name for column in model.columns]
    assert schema["additionalProperties"] is False
    for column in model.columns:
        result = schema["properties"][column.name]
        assert column.meaning in result["description"]
        if column.type is Type.F64:
            assert result["x-unit"] == column.unit.value
            assert column.unit.value in result["description"]
        nullable = column.nullable or column.name in model.null_when_absent
        assert ("null" in result["type"]) == nullable, column.name
        assert result.get("x-raw", False) == column.raw
        if column.raw or (column.optional and column.name not in model.null_when_absent and not column.needs):
            assert column.name not in schema["required"]


def test_only_columns_of_every_run_are_required(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    decision = set(schemas["DecisionRow"]["required"])
    # A missing rank is derived, a missing forward return is not.
    assert {"symbol", "score", "average_rank", "cohort_size", "fill_at", "unavailability_reason"} <= decision
    assert decision.isdisjoint(
        {"forward_return", "entry_at", "decision_reason", "raw_score", "raw_direction"}
    )
    assert "forward_return" in schemas["ScoreRow"]["required"]
    assert schemas["RebalanceRow"]["required"] == ["date", "week_status"]
    assert schemas["DecisionRow"]["properties"]["direction"]["enum"] == [1, 0, -1, None]


def test_every_number_of_an_answer_has_a_unit_or_is_a_parameter_of_the_alpha(
    described: dict[str, Any],
) -> None:
    for name, schema in described["components"]["schemas"].items():
        for path, node in nodes(schema, name):
            kinds = node.get("type") if isinstance(node, dict) else None
            if kinds is not None and {"number", "integer"} & {
                *([kinds] if isinstance(kinds, str) else kinds)
            }:
                assert "x-unit" in node or "direction" in path or "range" in path, path
