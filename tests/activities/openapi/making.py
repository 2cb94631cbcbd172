"""Operations as the conversion of a document makes them, said briefly."""

from typing import Any

from activities.openapi.operation import Body, Operation, Parameter, SecurityScheme

GROUPS = {"query": "query", "header": "headers", "cookie": "cookies"}
STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
KEY_SCHEME = SecurityScheme("key", "apiKey", "header", "X-Api-Key")


def parameter(where: str, name: str, schema: dict[str, Any] | None = None, **fields: Any) -> Parameter:
    """A parameter with the defaults of its place."""
    style = fields.pop("style", STYLES[where])
    return Parameter(
        name=name,
        key=fields.pop("key", name),
        where=where,
        required=fields.pop("required", where == "path"),
        schema={} if schema is None else schema,
        style=style,
        explode=fields.pop("explode", style == "form"),
        **fields,
    )


def body(media_type: str, schema: dict[str, Any] | None = None, **fields: Any) -> Body:
    """A body that may be left out."""
    return Body(media_type=media_type, required=fields.pop("required", False), schema=schema or {}, **fields)


def operation(method: str, path: str, *parameters: Parameter, body: Body | None = None, **fields: Any) -> Operation:
    """An operation with the schema that its parameters and its body make."""
    schema = _schema(parameters, body)
    return Operation(
        method=method,
        path=path,
        name=fields.pop("name", "call"),
        operation_id=None,
        description="",
        tags=(),
        deprecated=False,
        base_url=fields.pop("base_url", ""),
        parameters=parameters,
        body=body,
        security=fields.pop("security", ()),
        success_types=fields.pop("success_types", ("application/json",)),
        input_schema=schema,
        human_schema=fields.pop("human_schema", None),
        llm_schema=fields.pop("llm_schema", schema),
        output_schema=None,
    )


def _schema(parameters: tuple[Parameter, ...], body: Body | None) -> dict[str, Any]:
    top = _object()
    for each in parameters:
        group = top if each.where == "path" else top["properties"].setdefault(GROUPS[each.where], _object())
        group["properties"][each.key] = each.schema
        if each.required:
            group["required"].append(each.key)
    top["required"] += [
        name for name, group in top["properties"].items() if name in GROUPS.values() and group["required"]
    ]
    if body is not None:
        top["properties"]["body"] = body.schema
        top["required"] += ["body"] if body.required else []
    return top


def _object() -> dict[str, Any]:
    return {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
