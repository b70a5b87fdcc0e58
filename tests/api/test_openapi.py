"""The OpenAPI document and the public pages, compared with the interface."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import ClientSession

from chatsvc.api import BASE_PATH, bodies, openapi
from chatsvc.api.interface import SUPPORTED_ENDPOINTS
from chatsvc.app import App
from chatsvc.domain import folding, paging
from chatsvc.domain.errors import PROBLEMS
from chatsvc.domain.models import CHANNELS
from chatsvc.services.accounts import analytics
from chatsvc.services.conversations import conversations
from tests.api.support import fetch, insert_conversations, out_of_reach
from tests.conftest import Caller
from tests.fakes import START

DOCUMENT: Any = openapi.document("https://chat.example.com/api/v2")
SCHEMAS = DOCUMENT["components"]["schemas"]


def _operations() -> dict[str, Any]:
    return {
        f"{method.upper()} {path}": operation
        for path, operations in DOCUMENT["paths"].items()
        for method, operation in operations.items()
        if method != "parameters"
    }


def _merged(schema: Any) -> Any:
    """Resolve references and `allOf` of a schema."""
    if "$ref" in schema:
        return _merged(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    parts = [_merged(part) for part in schema.get("allOf", [])]
    if not parts:
        return schema
    properties = {name: inner for part in parts for name, inner in part["properties"].items()}
    return {"type": "object", "required": [name for part in parts for name in part["required"]], "properties": properties}


def _agrees(value: Any, schema: Any, path: str = "$") -> None:
    """Check a value against a schema. Only keywords that the document uses are supported."""
    schema = _merged(schema)
    types = schema.get("type", [])
    names = {dict: "object", list: "array", str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    if types:
        own = names[type(value)]
        assert own in ([types] if isinstance(types, str) else types) or (own == "integer" and types == "number"), path
    if value is not None and schema.get("format") == "date-time":
        assert datetime.fromisoformat(value).tzinfo == UTC, path
    if "x-extensible-enum" in schema:
        assert value in schema["x-extensible-enum"], path
    if isinstance(value, dict):
        assert list(value) == schema["required"], path
        for name, inner in value.items():
            _agrees(inner, schema["properties"][name], f"{path}.{name}")
    if isinstance(value, list):
        for number, inner in enumerate(value):
            _agrees(inner, schema["items"], f"{path}[{number}]")


def test_the_document_has_the_routes_of_the_interface_and_no_other() -> None:
    assert list(_operations()) == SUPPORTED_ENDPOINTS
    # Answers may get more fields.
    assert [name for name, schema in SCHEMAS.items() if schema.get("additionalProperties") is False] == ["SendMessage"]


def test_the_numbers_of_the_document_are_those_of_the_code() -> None:
    parameters = {parameter["name"]: parameter["schema"] for operation in _operations().values() for parameter in operation["parameters"]}
    for name, default, most in (
        ("limit", paging.DEFAULT_LIMIT, paging.MAX_LIMIT),
        ("message_limit", conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES),
        ("days", analytics.DEFAULT_DAYS, analytics.MAX_DAYS),
    ):
        assert (parameters[name]["default"], parameters[name]["maximum"]) == (default, most)
    sent = SCHEMAS["SendMessage"]["properties"]
    assert [sent[name]["maxLength"] for name in ("message", "user_id")] == [bodies.MAX_MESSAGE, bodies.MAX_USER_ID]
    assert (tuple(sent), sent["language"]["pattern"]) == (bodies.FIELDS, f"^({folding.LANGUAGE_TAG})?$")
    assert SCHEMAS["ConversationDetail"]["allOf"][1]["properties"]["messages"]["maxItems"] == conversations.MAX_MESSAGES
    assert DOCUMENT["info"]["version"] == BASE_PATH.rpartition("v")[2]
    assert ", ".join(CHANNELS) in json.dumps(_operations()["GET /conversations"]["parameters"])


def test_the_document_is_the_same_in_every_process() -> None:
    print_it = "from chatsvc.api import openapi; print(openapi.document('https://chat.example.com/api/v2'))"
    # The hashes of this process are seeded by chance.
    env = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", print_it], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{DOCUMENT}\n"


def test_every_error_is_described_where_it_occurs() -> None:
    described = {
        code: int(status)
        for operation in _operations().values()
        for status, response in operation["responses"].items()
        if status != "200"
        for code in response["x-error-codes"]
    }
    expected = {code: problem.status for code, problem in PROBLEMS.items() if code not in openapi.NEVER_OF_AN_OPERATION}
    assert described == expected
    assert not {"400", "404"} & _operations()["GET /analytics"]["responses"].keys()


def test_an_error_is_described_with_all_its_fields() -> None:
    for code, problem in PROBLEMS.items():
        name = "".join(word.capitalize() for word in code.split("_")) + "Error" if problem.extra else "Error"
        assert _merged(SCHEMAS[name])["required"] == ["success", "error", "message", "message_en", *problem.extra]


def test_the_bodies_of_webhooks_are_described() -> None:
    page = (Path(__file__).parents[2] / "chatsvc" / "help" / "webhooks.md").read_text("utf-8")
    bodies = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    bodies.append({**bodies[0], "event": "webhook.test", "data": {**bodies[0]["data"], "is_test": True}})
    assert [body["event"] for body in bodies] == list(DOCUMENT["webhooks"])
    for body in bodies:
        _agrees(body, DOCUMENT["webhooks"][body["event"]]["post"]["requestBody"]["content"]["application/json"]["schema"])


def test_the_samples_of_the_manual_are_answers_of_the_document() -> None:
    page = (Path(__file__).parents[2] / "chatsvc" / "help" / "interface.md").read_text("utf-8")
    samples = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    chatbots, exchange, listed, more, usage, error = samples
    detail = {"success": True, "data": {**listed["data"][0], **more}}
    answers = {"ChatbotList": chatbots, "ExchangeAnswer": exchange, "ConversationList": listed, "ConversationAnswer": detail}
    for name, answer in {**answers, "AnalyticsAnswer": usage, "MessageTooLongError": error}.items():
        _agrees(answer, SCHEMAS[name])
    assert error == {**PROBLEMS["message_too_long"](max_chars=4000).as_json()}


async def test_answers_have_the_fields_of_the_document_in_their_order(app: App, caller: Caller) -> None:
    assert (await caller.send(user_id="v")).status == 200
    await insert_conversations(app, caller, [START - 1000])
    (listed, _) = (await caller.get("/conversations")).json["data"]
    paths = {
        "GET /chatbots": "/chatbots",
        "GET /chatbots/{id}": f"/chatbots/{caller.bot}",
        "GET /conversations": "/conversations",
        "GET /conversations/{id}": f"/conversations/{listed['id']}",
        "GET /analytics": "/analytics",
    }
    answers = {name: await caller.get(path) for name, path in paths.items()}
    answers["POST /messages"] = await caller.send(user_id="v")
    assert answers.keys() == _operations().keys()
    for name, answer in answers.items():
        response = _operations()[name]["responses"][str(answer.status)]
        assert answer.status == 200
        _agrees(answer.json, response["content"]["application/json"]["schema"])
        assert set(response["headers"]) <= {name for name in response["headers"] if name in answer.headers}


async def test_a_service_whose_store_fails_lives_but_is_not_ready(app: App, session: ClientSession) -> None:
    async with out_of_reach(app, "store_facts"):
        assert (await fetch(session, "GET", f"{app.url}/healthz")).status == 200
        answer = await fetch(session, "GET", f"{app.url}/readyz")
    assert (answer.status, answer.json) == (503, {"status": "store_unavailable"})


async def test_pages_outside_of_the_interface_can_only_be_read(app: App, session: ClientSession) -> None:
    pages = {
        "/healthz": {"status": "ok"},
        "/readyz": {"status": "ready"},
        "/openapi.json": openapi.document(app.config.server.public_url + BASE_PATH),
    }
    for path, page in pages.items():
        answer = await fetch(session, "GET", app.url + path)
        assert (answer.status, answer.json) == (200, page)
        assert "X-RateLimit-Limit" not in answer.headers
        head = await fetch(session, "HEAD", app.url + path)
        assert (head.status, head.body) == (200, b"")
        refused = await fetch(session, "POST", app.url + path, data=b"{}")
        assert (refused.status, refused.error, refused.json["allow"]) == (405, "method_not_allowed", ["GET", "HEAD"])
