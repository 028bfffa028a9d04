"""Every declaration is complete, documented and used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.rules.document import PARTS as PARTS_OF_RULES
from schemas.arrow import stored_schema
from schemas.documents.parts import PARTS, with_parts
from schemas.endpoint import Endpoint
from schemas.endpoints import ENDPOINTS
from schemas.error_codes import ERROR_CODES, LINK_ERRORS
from schemas.limits import LIMIT_WINDOWS
from schemas.rows import ROWS, RowModel
from schemas.table import Column, Table
from schemas.tables import PUBLISHED_TABLES, TABLES
from schemas.units import Type, Unit
from schemas.warning_codes import CODES
from tests.support.processes import REPOSITORY

SOURCES = {
    path: path.read_text()
    for package in ("datasets", "pipeline", "serve")
    for path in (REPOSITORY / package).rglob("*.py")
}
COLUMNS = [(table, column) for table in TABLES.values() for column in table]


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=lambda x: x.name)
def test_every_column_has_a_unit_and_a_meaning(table: Table, column: Column) -> None:
    assert isinstance(column.unit, Unit)
    assert len(column.meaning) > 15
    assert column.meaning.endswith((".", ";"))
    # A number that is not an identifier has a unit.
    if column.type is Type.F64:
        assert column.unit is not Unit.NONE, f"{table.name}.{column.name} is a number without a unit"


@pytest.mark.parametrize("table", TABLES.values(), ids=lambda x: x.name)
def test_keys_orders_and_partitions_name_declared_columns(table: Table) -> None:
    names = [column.name for column in table]
    assert len(names) == len(set(names))
    for used in (table.key, table.sort, table.partition):
        assert set(used) <= set(names)
    for column in table:
        declared = TABLES["decisions"] if column.needs == ("unsmoothed_score",) else table
        assert all(need in declared for need in column.needs)


def test_one_name_has_one_unit_and_one_type_everywhere() -> None:
    seen: dict[str, set[tuple[str, str]]] = {}
    for _, column in COLUMNS:
        seen.setdefault(column.name, set()).add((column.type.value, column.unit.value))
    # The money columns of a ledger row are in equity units, those of a name's row in base currency: one amount
    # under one name, distinguished by the table's own declaration, as the API does.
    shared_by_ledger_and_names = {"market_pnl", "execution_cost", "borrow_cashflow"}
    assert {name for name, kinds in seen.items() if len(kinds) > 1} == shared_by_ledger_and_names


def test_raw_columns_are_named_raw_and_published_ones_only_so() -> None:
    for _, column in COLUMNS:
        if column.published:
            assert column.raw == column.name.startswith("raw_") or column.name == "raw_ic", column.name


@pytest.mark.parametrize("table", PUBLISHED_TABLES.values(), ids=lambda x: x.name)
def test_arrow_fields_carry_unit_and_meaning(table: Table) -> None:
    schema = stored_schema(table, [column.name for column in table.stored_columns])
    assert schema.names == [column.name for column in table.stored_columns]
    for field in schema:
        assert field.metadata[b"unit"].decode() == table[field.name].unit.value
        assert field.metadata[b"meaning"].decode() == table[field.name].meaning
        assert field.nullable == table[field.name].nullable


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda x: x.id)
def test_every_endpoint_lists_its_errors_from_the_vocabulary(endpoint: Endpoint) -> None:
    assert endpoint.summary.endswith(".")
    assert endpoint.all_errors
    assert set(endpoint.all_errors) <= ERROR_CODES.keys()
    assert set(endpoint.datasets) <= PUBLISHED_TABLES.keys()
    placeholders = re.findall(r"{(\w+)}", endpoint.path)
    assert placeholders == [parameter.name for parameter in endpoint.parameters if parameter.in_path]


def test_every_error_code_belongs_to_an_endpoint_the_router_or_a_link() -> None:
    listed = {code for endpoint in ENDPOINTS.values() for code in endpoint.all_errors}
    assert ERROR_CODES.keys() - listed == {"not_found", *LINK_ERRORS}


def test_limit_windows_are_in_the_order_the_limiters_count_on_and_share_no_name() -> None:
    rolling = [window.seconds for window in LIMIT_WINDOWS[:-1]]
    assert None not in rolling
    assert rolling == sorted(set(rolling), key=lambda seconds: seconds or 0)
    assert LIMIT_WINDOWS[-1].seconds is None
    for names in zip(*((x.name, x.option, x.code, x.json_name) for x in LIMIT_WINDOWS), strict=True):
        assert len(set(names)) == len(names)


def test_required_limit_windows_existed_from_the_first_release() -> None:
    # Keys in existing stores have no limit in a window that was added later.
    assert [x.name for x in LIMIT_WINDOWS if not x.optional] == ["second", "minute", "day"]
    assert not [x.name for x in LIMIT_WINDOWS if x.default is None and not x.optional]


@pytest.mark.parametrize("code", [code for codes in CODES.values() for code in codes])
def test_every_warning_and_notice_code_is_used(code: str) -> None:
    assert any(re.search(rf"""["']{code}["']""", text) for text in SOURCES.values()), f"nothing warns {code}"


@pytest.mark.parametrize("model", ROWS.values(), ids=lambda x: x.name)
def test_rows_declare_their_raw_columns(model: RowModel) -> None:
    assert not [c.name for c in model.columns if not c.raw and c.name.startswith("raw_")]
    assert model.null_when_absent <= {c.name for c in model.columns}


def test_every_collection_has_a_declared_row() -> None:
    from_registry = {
        "admin_alpha",
        "alpha",
        "benchmark",
        "benchmark_listed",
        "change",
        "kept_snapshot",
        "key",
        "neighbour",
        "screened_alpha",
        "table_file",
    }  # rows of no published table, declared with their objects
    for endpoint in ENDPOINTS.values():
        if endpoint.shape.value == "collection":
            assert endpoint.row in ROWS or endpoint.row in from_registry


DERIVED = [page for page in (REPOSITORY / "docs").rglob("*.md") if "<!-- end of " in page.read_text("utf-8")]


@pytest.mark.parametrize("page", DERIVED, ids=lambda page: page.name)
def test_the_derived_parts_of_a_document_are_up_to_date(page: Path) -> None:
    written = page.read_text("utf-8")
    assert with_parts(written, {**PARTS, **PARTS_OF_RULES}) == written, "run `just docs`"


@pytest.mark.parametrize("part", [*PARTS.values(), *PARTS_OF_RULES.values()])
def test_a_row_of_a_derived_table_has_as_many_cells_as_its_head(part: Callable[[], str]) -> None:
    columns = 0
    for line in part().splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        columns = columns if cells and columns else cells
        assert cells == columns, line


DESCRIBED = {
    "missing_kind", "missing_core_metrics", "access_limited", "forward_returns_absent", "insufficient_data", "nonpositive_variance",
    "window_lifetime_only", "block_error", "ic_family_mismatch", "ic_reproduction_mismatch", "kind_missing",
}  # fmt: skip
"""The part of `meta.warnings` that the interface description lists."""


def test_warnings_use_only_documented_codes() -> None:
    document = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text(encoding="utf-8"))
    warning, notice = (
        document["components"]["schemas"][name]["properties"] for name in ("Warning", "Notice")
    )
    assert set(warning["code"]["enum"]) == DESCRIBED
    assert notice.keys() == warning.keys()
    assert not DESCRIBED & set(notice["code"]["enum"])
