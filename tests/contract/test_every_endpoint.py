"""Each endpoint answers as declared, and each has a case here."""

from __future__ import annotations

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from serve.app import ROUTES
from tests.contract.cases import CASES, COLLECTIONS, OF_AN_ALPHA, arguments_of, every
from tests.support.contract_app import FULL, ContractApp


def test_every_endpoint_is_served_and_has_a_case() -> None:
    assert set(ROUTES) == set(ENDPOINTS), (
        "an endpoint of the registry has no route, or a route no declaration"
    )
    assert set(CASES) == set(ENDPOINTS), "an endpoint of the registry has no case in tests/contract/cases.py"
    for name, case in CASES.items():
        endpoint = ENDPOINTS[name]
        assert set(case.path) == {p.name for p in endpoint.parameters if p.in_path}
        assert set(case.query) == {p.name for p in endpoint.query if p.required}
        # The window of neighbours applies to the compared returns; its rows have no day.
        of_days = endpoint in COLLECTIONS and name != "research.neighbours"
        assert (case.window is not None) == (of_days and "from" in {p.name for p in endpoint.query})


@every(e for e in ENDPOINTS.values() if e.id != "catalog.alphas.source.download")
def test_an_endpoint_answers_with_its_payload(api: ContractApp, endpoint: Endpoint) -> None:
    case = CASES[endpoint.id]
    body = api.ok(endpoint, case.query, **arguments_of(api, endpoint))
    if endpoint.shape is Shape.COLLECTION:
        assert list(body) == ["data", "pagination", "meta"]
        assert body["data"], "the case requests existing rows"
        declared = [field.name for field in endpoint.payload.fields]
        for row in body["data"]:
            assert [name for name in declared if name in row] == list(row), "members in their declared order"
        defaults = {p.name: p.default for p in endpoint.query}
        assert body["pagination"]["limit"] == defaults["limit"]
        assert body["pagination"]["offset"] == 0
    elif endpoint.shape is Shape.OBJECT:
        assert list(body) == ["data", "meta"]
        assert list(body["data"]) == [f.name for f in endpoint.payload.fields if f.name in body["data"]]
    else:
        fields = endpoint.payload.fields
        assert list(body) == [field.name for field in fields if field.name in body or not field.optional]


@every(e for e in OF_AN_ALPHA if not e.shared)
def test_an_answer_about_an_alpha_names_it(api: ContractApp, endpoint: Endpoint) -> None:
    response = api.get(endpoint, CASES[endpoint.id].query, **arguments_of(api, endpoint))
    if response.status_code == 200:
        assert response.json()["meta"]["run"] == FULL
    else:
        assert endpoint.id == "catalog.alphas.source.download"


@every(COLLECTIONS)
def test_a_page_contains_neither_time_nor_request_id(api: ContractApp, endpoint: Endpoint) -> None:
    arguments = arguments_of(api, endpoint)
    query = CASES[endpoint.id].query
    first = api.get(endpoint, query, **arguments)
    again = api.get(endpoint, query, **arguments)
    assert {"request_id", "generated_at"}.isdisjoint(first.json()["meta"])
    if endpoint.id != "meta.keys":  # its rows count calls, including this one
        assert first.content == again.content
        assert first.headers["etag"] == again.headers["etag"]


@every(e for e in ENDPOINTS.values() if e.shape is Shape.OBJECT and not e.shared)
def test_a_single_object_has_the_request_id(api: ContractApp, endpoint: Endpoint) -> None:
    response = api.get(endpoint, **arguments_of(api, endpoint), headers={"x-request-id": "my-own.id_1"})
    assert response.headers["x-request-id"] == "my-own.id_1"
    if response.status_code == 200:
        assert response.json()["meta"]["request_id"] == "my-own.id_1"
