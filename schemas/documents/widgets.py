"""``widgets.json`` of OpenBB Workspace: a table for each collection with flat rows.

Source: the reference of ``widgets.json`` in the documentation of OpenBB Workspace. A parameter's name in braces in ``endpoint``
is replaced by its value, as in the widgets that OpenBB's ``openbb-platform-api`` makes from an OpenAPI document; a parameter
without a value is not sent. Rows are under ``data`` of an answer, and the key is in a header that the user enters.
"""

from __future__ import annotations

import json
from typing import Any, Final

from schemas.endpoint import Endpoint, Shape
from schemas.endpoints import ENDPOINTS
from schemas.field import Field, FieldType
from schemas.parameters import LIMIT, Parameter, ParameterKind

_CELLS: Final = {
    FieldType.TEXT: "text",
    FieldType.DATE: "dateString",
    FieldType.INSTANT: "text",
    FieldType.INTEGER: "number",
    FieldType.NUMBER: "number",
    FieldType.BOOLEAN: "boolean",
}
"""Type of a column -> type of its cells; rows with other types are not flat."""
_INPUTS: Final = {
    ParameterKind.INTEGER: "number",
    ParameterKind.NUMBER: "number",
    ParameterKind.DATE: "date",
    ParameterKind.BOOLEAN: "boolean",
}
"""Kind of a parameter -> type of its input; the others are text."""


def widgets() -> dict[str, dict[str, Any]]:
    """Return widget id -> widget: a pure function of the declarations."""
    return {
        endpoint.id.replace(".", "_"): _widget(endpoint)
        for endpoint in ENDPOINTS.values()
        if endpoint.shape is Shape.COLLECTION
        and not endpoint.admin
        and all(column.type in _CELLS for column in endpoint.payload.fields)
    }


def rendered() -> str:
    """Return the document as JSON."""
    return json.dumps(widgets(), ensure_ascii=False, indent=1) + "\n"


def _widget(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "name": endpoint.path.removeprefix("/v1/").replace("alphas/{alpha}/", ""),
        "description": endpoint.summary,
        "category": "Alpha results",
        "subCategory": endpoint.id.partition(".")[0],
        "type": "table",
        "endpoint": endpoint.path.removeprefix("/"),
        "gridData": {"w": 40, "h": 15},
        "data": {
            "dataKey": "data",
            # Without raw columns, which would be empty for keys without raw access.
            "table": {"columnsDefs": [_column(x) for x in endpoint.payload.fields if not x.raw]},
        },
        "params": [_parameter(x) for x in endpoint.parameters if x.kind is not ParameterKind.FORBIDDEN],
        "source": ["Alpha results"],
    }


def _column(column: Field) -> dict[str, Any]:
    return {
        "field": column.name,
        "headerName": column.name,
        "headerTooltip": f"{column.meaning} Unit: {column.unit_text}."
        if column.unit_text
        else column.meaning,
        "cellDataType": _CELLS[column.type],
        # Show values as served: the default abbreviates numbers and puts a separator into years.
        "formatterFn": "none",
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    # The table is loaded at once, so pages have the maximum length.
    value = parameter.maximum if parameter.name == LIMIT.name else parameter.default
    return {
        "paramName": parameter.name,
        "label": parameter.name,
        "description": parameter.meaning,
        "type": _INPUTS.get(parameter.kind, "text"),
        "value": value,
        **(
            {"options": [{"label": text, "value": text} for text in parameter.choices]}
            if parameter.choices
            else {}
        ),
    }
