"""Schemathesis against a running server: every answer conforms to the OpenAPI document.

``FUZZ_CASES`` is the number of cases per endpoint. A small number always gives the same cases; ``just fuzz`` generates 200
new ones each time.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import parse_qsl, urlsplit

import jsonschema_rs
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis import Case, CheckContext, GenerationMode, HookContext, Response
from schemathesis.checks import CHECKS
from schemathesis.core.result import Ok

from schemas.documents.openapi import document
from schemas.documents.openapi.parameters import value_schema
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.parameters import Parameter, ParameterKind
from tests.fuzz.server import Served, served

FEW: Final = 8
CASES: Final = int(os.environ.get("FUZZ_CASES", FEW))
CHOSEN: Final = settings(
    max_examples=CASES,
    deadline=None,
    # A few cases are the same on every machine; many are new ones each time.
    derandomize=CASES <= FEW,
    database=None,
    suppress_health_check=list(HealthCheck),
)

schema = schemathesis.openapi.from_dict(document())
schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])

NOT_HELD: Final = {
    # The interface answers 404 to other methods, not 405.
    "unsupported_method",
    "allow_header_conformance",
    # Replaced by `refusals_have_a_reason`, which knows the rules across two parameters.
    "positive_data_acceptance",
    # Replaced by `accepted_requests_keep_every_rule`, which knows equivalent spellings of a value.
    "negative_data_rejection",
    # Replaced by `nothing_fails`, which knows what this server lacks.
    "not_a_server_error",
}
"""Checks of the library that are replaced or do not fit."""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("fuzz")) as running:
        PLACES.update(running.places)
        yield running


@pytest.fixture(scope="session")
def session() -> Iterator[requests.Session]:
    with requests.Session() as opened:
        yield opened


@schemathesis.check
def nothing_fails(_: CheckContext, response: Response, case: Case[Any]) -> None:  # noqa: ARG001 - the library's signature
    """No 5xx except for the missing object store."""
    if response.status_code >= 500:
        code = response.json()["error"]["code"]
        assert code == "source_download_not_configured", response.text


@schemathesis.check
def refusals_have_a_reason(_: CheckContext, response: Response, case: Case[Any]) -> None:
    """A request valid by every declared rule is refused only by rules across parameters."""
    made_to_break = case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE
    if response.status_code != 400 or made_to_break:
        return
    error = response.json()["error"]
    if [x["name"] for x in error["details"].get("parameters", ())] == ["weights"]:
        return  # their number is compared with `alphas`
    crossed = any(_is_crossed(case.query or {}, name) for name in case.query or {})
    assert error["code"] == "unknown_book" or crossed or "available" in error["details"], response.text


def _is_crossed(query: Mapping[str, Any], name: str) -> bool:
    """Whether a parameter is a lower bound above its upper bound."""
    if name == "from" or name.endswith("_from"):
        return bool(query[name] > query.get(f"{name.removesuffix('from')}to", "9999"))
    return name.startswith("min_") and query[name] > query.get(f"max_{name.removeprefix('min_')}", math.inf)


@schemathesis.check
def accepted_requests_keep_every_rule(_: CheckContext, response: Response, case: Case[Any]) -> None:
    """A request is answered only if each parameter is valid and given at most once."""
    if response.status_code not in (200, 304):
        return
    query = urlsplit(str(response.request.url)).query
    pairs = parse_qsl(query, keep_blank_values=True)
    assert {name for name, _ in pairs} <= {p.name for p in endpoint_of(case).query}, query
    for parameter in endpoint_of(case).query:
        texts = [text for name, text in pairs if name == parameter.name]
        assert len(texts) <= 1, query
        assert texts or not parameter.required, query
        assert all(keeps_rule(parameter, text) for text in texts), query


def flag(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text]


READERS: Final[dict[str, Callable[[str], Any]]] = {"integer": int, "number": float, "boolean": flag}


def keeps_rule(parameter: Parameter, text: str) -> bool:
    """Validate a text by the document's schema rather than by the parser under test."""
    if parameter.kind is ParameterKind.SYMBOLS:
        return all(item.strip() for item in text.split(","))
    schema = value_schema(parameter)
    value: Any = text.lower() if parameter.name == "direction" else text
    try:
        value = READERS.get(schema.get("type", ""), str)(value)
    except (ValueError, KeyError):
        return False
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(value)


PLACES: Final[dict[str, tuple[str, ...]]] = {}
"""Placeholder or parameter -> existing names; filled when the server runs."""
NAMED: Final = ("alpha", "alphas", "among", "date", "key_id", "book", "from", "to", "symbol", "snapshot")


EXAMPLES: Final = {
    parameter["name"]: parameter["example"]
    for path in document()["paths"].values()
    for parameter in path["get"]["parameters"]
    if "example" in parameter
}
"""Placeholder -> its example in the document, which the library uses in cases that are not random."""


def endpoint_of(case: Case[Any]) -> Endpoint:
    return ENDPOINTS[case.operation.definition.raw["operationId"]]


@schema.hook
def flatmap_case(_: HookContext, case: Case[Any]) -> st.SearchStrategy[Case[Any]]:
    """Make most valid cases name existing things, which random texts rarely do."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return st.just(case)
    parts = [part for part in (case.path_parameters, case.query) if part]
    known = [(part, name) for part in parts for name in NAMED if name in part and _open(case, name)]
    choices = {
        str(place): _mostly(_texts(case, name), part[name]) for place, (part, name) in enumerate(known)
    }

    def put(chosen: dict[str, Any]) -> Case[Any]:
        for place, (part, name) in enumerate(known):
            part[name] = chosen[str(place)]
        # An existing one must belong to the alpha: another alpha's is as unknown as a random text.
        own = PLACES.get(f"snapshot of {case.path_parameters.get('alpha')}")
        if own and case.query.get("snapshot") in PLACES["snapshot"]:
            case.query["snapshot"] = own[0]
        return case

    return st.fixed_dictionaries(choices).map(put)


def _mostly(there: tuple[str, ...], own: Any) -> st.SearchStrategy[Any]:
    """Choose existing names in three of four cases."""
    return st.integers(0, 3).flatmap(lambda n: st.sampled_from(there) if n else st.just(own))


def _open(case: Case[Any], name: str) -> bool:
    """Whether a parameter has an open vocabulary."""
    return all(not x.choices for x in endpoint_of(case).parameters if x.name == name)


def _texts(case: Case[Any], name: str) -> tuple[str, ...]:
    return PLACES["benchmark" if "benchmarks" in case.path and name == "symbol" else name]


@schema.parametrize()
@CHOSEN
def test_answers_conform_to_the_openapi_document(
    case: Case[Any], server: Served, session: requests.Session
) -> None:
    for name, value in case.path_parameters.items():
        if value == EXAMPLES.get(name):
            case.path_parameters[name] = _texts(case, name)[0]
    views = ("administrator",) if endpoint_of(case).admin else tuple(server.tokens)
    # Path, query and headers determine the key that is sent, so that a repeated case uses the same key.
    made = repr((case.formatted_path, case.query, sorted((case.headers or {}).items())))
    view = views[zlib.crc32(made.encode("utf-8", "backslashreplace")) % len(views)]
    headers = {"Authorization": f"Bearer {server.tokens[view]}"}
    # The library's alias of all checks leaves out those that it implements as classes.
    left_out = cast(list[Any], CHECKS.get_by_names(sorted(NOT_HELD)))
    case.call_and_validate(base_url=server.url, session=session, headers=headers, excluded_checks=left_out)


def test_every_endpoint_is_fuzzed() -> None:
    read = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert {operation.definition.raw["operationId"] for operation in read} == set(ENDPOINTS)


OPERATIONS: Final = [
    operation
    for result in schema.get_all_operations()
    if isinstance(result, Ok)
    and (operation := result.ok()).definition.raw["operationId"] != "catalog.alphas.source.download"
]
"""All but the one that needs an object store."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda x: x.definition.raw["operationId"])
def test_a_request_for_existing_data_is_answered_as_documented(
    operation: Any, server: Served, session: requests.Session
) -> None:
    """Refusals alone would prove little, and random cases may all be refused."""
    endpoint = ENDPOINTS[operation.definition.raw["operationId"]]
    case = operation.Case()
    for parameter in (x for x in endpoint.parameters if x.required):
        part = case.path_parameters if parameter.in_path else case.query
        part[parameter.name] = _texts(case, parameter.name)[0]
    token = server.tokens["administrator" if endpoint.admin else "raw"]
    response = case.call_and_validate(
        base_url=server.url, session=session, headers={"Authorization": f"Bearer {token}"}
    )
    assert response.status_code == 200, response.text
