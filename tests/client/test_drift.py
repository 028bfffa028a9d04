"""The client matches the OpenAPI document."""

from __future__ import annotations

import ast
import inspect
import json
import re
from typing import Any

import pytest
from alpha_results_client import AsyncClient, AsyncRun, Client, Run
from alpha_results_client.declared import ENDPOINTS, PERMANENT_ERRORS, ROWS

from schemas.documents.client_code import client_declarations, client_stub
from tests.support.processes import REPOSITORY

SOURCE = REPOSITORY / "clients" / "python" / "src" / "alpha_results_client"
DOCUMENT: dict[str, Any] = json.loads((REPOSITORY / "docs" / "openapi.json").read_text("utf-8"))
OPERATIONS = {entry["get"]["operationId"]: (path, entry["get"]) for path, entry in DOCUMENT["paths"].items()}
NAMES = {"from": "start", "to": "end", "symbol": "symbols"}
PAGING = {"limit", "offset"}
TYPES = {("string", "date"): "date", ("string", "date-time"): "instant", ("string", None): "text",
         ("number", "double"): "float", ("integer", "int64"): "int", ("boolean", None): "bool", ("array", None): "texts"}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "written"),
    [
        ("declared.json", client_declarations()),
        ("methods.pyi", client_stub()),
    ],
)
def test_generated_files_are_up_to_date(file: str, written: str) -> None:
    assert (SOURCE / file).read_text("utf-8") == written, "run `just docs` to write the client's files again"


def test_the_client_has_every_operation_and_permanent_error_of_the_document() -> None:
    assert {name: entry.path for name, entry in ENDPOINTS.items()} == {
        name: path for name, (path, _) in OPERATIONS.items()
    }
    codes = {
        re.sub("^Error_", "", name) for name in DOCUMENT["components"]["schemas"] if name.startswith("Error_")
    }
    assert {"benchmark_not_configured", "source_download_not_configured"} == PERMANENT_ERRORS <= codes


def methods_of(kind: type) -> dict[str, tuple[str, inspect.Signature]]:
    """Registry id -> name and signature of its method."""
    names = {
        entry.method: name
        for name, entry in ENDPOINTS.items()
        if ("alpha" in entry.in_path) == (kind in {Run, AsyncRun})
    }
    methods = {
        names.get(name, ""): (name, method) for name, method in inspect.getmembers(kind, inspect.isfunction)
    }
    return {
        requested: (name, inspect.signature(method))
        for requested, (name, method) in methods.items()
        if requested
    }


def stubs() -> dict[str, dict[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Class -> method -> its signature in the stub."""
    module = ast.parse((SOURCE / "methods.pyi").read_text("utf-8"))
    return {
        owner.name: {
            x.name: x
            for x in owner.body
            if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef) and x.name[0] != "_"
        }
        for owner in module.body
        if isinstance(owner, ast.ClassDef)
    }


@pytest.mark.parametrize("kind", [Client, Run, AsyncClient, AsyncRun])
def test_the_stub_has_the_signature_of_each_method(kind: type) -> None:
    declared = stubs()[f"{kind.__name__}Methods"]
    methods = {name: inspect.signature(getattr(kind, name)) for name in dir(kind) if not name.startswith("_")}
    assert declared.keys() == methods.keys() - {"close"}
    for name, stub in declared.items():
        assert (name == "run") or isinstance(stub, ast.AsyncFunctionDef) == kind.__name__.startswith("Async")
        taken = [*stub.args.args, *stub.args.kwonlyargs]
        assert [(x.arg, x.annotation and ast.unparse(x.annotation)) for x in taken] == [
            (x.name, ast.unparse(ast.parse(x.annotation)) if x.name != "self" else None)
            for x in methods[name].parameters.values()
            if x.kind is not inspect.Parameter.VAR_KEYWORD
        ], name
        assert ast.get_docstring(stub) in {None, str(getattr(kind, name).__doc__).splitlines()[0]}


@pytest.mark.parametrize(("client", "run"), [(Client, Run), (AsyncClient, AsyncRun)])
def test_every_operation_has_a_method_that_takes_its_parameters(client: type, run: type) -> None:
    of_client, of_run = methods_of(client), methods_of(run)
    assert {*of_client, *of_run} == set(OPERATIONS)
    for name, (path, operation) in OPERATIONS.items():
        about_a_run = "{alpha}" in path
        assert (name in of_run) == about_a_run
        _, signature = (of_run if about_a_run else of_client)[name]
        taken = {
            x["name"] if x["in"] == "path" else NAMES.get(x["name"], x["name"])
            for x in operation["parameters"]
            if x["in"] != "header"
        }
        assert set(signature.parameters) - {"self"} == taken - PAGING - {"alpha"}, name


def test_both_clients_have_the_same_methods() -> None:
    for one, other in ((Client, AsyncClient), (Run, AsyncRun)):
        left, right = methods_of(one), methods_of(other)
        assert {name: (method, str(signature)) for name, (method, signature) in left.items()} == {
            name: (method, str(signature)) for name, (method, signature) in right.items()
        }
        assert {name for name in dir(one) if not name.startswith("_")} == {
            name for name in dir(other) if not name.startswith("_")
        }


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:  # an object or null
        (schema,) = (variant for variant in schema["anyOf"] if variant.get("type") != "null")
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def columns_of(prefix: str, schema: dict[str, Any]) -> dict[str, str]:
    """Column -> type of a row, the members of its objects named after both."""
    results: dict[str, str] = {}
    for name, part in schema["properties"].items():
        member = resolved(part)
        if "oneOf" in member:
            for variant in member["oneOf"]:
                results |= columns_of(f"{prefix}{name}.", variant)
        elif "properties" in member:
            results |= columns_of(f"{prefix}{name}.", member)
        else:
            kind = member["type"]
            kind = next(x for x in kind if x != "null") if isinstance(kind, list) else kind
            listed = kind == "array" and "properties" in resolved(member["items"])
            results[f"{prefix}{name}"] = "objects" if listed else TYPES[kind, member.get("format")]
    return results


@pytest.mark.parametrize("name", [name for name, entry in ENDPOINTS.items() if entry.collection])
def test_a_row_has_the_columns_and_types_of_the_document(name: str) -> None:
    entry = ENDPOINTS[name]
    schemas = {re.sub("(?<!^)(?=[A-Z])", "_", x).lower(): x for x in DOCUMENT["components"]["schemas"]}
    for model in filter(None, (entry.row, entry.full_row)):
        schema = DOCUMENT["components"]["schemas"][schemas.get(f"{model}_row", schemas.get(model, ""))]
        expected = columns_of("", schema)
        assert {column.name: column.type for column in ROWS[model]} == expected, model
        assert [column.name for column in ROWS[model]] == list(expected)
        required = {x for x in schema["required"] if "." not in x}
        assert required == {c.name.partition(".")[0] for c in ROWS[model] if not c.optional} & set(
            schema["properties"]
        )
