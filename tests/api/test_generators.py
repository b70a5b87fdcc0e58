"""Two generators make clients of /openapi.json without a warning, and these call the six operations and meet five errors.

scripts/test installs the generators outside of the repository, as it does axe-core; without them these tests are skipped.
"""

import json
import os
import shutil
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
CLIENTS = Path(__file__).parent / "clients"
DONE = {
    "bots": 1,
    "reply": "Monday to Friday from 9 to 18.",
    "roles": ["user", "assistant"],
    "used": 1,
    "errors": ["chatbot_not_found", "conversation_not_found", "invalid_cursor", "missing_message", "invalid_api_key"],
}


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
    assert json.loads(run(tmp_path, PYTHON, "-c", (CLIENTS / "use.py.txt").read_text(), **service)) == DONE


@pytest.mark.skipif(not (NODE / "openapi-typescript").exists(), reason="the generator for TypeScript is not installed")
def test_openapi_typescript_with_openapi_fetch(service: dict[str, str], tmp_path: Path) -> None:
    printed = run(tmp_path, NODE / "openapi-typescript", "openapi.json", "-o", "schema.d.ts", "--default-non-nullable=false")
    assert "warn" not in printed.lower()
    shutil.copy(CLIENTS / "use.ts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(TOOLS / "node_modules")
    # Strictly: the types of what was generated are those of its use.
    run(tmp_path, NODE / "tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "preserve", "--types", "node", "use.ts")
    assert json.loads(run(tmp_path, "node", "use.js", **service)) == DONE
