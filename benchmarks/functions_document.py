"""How long a large OpenAPI document takes to become functions, and how large they are.

The document is made here, the same on every run: collections of a business API with paging, filters, nested bodies, shared and
recursive schemas. Run with `python -m benchmarks.functions_document`.
"""

import json
import time
from typing import Any

import yaml

from activities.openapi.conversion import read_document
from benchmarks.tables import Line, machine, table

OPERATIONS = 700
TARGET_SECONDS = 2.0
_NOUNS = ("order", "invoice", "shipment", "customer", "product", "refund", "contract", "ticket", "payment", "warehouse")
_METHODS_EACH = 7

Json = dict[str, Any]


def make_document(operations: int = OPERATIONS) -> Json:
    """An OpenAPI 3.0 document with this many operations, seven for each collection."""
    paths: Json = {}
    schemas = _shared_schemas()
    for place in range(-(-operations // _METHODS_EACH)):
        noun = _NOUNS[place % len(_NOUNS)]
        name, tag = f"{noun.capitalize()}{place}", f"{noun}s"
        schemas |= _schemas_of(name, place)
        paths |= _paths_of(f"/v1/{tag}-{place}", name, tag)
    return {
        "openapi": "3.0.3",
        "info": {"title": "Business", "version": "1.0.0"},
        "servers": [{"url": "https://api.example.com/business/"}],
        "paths": _cut(paths, operations),
        "security": [{"key": []}],
        "components": {
            "schemas": schemas,
            "parameters": _parameters(),
            "responses": {"Failed": {"description": "Failed", "content": _json(_ref("Problem"))}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}},
        },
    }


def _cut(paths: Json, operations: int) -> Json:
    kept: Json = {}
    for path, item in paths.items():
        methods = {method: each for method, each in item.items() if method != "parameters"}
        taken = dict(list(methods.items())[: max(operations, 0)])
        operations -= len(taken)
        if taken:
            kept[path] = (
                {**item, **taken} if len(taken) == len(methods) else {"parameters": item["parameters"], **taken}
            )
    return kept


def _paths_of(path: str, name: str, tag: str) -> Json:
    identified: Json = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
    return {
        path: {
            "parameters": [{"$ref": "#/components/parameters/Trace"}],
            "get": _operation(f"list{name}", tag, _array(_ref(name)), parameters=_filters()),
            "post": _operation(f"create{name}", tag, _ref(name), body=_ref(name)),
        },
        f"{path}/{{id}}": {
            "parameters": [identified],
            "get": _operation(f"get{name}", tag, _ref(name)),
            "put": _operation(f"replace{name}", tag, _ref(name), body=_ref(name)),
            "patch": _operation(f"change{name}", tag, _ref(name), body=_ref(f"{name}Change")),
            "delete": _operation(f"delete{name}", tag, None),
        },
        f"{path}/{{id}}/lines": {
            "parameters": [identified],
            "post": _operation(f"addLines{name}", tag, None, body=_array(_ref(f"{name}Line"))),
        },
    }


def _operation(
    name: str, tag: str, output: Json | None, *, parameters: list[Json] | None = None, body: Json | None = None
) -> Json:
    done: Json = {"description": "Done"}
    made: Json = {
        "operationId": name,
        "tags": [tag],
        "summary": f"{name[0].upper()}{name[1:]}.",
        "description": f"Works on {tag} of the tenant. Changes are audited and take part in the tenant's retention rules.",
        "parameters": parameters or [],
        "responses": {
            "200": {**done, "content": _json(output)} if output else done,
            "default": {"$ref": "#/components/responses/Failed"},
        },
    }
    return {**made, "requestBody": {"required": True, "content": _json(body)}} if body else made


def _filters() -> list[Json]:
    names = ("Page", "Size", "Sort")
    status: Json = {"type": "array", "items": {"type": "string", "enum": ["open", "closed", "held"]}}
    return [
        *({"$ref": f"#/components/parameters/{name}"} for name in names),
        {
            "name": "filter[status]",
            "in": "query",
            "schema": status,
            "description": "Only those in one of these states.",
        },
        {"name": "updatedSince", "in": "query", "schema": {"type": "string", "format": "date-time"}},
    ]


def _parameters() -> Json:
    whole = {"type": "integer", "minimum": 1, "maximum": 200, "default": 20}
    return {
        "Page": {"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1, "default": 1}},
        "Size": {"name": "size", "in": "query", "schema": whole, "description": "Entries of a page."},
        "Sort": {"name": "sort", "in": "query", "schema": {"type": "string", "pattern": "^[a-z]+:(asc|desc)$"}},
        "Trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string", "maxLength": 64}},
    }


def _shared_schemas() -> Json:
    text: Json = {"type": "string", "maxLength": 200}
    address = {
        word: {**text, "description": f"The {word} of the address."} for word in ("street", "city", "zip", "country")
    }
    money: Json = {
        "amount": {"type": "number", "multipleOf": 0.01},
        "currency": {"type": "string", "enum": ["EUR", "USD"]},
    }
    category: Json = {"name": text, "parent": _ref("Category"), "children": _array(_ref("Category"))}
    audit: Json = {
        "createdAt": {"type": "string", "format": "date-time", "readOnly": True},
        "by": {**text, "readOnly": True},
    }
    return {
        "Address": {"type": "object", "properties": address, "required": ["city"]},
        "Money": {"type": "object", "properties": money, "required": ["amount", "currency"]},
        "Category": {"type": "object", "properties": category},
        "Audit": {"type": "object", "properties": audit},
        "Problem": {"type": "object", "properties": {"title": text, "detail": text}},
    }


def _schemas_of(name: str, place: int) -> Json:
    fields: Json = {
        f"field{number}": {"type": "string", "description": f"Field {number}."} for number in range(place % 12)
    }
    own: Json = {
        "id": {"type": "string", "format": "uuid", "readOnly": True},
        "title": {"type": "string", "minLength": 1},
        "state": {"type": "string", "enum": ["open", "closed", "held"], "default": "open"},
        "shipTo": _ref("Address"),
        "billTo": {"allOf": [_ref("Address")], "description": "Where the invoice goes.", "nullable": True},
        "total": _ref("Money"),
        "category": _ref("Category"),
        "lines": _array(_ref(f"{name}Line")),
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        **fields,
    }
    line: Json = {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1}, "price": _ref("Money")}
    return {
        name: {"allOf": [_ref("Audit"), {"type": "object", "required": ["id", "title"], "properties": own}]},
        f"{name}Line": {"type": "object", "properties": line, "required": ["sku", "count"]},
        f"{name}Change": {"type": "object", "properties": {"title": {"type": "string"}, "state": own["state"]}},
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _array(items: Json) -> Json:
    return {"type": "array", "items": items}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def measure() -> str:
    """The table of one run."""
    document = make_document()
    lines = []
    for kind, text in (("JSON", json.dumps(document)), ("YAML", yaml.safe_dump(document, sort_keys=False))):
        started = time.perf_counter()
        made = read_document(text)
        seconds = time.perf_counter() - started
        size = sum(len(json.dumps(each.input_schema)) for each in made.operations)
        figures = (f"{len(text) / 1e6:.2f} MB", str(len(made.operations)), f"{size / 1e6:.2f} MB", f"{seconds:.2f} s")
        lines.append(Line(kind, figures, f"under {TARGET_SECONDS:g} s", seconds < TARGET_SECONDS))
    return table(f"A document of {OPERATIONS} operations", ("document", "functions", "their schemas", "time"), lines)


if __name__ == "__main__":
    print(measure())
    print(machine())
