"""The configuration: what it may say, and the messages where it says something else."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.config import Config, ConfigError, document, load, locate
from chatsvc.config.model import Backups, Limits, Log, Metrics, Retention, Server, Smtp, TeamNotices, Tls
from chatsvc.config.shown import as_document
from chatsvc.config.values import Secret
from chatsvc.domain.plans import Plan, Tier
from tests.tables import json_rows, rows

SETTINGS = (
    "server, data_dir, master_key, master_key_file, store, limits, engines, models, plans, webhooks, website, channels, notices, backup,"
    " retention, egress, log, metrics"
)
REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = "sk-ant-api03-Zq81nothingToSee"


@pytest.fixture(params=["C parser", "Python parser"])
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's parser in Python has to give the same result as libyaml's."""
    if request.param == "Python parser":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


class Folder:
    """A folder with a config.yaml in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "config.yaml"

    def load(self, text: str | bytes, environ: Mapping[str, str] | None = None) -> Config:
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        return load(self.file, environ or {})

    def faults(self, text: str | bytes, environ: Mapping[str, str] | None = None) -> list[str]:
        """The faults of `text`, as line:column: message."""
        with pytest.raises(ConfigError) as raised:
            self.load(text, environ)
        lines = str(raised.value).split("\n")
        assert lines == [str(fault) for fault in raised.value.faults]
        return [line.removeprefix(str(self.file)).removeprefix(":").strip() for line in lines]

    def fault(self, text: str | bytes, environ: Mapping[str, str] | None = None) -> str:
        (only,) = self.faults(text, environ)
        return only


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


STORE = "postgresql://chatsvc@db.example.com/chat"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (STORE, {"host": "db.example.com", "port": "5432", "user": "chatsvc", "dbname": "chat"}),
        (
            "postgresql://a%40b@[::1]:5433,db2/c?sslmode=disable",
            {"host": "::1,db2", "port": "5433,5432", "user": "a@b", "sslmode": "disable"},
        ),
        ("postgresql://a@/c?host=/run/postgresql", {"host": "/run/postgresql", "user": "a", "dbname": "c"}),
        (f"{STORE}?target_session_attrs=read-write", {"host": "db.example.com", "target_session_attrs": "read-write"}),
    ],
)
def test_the_address_of_postgresql_is_read_into_its_parts(folder: Folder, url: str, expected: dict[str, str]) -> None:
    store = folder.load(f"store: {{url: '{url}', password: '${{NAME}}'}}", {"NAME": SECRET}).store
    assert store is not None
    assert store.parameters.items() >= expected.items()
    assert (store.url, store.password) == (url, Secret(SECRET))
    assert SECRET not in repr(store)


def test_files_of_the_address_of_postgresql_start_at_the_configuration(folder: Folder) -> None:
    store = folder.load(f"store: {{url: '{STORE}?sslrootcert=ca.pem&sslcert=/etc/c.pem&sslkey=k.pem'}}").store
    assert store is not None
    files = {name: store.parameters[name] for name in ("sslrootcert", "sslcert", "sslkey")}
    assert files == {"sslrootcert": str(folder.path / "ca.pem"), "sslcert": "/etc/c.pem", "sslkey": str(folder.path / "k.pem")}
    assert store.password is None


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "---\n", "null\n", "~\n", "\ufeff", "--- {}\n...\n"])
def test_an_empty_file_is_the_defaults(folder: Folder, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(folder.path)
    assert dataclasses.replace(folder.load(text), path=None) == load(None, {})


def test_the_defaults_are_those_of_the_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = load(None, {})
    assert config.path is None
    assert config.server == Server("127.0.0.1", 8080, "http://127.0.0.1:8080", None)
    assert (config.data_dir, config.master_key) == (tmp_path / "data", None)
    assert config.limits == Limits(120, 512, 1000, 100, 20, 1000)
    assert (config.anthropic.base_url, config.anthropic.api_key) == ("https://api.anthropic.com", None)
    assert (config.anthropic.timeout_s, config.anthropic.max_retries) == (30.0, 0)
    assert config.models == {
        "offline": Tier("offline", "knowledge"),
        "fast": Tier("fast", "anthropic", "claude-haiku-5-5", 100_000, 500_000, 125_000, 10_000),
    }
    assert list(config.plans.values()) == [
        Plan("free", 1, 100, 1),
        Plan("starter", 1, 1000, 3),
        Plan("business", 1, 10_000, 10, webhooks=True),
        Plan("enterprise", 1, 100_000, 100, webhooks=True, rest_api=True),
    ]
    assert (config.webhooks.timeout_s, config.webhooks.allowed_networks, config.webhooks.ca_file) == (10.0, (), None)
    assert config.retention == Retention(None, None, None)
    assert (config.egress, config.log, config.metrics) == ("all", Log("auto", "info", access=False), Metrics(None))


def test_the_example_file_is_the_defaults(tmp_path: Path) -> None:
    example, nothing = load(REPOSITORY / "config.example.yaml", {}), Folder(tmp_path).load("")
    paths: dict[str, Any] = {"path": None, "data_dir": tmp_path, "backup": None}
    assert dataclasses.replace(example, **paths) == dataclasses.replace(nothing, **paths)
    assert example.data_dir == REPOSITORY / "data"
    assert example.backup == Backups(None, REPOSITORY / "backups", 7)


def test_sections_that_are_commented_out_below_their_name_are_the_defaults(folder: Folder) -> None:
    text = "server:\n  # listen: x\nlimits:\nengines:\n  anthropic:\nmodels:\nplans:\nwebhooks:\n  allowed_networks:\n"
    assert dataclasses.replace(folder.load(text), path=None) == dataclasses.replace(folder.load(""), path=None)


def test_the_option_goes_before_the_environment_and_that_before_the_current_folder(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml", "config.yaml"):
        (tmp_path / name).touch()
    named = {"CHATSVC_CONFIG": str(tmp_path / "b.yaml")}
    assert locate("a.yaml", named, tmp_path) == tmp_path / "a.yaml"
    assert locate(None, named, tmp_path) == tmp_path / "b.yaml"
    assert locate(None, {"CHATSVC_CONFIG": ""}, tmp_path) == tmp_path / "config.yaml"
    assert locate(None, {}, tmp_path / "elsewhere") is None


def test_a_file_that_cannot_be_read_is_told_in_one_line(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"CHATSVC_CONFIG": "x.yaml"}
    for option, environ, by in (("x.yaml", {}, "-c"), (None, named, "$CHATSVC_CONFIG")):
        with pytest.raises(ConfigError) as raised:
            locate(option, environ, folder.path)
        expected = f"{folder.path / 'x.yaml'}: the configuration that {by} names cannot be read: no such file or directory"
        assert str(raised.value) == expected
    folder.file.symlink_to("gone")
    assert locate(None, {}, folder.path) == folder.file
    for path, why in ((folder.file, "no such file or directory"), (folder.path, "is a directory")):
        with pytest.raises(ConfigError, match=f"cannot be read: {why}$"):
            load(path, {})

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "path")

    monkeypatch.setattr("chatsvc.config.document.open_own", refuse)  # root, who may read everything, runs the tests too
    with pytest.raises(ConfigError, match=r"cannot be read: permission denied$"):
        load(folder.file, {})


def test_relative_paths_start_at_the_folder_of_the_file(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = folder.path / "elsewhere"
    elsewhere.mkdir()
    folder.file.write_text("data_dir: d\nwebhooks: {ca_file: ../ca.pem}\nserver: {tls: {cert_file: c.pem, key_file: /k.pem}}\n")
    monkeypatch.chdir(elsewhere)
    config = load(Path("../config.yaml"), {})
    assert config.path == elsewhere / "../config.yaml"
    assert config.data_dir.resolve() == folder.path / "d"
    assert config.webhooks.ca_file is not None
    assert config.webhooks.ca_file.resolve() == folder.path.parent / "ca.pem"
    assert config.server.tls == Tls(elsewhere / ".." / "c.pem", Path("/k.pem"))


@pytest.mark.parametrize(("text", "fault"), rows("unit/config_faults"))
def test_what_a_setting_cannot_be_is_told_with_its_place(folder: Folder, text: str, fault: str) -> None:
    (folder.path / "key").write_text(SECRET)
    assert folder.fault(f"{text}\n", {"A": "a", "EMPTY": "", "LONG": "a." * 130}) == fault
    assert SECRET not in fault


def test_both_parsers_of_yaml_find_the_same_at_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(text: str) -> object:
        try:
            return document.parse(text, "config.yaml")
        except ConfigError as error:
            return [(fault.line, fault.column) for fault in error.faults]

    texts = [text for name in ("unit/config_faults", "unit/config_values") for text, *_ in rows(name)]
    by_libyaml = list(map(parsed, texts))
    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert list(map(parsed, texts)) == by_libyaml


VARIABLES = {
    "ADDRESS": "10.0.0.1",
    "PORT": "81",
    "RPM": "7",
    "SECONDS": "2.5",
    "ON": "true",
    "HOME": "/home/me",
    "NULL": "null",
    "NESTED": "/${B}",
}


@pytest.mark.parametrize(("text", "expected"), rows("unit/config_values"))
def test_a_setting_becomes_the_value_that_it_means(folder: Folder, text: str, expected: str) -> None:
    def differing(shown: Any, wanted: Any) -> list[Any]:
        if isinstance(wanted, dict):
            return [pair for key in wanted for pair in differing(shown[key], wanted[key])]
        return [] if shown == wanted else [(shown, wanted)]

    document = as_document(folder.load(f"{text}\n", {**VARIABLES, "NESTED": "/${B}", "B": "x"}))
    assert differing(document, json.loads(expected.replace("FOLDER", str(folder.path)))) == []


def test_all_faults_are_told_at_once_each_with_its_place(folder: Folder) -> None:
    text = Path(__file__).with_name("faulty_config.yaml").read_text("utf-8")
    whole = "expected a whole number from 1 to"
    with pytest.raises(ConfigError) as raised:
        folder.load(text)
    first, *_ = raised.value.faults
    assert (first.file, first.line, first.column) == (str(folder.file), 2, 3)
    assert folder.faults(text) == [
        "2:3: server: unknown setting listens: did you mean listen?",
        "3:15: server.public_url: expected http:// or https://, a host and perhaps a port; no path, query, user or password",
        f"4:31: limits.requests_per_minute: {whole} 1000000, in decimal digits alone",
        f"4:49: limits.max_in_flight: {whole} 100000, in decimal digits alone",
        "7:16: engines.anthropic.timeout_s: expected seconds: a number above 0, at most 600, such as 10 or 2.5",
        "8:5: engines.anthropic.timeout_s: given twice, first at 7:5",
        "10:18: models.fast.engine: expected knowledge or anthropic",
        "11:3: models.slow: expected model: the name of one of the provider's models",
        "13:8: plans: expected names, each with its settings",
        "14:43: webhooks.allowed_networks[1]: expected a network such as 10.0.0.0/8 or fd00::/8, without bits set beyond its length",
        f"15:1: unknown setting colour: expected {SETTINGS}",
    ]


@pytest.mark.usefixtures("each_parser")
@pytest.mark.parametrize(
    ("raw", "begins", "says"),
    [
        *json_rows("unit/no_configuration"),
        (b"data_dir: caf\xe9\n", "1:14: not UTF-8", ": save the file with this encoding"),
        ("a: b\n# ş\n".encode() + b"b: \xff\xfe", "3:4: not UTF-8", ": save the file with this encoding"),
        ("data_dir: x\n".encode("utf-16"), "1:1: not UTF-8", ": save the file with this encoding"),
        (b"#" * (1 << 20) + b"\n", "is larger than 1 MiB", ": not a configuration"),
        ("[" * 50_000, "1:22", "nested too deeply for a configuration"),
        ("{a: " * 500, "1:", "nested too deeply for a configuration"),
    ],
)
def test_what_is_no_configuration_is_told_with_its_position(folder: Folder, raw: str | bytes, begins: str, says: str) -> None:
    fault = folder.fault(raw)
    assert fault.startswith(begins)
    assert says in fault


PIECES = st.sampled_from(
    [
        "server", "limits", "plans", "models", "engines", "anthropic", "a", ": ", ":", "\n", "  ", "- ", "[", "]", "{", "}", ", ", "&a ",
        "*a", "!x ", '"', "'", "|\n", "? ", "1", "null", "${", "${A}", "}", "#", "---", "\t",
    ]
)  # fmt: skip


@pytest.mark.usefixtures("each_parser")
@given(st.binary(max_size=300) | (st.text(max_size=300) | st.lists(PIECES, max_size=30).map("".join)).map(str.encode))
def test_no_file_whatever_ends_in_anything_but_faults(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(raw)
    with contextlib.suppress(ConfigError):
        load(file, {"A": "x"})


def test_tiers_in_the_file_replace_the_default_ones(folder: Folder) -> None:
    config = folder.load(
        "models:\n  best:\n    engine: anthropic\n    model: claude-opus-5-5\n    input_usd_per_mtok: 4\n    output_usd_per_mtok: 20\n"
    )
    assert config.models == {
        "best": Tier("best", "anthropic", "claude-opus-5-5", 4_000_000, 20_000_000, cache_write_price=5_000_000, cache_read_price=400_000)
    }


@pytest.mark.parametrize(
    ("written", "micro_usd"), [("0", 0), ("0.10", 100_000), ("0.000001", 1), ("123.456789", 123_456_789), ("2.675", 2_675_000)]
)
def test_prices_are_exact(folder: Folder, written: str, micro_usd: int) -> None:
    prices = ", ".join(f"{kind}_usd_per_mtok: {written}" for kind in ("output", "cache_read", "cache_write"))
    tier = folder.load(f"models: {{t: {{engine: anthropic, model: m, input_usd_per_mtok: 1, {prices}}}}}\n").models["t"]
    assert (tier.output_price, tier.cache_read_price, tier.cache_write_price) == (micro_usd,) * 3


def test_plans_in_the_file_replace_the_default_ones_in_their_order(folder: Folder) -> None:
    config = folder.load("plans:\n  z: {messages: 0, bots: 0}\n  a: {version: 3, messages: 5, bots: 1, rest_api: true, webhooks: false}\n")
    assert list(config.plans.values()) == [Plan("z", 1, 0, 0), Plan("a", 3, 5, 1, webhooks=False, rest_api=True)]


@pytest.mark.parametrize("text", ["", "engines: {anthropic: {}}\n", 'engines: {anthropic: {api_key: "${ANTHROPIC_API_KEY}"}}\n'])
def test_the_key_comes_from_its_variable_unless_told_otherwise(folder: Folder, text: str) -> None:
    assert folder.load(text, {"ANTHROPIC_API_KEY": SECRET}).anthropic.api_key == Secret(SECRET)
    assert folder.load(text, {"ANTHROPIC_API_KEY": ""}).anthropic.api_key is None
    assert folder.load(text, {}).anthropic.api_key is None
    assert load(None, {"ANTHROPIC_API_KEY": SECRET}).anthropic.api_key == Secret(SECRET)


@pytest.mark.parametrize("value", ["null", "", '""', '"${MY_KEY}"', '"prefix-${MY_KEY}"'])
def test_a_secret_may_be_absent(folder: Folder, value: str) -> None:
    assert folder.load(f"engines:\n  anthropic:\n    api_key: {value}\n", {"ANTHROPIC_API_KEY": SECRET}).anthropic.api_key is None


def test_a_secret_may_be_in_a_file(folder: Folder) -> None:
    (folder.path / "key").write_text(f"\n {SECRET}\r\n")
    environ = {"ANTHROPIC_API_KEY": "another"}
    for text in ("api_key_file: key", 'api_key_file: "${WHERE}/key", api_key: null'):
        config = folder.load(f"engines: {{anthropic: {{{text}}}}}\n", {**environ, "WHERE": str(folder.path)})
        assert config.anthropic.api_key == Secret(SECRET)
    assert folder.load("engines: {anthropic: {api_key_file: null}}\n", environ).anthropic.api_key == Secret("another")


@pytest.mark.parametrize("content", [None, b"", b" \n", b"two words", b"\xff\xfe"])
def test_a_file_without_a_secret_is_refused(folder: Folder, content: bytes | None) -> None:
    if content is not None:
        (folder.path / "key").write_bytes(content)
    fault = "in the file: expected a key of visible ASCII characters without spaces"
    fault = fault if content is not None else "the file cannot be read: no such file or directory"
    assert folder.fault("engines: {anthropic: {api_key_file: key}}\n") == f"1:23: engines.anthropic.api_key_file: {fault}"


def test_the_master_key_comes_from_the_environment_or_a_file_or_is_not_given(folder: Folder) -> None:
    key = "0123456789abcdefABCDEF" + "7" * 42
    given = {"CHATSVC_MASTER_KEY": key}
    assert folder.load("").given_master_key is None
    assert folder.load("", given).given_master_key == load(None, given).given_master_key == bytes.fromhex(key)
    assert folder.load("master_key: null\n", given).given_master_key is None
    (folder.path / "key").write_text(f"{key}\n")
    assert folder.load("master_key_file: key\n").given_master_key == bytes.fromhex(key)


@pytest.mark.parametrize("key", ["7" * 63, "7" * 65, "7" * 63 + "g", "0x" + "7" * 62, "٣" * 64, " " * 64])
def test_a_master_key_that_is_none_is_refused_and_not_shown(folder: Folder, key: str) -> None:
    expected = "expected a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them"
    fault = folder.fault("", {"CHATSVC_MASTER_KEY": key})
    assert fault == f"master_key: {expected} (it comes from the environment: CHATSVC_MASTER_KEY)"
    (folder.path / "key").write_text(key)
    assert folder.fault("master_key_file: key\n") == f"1:1: master_key_file: in the file: {expected}"


@pytest.mark.parametrize("key", ["two words", "ğ", "line\nbreak", "tab\t", "nul\0"])
def test_a_key_that_cannot_stand_in_a_header_is_refused(folder: Folder, key: str) -> None:
    fault = folder.fault("", {"ANTHROPIC_API_KEY": key})
    expected = "engines.anthropic.api_key: expected a key of visible ASCII characters without spaces"
    assert fault == f"{expected} (it comes from the environment: ANTHROPIC_API_KEY)"
    with pytest.raises(ConfigError, match=expected):
        load(None, {"ANTHROPIC_API_KEY": key})


def test_a_secret_shows_itself_to_nobody(folder: Folder) -> None:
    secret = Secret(SECRET)
    config = folder.load(f"engines: {{anthropic: {{api_key: {SECRET}}}}}\n")
    assert config.anthropic.api_key is not None
    assert config.anthropic.api_key.reveal() == SECRET
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r:>99}", repr([secret]), repr(config), str(config.anthropic)):
        assert SECRET not in shown
        assert "***" in shown
    assert bool(secret)
    assert (secret == Secret(SECRET), secret == Secret("x"), secret == SECRET) == (True, False, False)
    assert {secret, Secret(SECRET)} == {secret}
    assert not hasattr(secret, "__dict__")
    with pytest.raises(ValueError, match=r"^a secret is not empty$"):
        Secret("")


@pytest.mark.usefixtures("each_parser")
@pytest.mark.parametrize("text", [text for (text,) in rows("unit/config_secrets")])
def test_no_fault_shows_a_value(folder: Folder, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        folder.load(text.replace("S", SECRET))
    error = raised.value
    assert SECRET not in str(error) + repr(error) + repr(error.faults)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


def test_reading_the_defaults_imports_nothing_heavy() -> None:
    heavy = ("yaml", "asyncio", "cryptography", "aiohttp", "logging", "decimal", "click")
    code = f"import sys; from chatsvc.config import load; load(None, {{}}); print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY, env={"PATH": os.defpath}
    )
    assert done.stdout == "[]\n"


def test_the_teams_group_has_a_token_and_a_number(folder: Folder) -> None:
    token = "123456:abc-DEF_1"
    settings = folder.load(f"notices: {{telegram: {{token: '{token}', chat_id: -1001}}}}\n")
    assert settings.notices.team is not None
    assert (settings.notices.team.token, settings.notices.team.chat_id) == (Secret(token), -1001)
    assert settings.path_holds_secrets
    assert token not in repr(settings)
    (folder.path / "token").write_text(f"{token}\n")
    from_file = folder.load("notices: {telegram: {token_file: token, chat_id: -1001}}\n")
    assert (from_file.notices, from_file.path_holds_secrets) == (settings.notices, False)
    assert folder.load("notices: {telegram: {token: null, chat_id: null}}\n").notices.team is None
    unset = folder.load('notices: {telegram: {token: "${TEAM_TOKEN}", chat_id: -1001}}\n')
    assert unset.notices.team == TeamNotices(None, -1001)
    assert as_document(unset)["notices"]["telegram"] == {"token": None, "chat_id": -1001}


@pytest.mark.parametrize("platform", ["{platform: bedrock, region: r}", "{platform: vertex, region: r, project: p}"])
def test_the_key_of_anthropic_is_not_sent_to_a_platform(folder: Folder, platform: str) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-ant", "BEDROCK_KEY": "key-of-aws"}
    assert folder.load(f"engines: {{anthropic: {platform}}}\n", environ).anthropic.api_key is None
    text = 'engines: {anthropic: {platform: bedrock, region: r, api_key: "${BEDROCK_KEY}"}}\n'
    assert folder.load(text, environ).anthropic.api_key == Secret("key-of-aws")


PASSWORD = "p4ss word!"


def read(folder: Path, text: str, **environ: str) -> Smtp | None:
    path = folder / "config.yaml"
    path.write_text(f"notices:\n  smtp: {text}\n")
    path.chmod(0o600)
    return load(path, environ).notices.smtp


@pytest.mark.parametrize(("security", "port"), [("tls", 465), ("starttls", 587), ("none", 25)])
@pytest.mark.parametrize(
    ("text", "name"),
    [("Desk <desk@host>", "Desk"), ('"Müşteri, Destek" <desk@host>', "Müşteri, Destek"), ("<desk@host>", ""), ("desk@host", "")],
)
def test_the_port_follows_from_the_encryption_and_the_sender_may_have_a_name(
    tmp_path: Path, security: str, port: int, text: str, name: str
) -> None:
    smtp = read(tmp_path, f"{{host: Mail.example.com, from: '{text}', security: {security}}}")
    assert smtp == Smtp("mail.example.com", port, None, None, name, "desk@host", security, None)


def test_the_password_comes_from_the_environment_or_a_file_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text(f"{PASSWORD}\n")
    (tmp_path / "pw").chmod(0o600)
    for text in ("password: '${SMTP}'", "password_file: pw", "password: '" + PASSWORD + "'"):
        settings = read(tmp_path, f"{{host: h, from: a@b, username: desk, {text}, ca_file: ca.pem}}", SMTP=PASSWORD)
        assert settings
        assert (settings.username, settings.password, settings.ca_file) == ("desk", Secret(PASSWORD), tmp_path / "ca.pem")
        config = load(tmp_path / "config.yaml", {"SMTP": PASSWORD})
        assert PASSWORD not in f"{config}{as_document(config)}"
        assert as_document(config)["notices"]["smtp"]["password"] == "***"
        assert config.path_holds_secrets == (PASSWORD in text)
    absent = read(tmp_path, "{host: h, from: a@b, username: desk, password: '${SMTP}'}")
    assert absent
    assert absent.password is None
