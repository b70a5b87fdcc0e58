"""A running service held against its own OpenAPI document: all checks of schemathesis. CHATSVC_CASES is about how many cases it makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.model_thread import ModelThread, settings
from tests.cli.support import Serving, Site
from tests.engines.model_server import says

CASES = int(os.environ.get("CHATSVC_CASES", "75"))
DETERMINED = "CHATSVC_CASES" not in os.environ
CASES_AN_EXAMPLE = 15  # how many come of one "example": the phases, the operations and their stateful chains
# What the document cannot tell from the right thing: a cursor that nobody handed out, an Idempotency-Key used with other fields. And what
# it says of a number in the query is for people: one out of range is clamped, and what is no number counts as absent.
CONFIG = Path(__file__).with_name("schemathesis.toml").read_text("utf-8")


def _schemathesis(folder: Path, serving: Serving, key: str) -> subprocess.CompletedProcess[str]:
    (folder / "schemathesis.toml").write_text(CONFIG)
    options = {
        "--url": serving.base_url,
        "--header": f"Authorization: Bearer {key}",
        "--checks": "all",
        "--max-examples": str(max(1, CASES // CASES_AN_EXAMPLE)),
        **({"--seed": "1"} if DETERMINED else {}),
    }
    program = (sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "--config-file", "schemathesis.toml")
    words = [word for option in options.items() for word in option]
    return subprocess.run(
        [*program, "run", f"{serving.url}/openapi.json", "--continue-on-failure", "--no-color", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("unmeasured_processes")
def test_the_service_does_what_its_description_says(tmp_path: Path) -> None:
    with ModelThread(says("We are open until six.")) as model:
        site = Site(tmp_path, f"limits: {{requests_per_minute: 1000000}}\n{settings(model.url)}")
        account = site.account()
        site.json("account", "set", account, "--messages-limit", "1000000000")
        bot, key = site.bot(account, model="slow"), site.key(account)
        with site.serve() as serving:
            for visitor in ("a", "b", "c"):
                serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "hello", "user_id": visitor})
            done = _schemathesis(tmp_path, serving, key)
    (tmp_path / "schemathesis.log").write_text(done.stdout)
    assert done.returncode == 0, done.stdout
    assert "Tested: 6" in done.stdout
    assert "Traceback" not in site.log.read_text()
