"""OpenAPI 3.1 document of the interface. It is `openapi.yaml`, completed from the tables that the interface itself uses."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.errors import PROBLEMS, QUOTA_REASONS, REPLY_FAILURES, RETRYABLE_REASONS
from chatsvc.domain.models import APPOINTMENT_STATUSES, CHANNELS, REQUEST_STATUSES, SUBSCRIPTION_STATUSES
from chatsvc.domain.webhooks import SUBSCRIBED, TEST

WORDS = {
    "channels": CHANNELS,
    "subscription_statuses": SUBSCRIPTION_STATUSES,
    "request_types": REQUEST_TYPES,
    "request_statuses": REQUEST_STATUSES,
    "appointment_statuses": APPOINTMENT_STATUSES,
    "events": (*SUBSCRIBED, TEST),
    "errors": tuple(PROBLEMS),
}
REASONS = {402: QUOTA_REASONS, 502: REPLY_FAILURES}
NEVER_OF_AN_OPERATION = ("unknown_endpoint", "method_not_allowed")


def document(base_url: str) -> dict[str, Any]:
    """Return the OpenAPI document; `base_url` ends with the version segment."""
    return {**_document(), "servers": [{"url": base_url}]}


@cache
def _document() -> dict[str, Any]:
    source = _completed(yaml.safe_load(Path(__file__).with_name("openapi.yaml").read_text("utf-8")))
    described: dict[str, Any] = source["document"]
    schemas = described["components"]["schemas"]
    for code, problem in PROBLEMS.items():
        if problem.extra:
            reason = _words(REASONS.get(problem.status, ()), "The exact cause.")
            properties = {name: reason if name == "reason" else source["extra"][name] for name in problem.extra}
            extra = {"type": "object", "description": "What this code adds.", "required": list(properties), "properties": properties}
            schemas[_title(code)] = {"description": f"`{code}`: {problem.text('en')}", "allOf": [_schema("Error"), extra]}
    for operation in (operation for path in described["paths"].values() for operation in path.values()):
        operation["description"] = f"{operation['summary']}. Section 5 of the manual's page on the interface describes it whole."
        operation["responses"] = _responses(source, **operation["responses"])
    retryable = [code for code, problem in PROBLEMS.items() if problem.retryable]
    return {**described, "x-retryable": {"error": retryable, "reason": list(RETRYABLE_REASONS)}}


def _completed(node: Any) -> Any:
    """Complete the schemas in a part of the document. Strings get their known values, objects the list of their required properties."""
    if isinstance(node, list):
        return [_completed(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    if (words := node.get("x-extensible-enum")) is not None:
        return _words(WORDS[words] if isinstance(words, str) else words, node.get("description", ""))
    completed = {name: _completed(inner) for name, inner in node.items()}
    if "properties" in node:
        completed = {"type": "object", "required": list(node["properties"]), **completed}
    return completed


def _words(words: Any, description: str) -> dict[str, Any]:
    """Return the schema of a string with a few known values. Later versions may add values."""
    text = f"{description} One of {', '.join(f'`{word}`' for word in words)}; more may come."
    return {"type": "string", "description": text.strip(), "examples": list(words), "x-extensible-enum": list(words)}


def _responses(source: dict[str, Any], answer: str, errors: list[str]) -> dict[str, Any]:
    """Return the responses of an operation by status. They are the successful response and the errors that it may return."""
    responses = {"200": _response("Done.", _schema(answer), source["headers"])}
    codes: dict[int, list[str]] = {}
    for code in (*source["gates"], *errors):
        codes.setdefault(PROBLEMS[code].status, []).append(code)
    for status, those in sorted(codes.items()):
        description = "\n".join(f"- `{code}`: {PROBLEMS[code].text('en')}" for code in those)
        names = dict.fromkeys(_title(code) if PROBLEMS[code].extra else "Error" for code in those)
        schemas = [_schema(name) for name in sorted(names, key="Error".__eq__)]
        headers = {**source["headers"], **source["headers_of"].get(status, {})}
        response = _response(description, schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, headers)
        responses[str(status)] = {**response, "x-error-codes": those}
    return responses


def _response(description: str, schema: dict[str, Any], headers: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "headers": headers, "content": {"application/json": {"schema": schema}}}


def _schema(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _title(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_")) + "Error"
