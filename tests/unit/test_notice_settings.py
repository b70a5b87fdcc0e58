"""The settings of mail: defaults, secrets, and faults with their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatsvc.config import ConfigError, Secret, load
from chatsvc.config.model import Smtp
from chatsvc.config.shown import as_document

PASSWORD = "p4ss word!"


def read(folder: Path, text: str, **environ: str) -> Smtp | None:
    path = folder / "config.yaml"
    path.write_text(f"notices:\n  smtp: {text}\n")
    path.chmod(0o600)
    return load(path, environ).notices.smtp


@pytest.mark.parametrize(("security", "port"), [("tls", 465), ("starttls", 587), ("none", 25)])
def test_the_port_follows_from_the_encryption(tmp_path: Path, security: str, port: int) -> None:
    found = read(tmp_path, f"{{host: Mail.example.com, from: desk@example.com, security: {security}}}")
    assert found == Smtp("mail.example.com", port, None, None, "", "desk@example.com", security, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [("Desk <desk@host>", "Desk"), ('"Müşteri, Destek" <desk@host>', "Müşteri, Destek"), ("<desk@host>", ""), ("desk@host", "")],
)
def test_the_sender_may_have_a_name(tmp_path: Path, text: str, name: str) -> None:
    found = read(tmp_path, f"{{host: '::1', port: 2525, from: '{text}'}}")
    assert found
    assert (found.sender_name, found.sender, found.host, found.port) == (name, "desk@host", "::1", 2525)


def test_the_password_comes_from_the_environment_or_a_file_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text(f"{PASSWORD}\n")
    (tmp_path / "pw").chmod(0o600)
    for text in ("password: '${SMTP}'", "password_file: pw", "password: '" + PASSWORD + "'"):
        found = read(tmp_path, f"{{host: h, from: a@b, username: desk, {text}, ca_file: ca.pem}}", SMTP=PASSWORD)
        assert found
        assert (found.username, found.password, found.ca_file) == ("desk", Secret(PASSWORD), tmp_path / "ca.pem")
        config = load(tmp_path / "config.yaml", {"SMTP": PASSWORD})
        assert PASSWORD not in f"{config}{as_document(config)}"
        assert as_document(config)["notices"]["smtp"]["password"] == "***"
        assert config.path_holds_secrets == (PASSWORD in text)
    absent = read(tmp_path, "{host: h, from: a@b, username: desk, password: '${SMTP}'}")
    assert absent
    assert absent.password is None


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("{host: h}", "2:10: notices.smtp.host: expected from beside it: the sender's address, such as Support <support@example.com>"),
        ("{from: a@b}", "2:10: notices.smtp.from: expected host beside it: the server that takes the mails"),
        ("{host: h, from: a@b, username: u}", "2:30: notices.smtp.username: expected password or password_file beside it"),
        ("{host: h, from: a@b, password: u}", "2:30: notices.smtp.password: expected username beside it"),
        ("{host: 'a b', from: a@b}", "2:16: notices.smtp.host: expected the name or the address of a host, without a port"),
        ("{host: 'h:25', from: a@b}", "2:16: notices.smtp.host: expected the name or the address of a host, without a port"),
        ("{host: h, from: a@b, security: ssl}", "2:40: notices.smtp.security: expected tls or starttls or none"),
        ("{host: h, from: a@b, port: 0}", "2:36: notices.smtp.port: expected a whole number from 1 to 65535, in decimal digits alone"),
        (
            '{host: h, from: "a@b\\r\\nBcc: eve@c"}',
            "2:25: notices.smtp.from: expected an e-mail address, such as support@example.com or Support <support@example.com>",
        ),
        (
            '{host: h, from: "A\\u000aB <a@b>"}',
            "2:25: notices.smtp.from: expected an e-mail address, such as support@example.com or Support <support@example.com>",
        ),
        ('{host: h, from: a@b, username: "a\\0b", password: p}', "2:40: notices.smtp.username: expected printable ASCII characters"),
        ("5", "2:9: notices.smtp: expected settings (host, port, username, password, password_file, from, security, ca_file)"),
        ("{hots: h}", "2:10: notices.smtp: unknown setting hots: did you mean host?"),
    ],
)
def test_faults_have_a_place(tmp_path: Path, text: str, faults: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    assert str(raised.value) == f"{tmp_path / 'config.yaml'}:{faults}"
