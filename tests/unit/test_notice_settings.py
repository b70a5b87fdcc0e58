"""The settings of mail: defaults, secrets, and faults with their places."""

from pathlib import Path

import pytest

from chatsvc.config import load
from chatsvc.config.model import Smtp
from chatsvc.config.shown import as_document
from chatsvc.config.values import Secret

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
