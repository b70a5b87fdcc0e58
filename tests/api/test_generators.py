"""Two generators make clients of /openapi.json without a warning, and these call the six operations and meet five errors.

scripts/test installs the generators outside of the repository, as it does axe-core; without them these tests are skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsvc.api import openapi
from tests.browsers import TOOLS
from tests.cli.support import Site

PYTHON = TOOLS / "python" / "bin" / "python"
NODE = TOOLS / "node_modules" / ".bin"
DONE = {
    "bots": 1,
    "reply": "Monday to Friday from 9 to 18.",
    "roles": ["user", "assistant"],
    "used": 1,
    "errors": ["chatbot_not_found", "conversation_not_found", "invalid_cursor", "missing_message", "invalid_api_key"],
}
USE_PYTHON = """
import json, os
from generated import AuthenticatedClient
from generated.api.analytics import get_analytics
from generated.api.chatbots import get_chatbot, list_chatbots
from generated.api.conversations import get_conversation, list_conversations
from generated.api.messages import send_message
from generated.models import SendMessage

client = AuthenticatedClient(os.environ["BASE_URL"], os.environ["KEY"], raise_on_unexpected_status=True)
bots = list_chatbots.sync(client=client).data
bot = get_chatbot.sync(bots[0].id, client=client).data
said = send_message.sync(client=client, body=SendMessage(str(bot.id), "opening hours", user_id="v")).data
thread = list_conversations.sync(client=client, channel="api").data[0]
whole = get_conversation.sync(thread.id, client=client, message_limit=10).data
usage = get_analytics.sync(client=client, days=1).data.usage
stranger = AuthenticatedClient(os.environ["BASE_URL"], "csk_x")
errors = [
    get_chatbot.sync("nobody", client=client),
    get_conversation.sync("nobody", client=client),
    list_chatbots.sync(client=client, cursor="x"),
    send_message.sync(client=client, body=SendMessage(str(bot.id), " ")),
    list_chatbots.sync(client=stranger),
]
print(json.dumps({
    "bots": len(bots), "reply": said.reply, "roles": [m.role for m in whole.messages], "used": usage.total_messages,
    "errors": [error.error for error in errors],
}))
"""
USE_FETCH = """
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const { BASE_URL, KEY } = process.env as Record<string, string>;
const connect = (key: string) => createClient<paths>({ baseUrl: BASE_URL, headers: { Authorization: `Bearer ${key}` } });
const client = connect(KEY);
const bots = (await client.GET("/chatbots")).data!.data;
const bot = (await client.GET("/chatbots/{id}", { params: { path: { id: bots[0].id } } })).data!.data;
const said = (await client.POST("/messages", { body: { chatbot_id: bot.id, message: "opening hours", user_id: "v" } })).data!.data;
const [thread] = (await client.GET("/conversations", { params: { query: { channel: "api" } } })).data!.data;
const whole = (await client.GET("/conversations/{id}", { params: { path: { id: thread.id }, query: { message_limit: 10 } } })).data!.data;
const usage = (await client.GET("/analytics", { params: { query: { days: 1 } } })).data!.data.usage;
const errors = [
  (await client.GET("/chatbots/{id}", { params: { path: { id: "nobody" } } })).error!.error,
  (await client.GET("/conversations/{id}", { params: { path: { id: "nobody" } } })).error!.error,
  (await client.GET("/chatbots", { params: { query: { cursor: "x" } } })).error!.error,
  (await client.POST("/messages", { body: { chatbot_id: bot.id, message: " " } })).error!.error,
  (await connect("csk_x").GET("/chatbots")).error!.error,
];
const roles = whole.messages.map((message) => message.role);
console.log(JSON.stringify({ bots: bots.length, reply: said.reply, roles, used: usage.total_messages, errors }));
"""


def run(folder: Path, *words: str | Path, **env: str) -> str:
    """Run a program and return all that it printed; its warnings are for the caller to find."""
    # The Python generator formats with ruff, which is in this environment.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, "PATH": path, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def service(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Serve a bot with one answer; the document is in the test's folder."""
    site = Site(tmp_path)
    site.json("init")
    bot = site.json("bot", "list")[0]["id"]
    (tmp_path / "faq.md").write_text("# What are your opening hours?\nMonday to Friday from 9 to 18.\n")
    site.json("knowledge", "add", bot, tmp_path / "faq.md")
    key = site.json("key", "create")["key"]
    with site.serve():
        assert site.serving
        (tmp_path / "openapi.json").write_text(json.dumps(openapi.document(site.serving.base_url)), "utf-8")
        yield {"BASE_URL": site.serving.base_url, "KEY": key}


@pytest.mark.skipif(not PYTHON.exists(), reason="openapi-python-client is not installed")
def test_openapi_python_client(service: dict[str, str], tmp_path: Path) -> None:
    generator = PYTHON.with_name("openapi-python-client")
    run(tmp_path, generator, "generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none", "--fail-on-warning")
    assert json.loads(run(tmp_path, PYTHON, "-c", USE_PYTHON, **service)) == DONE


@pytest.mark.skipif(not (NODE / "openapi-typescript").exists(), reason="the generator for TypeScript is not installed")
def test_openapi_typescript_with_openapi_fetch(service: dict[str, str], tmp_path: Path) -> None:
    printed = run(tmp_path, NODE / "openapi-typescript", "openapi.json", "-o", "schema.d.ts", "--default-non-nullable=false")
    assert "warn" not in printed.lower()
    (tmp_path / "use.ts").write_text(USE_FETCH)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    # Strictly: the types of what was generated are those of its use.
    run(tmp_path, NODE / "tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "preserve", "--types", "node", "use.ts")
    assert json.loads(run(tmp_path, "node", "use.js", **service)) == DONE
