"""README, manual and example configuration, compared with the code; their examples are run."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import click
import pytest

from chatsvc import config
from chatsvc.api.interface import SUPPORTED_ENDPOINTS
from chatsvc.cli.main import COMMANDS, Lazy, chatsvc
from chatsvc.domain import shapes
from chatsvc.domain.captures import REQUEST_TYPES, Appointment, Request
from chatsvc.domain.errors import PROBLEMS, REPLY_FAILURES
from chatsvc.domain.webhooks import build_request
from tests.cli.support import CHATSVC, PATIENCE_S, Done, Site, environment
from tests.cli.test_help import command_of

ROOT = Path(__file__).parent.parent
EXAMPLE = (ROOT / "config.example.yaml").read_text("utf-8")
TABLES = ("models", "plans")
README = "README"
PAGES = {README: (ROOT / "README.md").read_text("utf-8")} | {
    file.stem: file.read_text("utf-8") for file in sorted((ROOT / "chatsvc" / "help").glob("*.md"))
}
CELLS = {cell for page in PAGES.values() for cell in re.findall(r"`([^`\n]+)`", page)}


def test_the_generated_tables_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["scripts/docs", "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "documentation.py"))
    assert ended.value.code == 0, f"run scripts/docs\n{capsys.readouterr().out}"


def test_every_part_that_is_generated_is_in_a_page() -> None:
    parts = re.findall(r"<!-- begin (.+?): written by scripts/docs -->", "".join(PAGES.values()))
    assert sorted(parts) == ["commands", "error codes", "metrics", "reasons", "settings"]


def test_every_error_code_and_every_reason_is_in_the_manual() -> None:
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGES["errors"], re.MULTILINE))
    assert listed == {*PROBLEMS, *REPLY_FAILURES}


def test_every_operation_is_listed() -> None:
    assert re.findall(r"^\| `([A-Z]+ /\S+)` \|", PAGES["interface"], re.MULTILINE) == SUPPORTED_ENDPOINTS


def test_every_package_is_in_the_layout() -> None:
    layout = PAGES["contribute"].split("## Layout")[1].split("\n## ")[0]
    packages = {file.parent.name for file in (ROOT / "chatsvc").glob("*/*") if file.suffix in (".py", ".md")} | {"languages"}
    cells = "".join(re.findall(r"^\| (.+?) \|", layout, re.MULTILINE))
    assert {path.split("/")[0] for path in re.findall(r"`(\w+/[\w/]*)`", cells)} - {"chatsvc"} == packages
    walks = PAGES["contribute"].split("\n## The walk of one message")[1].split("\n## Add something")[0]
    named = re.findall(r"\b[a-z_/]+\.(?:py|yaml)\b", walks)
    assert named
    assert [path for path in named if not (ROOT / "chatsvc" / path).exists()] == []


def test_every_dependency_has_its_reason_in_the_manual() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    table = PAGES["contribute"].split("## Dependencies")[1].split("\n## ")[0]
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    assert re.findall(r"^\| `([\w-]+)` \| .+ \|$", table, re.MULTILINE) == [re.split(r"[<>=\[]", wanted)[0] for wanted in declared]


def test_readme_is_short_and_links_every_topic() -> None:
    assert len(PAGES[README].splitlines()) <= 200
    assert set(re.findall(r"\(chatsvc/help/(\w+)\.md\)", PAGES[README])) == PAGES.keys() - {README}


def commands() -> set[str]:
    """Return every command of the program, with its group."""
    names: set[str] = set()
    group = chatsvc
    assert isinstance(group, Lazy)
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        names |= {f"{name} {inner}" for inner in command.commands} if isinstance(command, click.Group) else {name}
    return names


def settings(text: str) -> set[str]:
    """Return the dotted names of the example configuration; tiers and plans have one name each."""
    import yaml

    def walk(value: object, path: str) -> set[str]:
        if isinstance(value, dict) and path not in ("models", "plans"):
            return {name for key, inner in value.items() for name in walk(inner, f"{path}.{key}" if path else key)}
        return {path}

    return walk(yaml.safe_load(text), "")


def test_every_setting_that_the_program_has_is_in_the_example_and_nothing_else(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.config.write_text("")
    known = {key: value for key, value in site.json("config", "show").items() if key != "config"}
    assert settings(json.dumps(known)) == settings(EXAMPLE)


def test_every_setting_of_the_example_has_a_comment_with_its_unit() -> None:
    top, comment = "", ""
    for line in EXAMPLE.splitlines():
        indent, name, value = re.fullmatch(r"( *)(?:(\w+):( .*)?)?.*", line).groups()  # type: ignore[union-attr]  # the pattern matches every line
        if not name:
            comment = f"{comment} {line}" if line else ""
            continue
        top = top if indent else name
        if value or name in TABLES:
            assert comment or (indent and top in TABLES), line
            unit = next((unit for suffix, unit in (("_s", "seconds"), ("_days", "Days")) if name.endswith(suffix)), "")
            assert unit in comment, line
        comment = ""


def test_a_wrong_value_of_any_setting_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    lines = EXAMPLE.splitlines()
    for number, line in enumerate(lines):
        if re.match(r" *\w+: ", line):
            file.write_text("\n".join([*lines[:number], re.sub(":.*", ": [[odd]]", line), *lines[number + 1 :]]))
            with pytest.raises(config.ConfigError, match=rf"config\.yaml:{number + 1}:\d+: "):
                config.load(file, {})


SOURCES = [
    file
    for pattern in ("*.md", "*.toml", "chatsvc/**/*", "tests/**/*", "scripts/**/*", "packaging/**/*")
    for file in sorted(ROOT.glob(pattern))
    if file.is_file() and file.suffix in {"", ".py", ".md", ".toml", ".html", ".js", ".css", ".sql", ".txt", ".yaml", ".spec", ".service"}
]


def test_sources_name_only_documents_and_sections_that_exist() -> None:
    outside, sections = [], {}
    for page in ("interface", "webhooks"):
        sections[page] = set(re.findall(r"^#{2,3} ([\d.]+?)\.? ", PAGES[page], re.MULTILINE))
    for file in SOURCES:
        text = file.read_text("utf-8")
        outside += [f"{file}: {name}" for name in re.findall(r"\b(?:SPEC|DECISIONS|DESIGN|FACTS(?:-PEOPLE)?)[.]md\b", text)]
        for page, section in re.findall(r"help/(interface|webhooks)\.md (\d+(?:\.\d+)?)", text):
            assert section in sections[page], f"{file} cites {page}.md {section}"
    assert outside == []


def test_the_two_commands_of_readme_exist() -> None:
    named = re.findall(r"^scripts/\w+", PAGES[README].split("## Try it")[1], re.MULTILINE)
    assert named == ["scripts/quickstart", "scripts/test"]
    assert all((ROOT / name).stat().st_mode & 0o111 for name in named)


def blocks(language: str, page: str | None = None) -> list[str]:
    """Return the fenced blocks in a language, of one page or of all."""
    text = PAGES[page] if page else "".join(PAGES.values())
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_every_command_line_that_is_shown_is_one_that_the_program_takes() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if re.match(r"\S*chatsvc ", line)]
    assert len(lines) >= 15
    for line in lines:
        command, given = command_of(shlex.split(line.split(" > ")[0], comments=True)[1:])
        options, _, _ = command.make_parser(click.Context(command)).parse_args(args=given)
        missing = [param.name for param in command.params if param.required and options.get(param.name or "") in (None, ())]
        assert not missing, line


def test_every_command_that_is_named_exists_with_the_options_that_it_is_shown_with() -> None:
    known = {name.split()[0] for name in commands()}
    named = [cell.removeprefix("chatsvc ").split() for cell in CELLS if "[" not in cell]
    shown = [words for words in named if len(words) > 1 and words[0] in known and words[1].isascii()]
    assert len(shown) > 60
    for words in shown:
        command, given = command_of(words)
        accepted = {option for param in command.params for option in param.opts}
        assert {word for word in given if word.startswith("--")} <= accepted, words


def test_every_configuration_that_is_shown_is_one_that_the_program_takes(tmp_path: Path) -> None:
    shown = blocks("yaml")
    assert len(shown) >= 4
    for text in shown:
        file = tmp_path / "config.yaml"
        file.write_text(text)
        config.load(file, {})


def test_links_lead_somewhere() -> None:
    # A heading's anchor, in the form of GitHub.
    anchors = {
        page: {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^##+ (.*)$", text, re.MULTILINE)}
        for page, text in PAGES.items()
    }
    for page, text in PAGES.items():
        folder = ROOT if page == README else ROOT / "chatsvc" / "help"
        for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
            assert not target or (folder / target).is_file(), target
            assert not anchor or anchor in anchors[Path(target).stem if target else page], anchor


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Run a service with README's sample of knowledge and an access log."""
    site = Site(tmp_path_factory.mktemp("shop"), "models: {offline: {engine: knowledge}}\nlog: {access: true}")
    site.json("init")
    (site.folder / "faq.md").write_text(blocks("markdown", README)[0])
    with site.serve():
        yield site
    assert "Traceback" not in site.log.read_text()


def shell(site: Site, script: str, **more: str) -> Done:
    """Run a block in the installation's folder, with this chatsvc in the path."""
    programs = site.folder / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "chatsvc").write_text(f'#!/bin/sh\nexec {shlex.join(CHATSVC)} "$@"\n')
    (programs / "chatsvc").chmod(0o755)
    env = environment(CHATSVC_CONFIG=str(site.config), **more)
    env["PATH"] = f"{programs}:{env['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", script], cwd=site.folder, env=env, capture_output=True, text=True, timeout=PATIENCE_S * 2, check=False
    )
    assert done.returncode == 0, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def caller(site: Site) -> dict[str, str]:
    """Return the variables that the examples use."""
    assert site.serving
    key = site.json("key", "create")["key"]
    return {"BASE_URL": site.serving.base_url, "KEY": key, "BOT": site.json("bot", "list")[0]["id"]}


def routes(site: Site, since: int) -> set[str]:
    """Return the operations in the log after an offset."""
    lines = [json.loads(line) for line in site.log.read_text()[since:].splitlines()]
    return {f"{line['method']} {line['route']}" for line in lines if line.get("status") == 200 and "method" in line}


OPERATIONS = set(SUPPORTED_ENDPOINTS)
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not on this machine")


@needs_curl
def test_the_first_message_is_answered_as_the_page_says(shop: Site) -> None:
    assert shop.serving
    known = caller(shop)
    (block,) = [text for text in blocks("sh", README) if "knowledge add" in text]
    script = re.sub(r"^export .*\n", "", block).replace("http://127.0.0.1:8080", shop.serving.url)
    answer = json.loads(shell(shop, script, **known).out[-1000:].split("faq.md", 1)[1].split("\n", 1)[1])
    assert answer["data"]["reply"] == "Monday to Friday from 9 to 18, Saturday from 10 to 14."


@needs_curl
def test_the_shell_examples_call_all_six_operations(shop: Site) -> None:
    assert shop.serving
    known = caller(shop)
    shop.json("knowledge", "add", known["BOT"], shop.folder / "faq.md")
    message = {"chatbot_id": known["BOT"], "message": "opening hours", "user_id": "customer-7"}
    assert shop.serving.ask(known["KEY"], "POST", "/messages", message).status == 200
    since = len(shop.log.read_text())
    (block,) = [text for text in blocks("sh", "interface") if "api()" in text]
    answers = shell(shop, block, **known, CONVERSATION=shop.json("conversation", "list")[0]["id"]).out.splitlines()
    assert [json.loads(line)["success"] for line in answers] == [True] * 6
    assert routes(shop, since) == OPERATIONS


def test_the_example_of_a_restore_works_on_another_machine(shop: Site, tmp_path: Path) -> None:
    make, restore = [text for text in blocks("sh", "operate") if "backup verify" in text or "doctor" in text]
    shell(shop, make.replace("/mnt/backup", str(tmp_path)))
    other = Site(tmp_path)
    (tmp_path / "master.key").write_bytes((shop.data / "master.key").read_bytes())
    shell(other, restore.split("chatsvc serve")[0])
    assert other.json("bot", "list") == shop.json("bot", "list")


def test_the_example_of_a_webhook_body_equals_a_real_one() -> None:
    shown = json.loads(blocks("json", "webhooks")[0])
    created_at = round(datetime.fromisoformat(shown["created_at"]).timestamp() * 1000)
    request = Request(**{**shown["data"], "created_at": created_at})
    sent = build_request(shown["event"], shown["delivery_id"], created_at, shown["bot_id"], shapes.request(request))
    assert json.dumps(shown) == json.dumps(json.loads(sent))  # in the same order, too
    created_at = shown["data"]["created_at"] = round(datetime.fromisoformat(shown["data"]["created_at"]).timestamp() * 1000)
    second = json.loads(blocks("json", "webhooks")[1])
    appointment = second["data"]
    facts = {name: appointment[name] for name in ("message", "visitor_name", "visitor_email", "visitor_phone", "source_page_host")}
    request = Request(appointment["request_id"], "appointment", "new", **facts, created_at=created_at)
    starts_at = round(datetime.fromisoformat(appointment["appointment_at"]).timestamp() * 1000)
    times = (appointment["appointment_date"], appointment["appointment_time"])
    assert list(shapes.appointment(Appointment(appointment["id"], request, "pending", *times, starts_at, created_at)).items()) == list(
        appointment.items()
    )
    (row,) = re.findall(r"^\| `request_type` \| string \| (.*); more may come \|$", PAGES["webhooks"], re.MULTILINE)
    assert tuple(re.findall(r"`(\w+)`", row)) == REQUEST_TYPES


VECTOR = ("It's a Secret to Everybody", b"Hello, World!", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")


def snippet(language: str) -> str:
    """Return the function for receivers in one language."""
    return blocks(language, "webhooks")[0]


def test_the_python_function_verifies_the_published_vector() -> None:
    names: dict[str, Any] = {}
    exec(snippet("python"), names)  # noqa: S102  # the page's own words are tested
    key, body, signature = VECTOR
    assert names["verified"](key, body, signature)
    assert not names["verified"](key, body + b"!", signature)
    assert not names["verified"](key, body, "sha256=ç")


@pytest.mark.parametrize(
    ("language", "program", "call"),
    [
        ("js", ("node", "-e"), 'process.exit(verified({0}, Buffer.from({1}), {2}) && !verified({0}, Buffer.from({1} + "!"), {2}) ? 0 : 1)'),
        ("php", ("php", "-r"), 'exit(verified({0}, {1}, {2}) && !verified({0}, {1} . "!", {2}) ? 0 : 1);'),
    ],
)
def test_the_functions_that_can_run_here_verify_the_published_vector(language: str, program: tuple[str, str], call: str) -> None:
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not on this machine")
    key, body, signature = VECTOR
    code = f"{snippet(language).removeprefix('<?php')}\n{call.format(json.dumps(key), json.dumps(body.decode()), json.dumps(signature))}"
    subprocess.run([*program, code], check=True, timeout=30)  # the page's own words
