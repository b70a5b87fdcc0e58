"""Commands that look at an installation and change nothing: config show, healthcheck, licenses."""

import json
import re
import socket
import tempfile
import threading
from pathlib import Path

import pytest
import yaml

from chatsvc import config as configuration
from chatsvc.config.shown import as_document
from tests.cli.support import Site, run
from tests.postgres import free_port

FULL = """
limits: {requests_per_minute: 7}
engines: {anthropic: {api_key: sk-nobody-may-see-this, base_url: "http://10.0.0.7:11434", timeout_s: 2.5}}
models: {own: {engine: anthropic, model: llama, input_usd_per_mtok: 0.25}, offline: {engine: knowledge}}
plans: {one: {messages: 5, bots: 1, webhooks: true, rest_api: true}}
webhooks: {allowed_networks: [10.1.0.0/16, "fd00::/8"], timeout_s: 3}
backup: {every: 36h, keep: 3}
retention: {conversations_days: 400, usage_days: 90}
"""


def test_the_configuration_shown_is_a_file_that_says_the_same(tmp_path: Path) -> None:
    site = Site(tmp_path, FULL)
    site.config.write_text(site.config.read_text().replace(":0", ":8123"))
    shown = site.run("config", "show")
    assert (shown.status, shown.err) == (0, "")
    again = tmp_path / "again.yaml"
    again.write_text(shown.out.replace("'***'", "sk-nobody-may-see-this"))
    first, other = configuration.load(site.config, {}), configuration.load(again, {})
    assert [getattr(first, name) for name in vars(first) if name != "path"] == [
        getattr(other, name) for name in vars(other) if name != "path"
    ]


@pytest.mark.parametrize(
    "server",
    [
        "{listen: ':443', acme: {domains: [a.example, b.example], email: x@a.example}, http_listen: '[::1]:80', hsts_s: 0}",
        "{listen: 'unix:/run/s', public_url: 'https://a.example', trusted_proxies: [10.0.0.1, 'fd00::/8']}",
    ],
)
def test_where_the_service_listens_is_shown_as_it_is_written(tmp_path: Path, server: str) -> None:
    file, again = tmp_path / "one.yaml", tmp_path / "again.yaml"
    file.write_text(f"server: {server}\n")
    again.write_text(yaml.safe_dump(as_document(configuration.load(file, {}))))
    assert configuration.load(file, {}).server == configuration.load(again, {}).server


def test_the_configuration_is_shown_as_one_json_value_without_secrets(tmp_path: Path) -> None:
    site = Site(tmp_path, FULL)
    shown = site.json("config", "show")
    assert shown["config"] == str(site.config)
    assert shown["engines"]["anthropic"]["api_key"] == "***"
    limits = {"requests_per_minute": 7, "max_in_flight": 512, "connections": 1000, "connections_per_address": 100}
    limits |= {"web_per_minute": 20, "web_daily": 1000}
    assert shown["limits"] == limits
    assert "nobody-may-see" not in json.dumps(shown) + site.run("config", "show").out


def test_without_a_file_the_defaults_are_shown(tmp_path: Path) -> None:
    shown = run("config", "show", cwd=tmp_path)
    assert yaml.safe_load(shown.out)["server"]["listen"] == "127.0.0.1:8080"
    assert shown.out.startswith("# no file")
    assert not list(tmp_path.iterdir())


def _with_port(folder: Path) -> Site:
    site = Site(folder)
    site.config.write_text(site.config.read_text().replace(":0", f":{free_port()}"))
    return site


def test_a_service_that_runs_is_healthy_and_one_that_does_not_is_told_as_such(tmp_path: Path) -> None:
    assert "port 0" in Site(tmp_path).refused("healthcheck")
    site = _with_port(tmp_path)
    assert "unreachable" in site.refused_with("healthcheck")["status"]
    with site.serve():
        assert site.json("healthcheck") == {"status": "ready"}


def test_a_service_on_a_socket_is_asked_there(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/s"
        site.config.write_text(
            f"server: {{listen: '{address}', public_url: 'https://bots.example.com'}}\nmodels: {{offline: {{engine: knowledge}}}}\n"
        )
        assert site.refused_with("healthcheck") == {"status": "unreachable (No such file or directory)"}
        with site.serve() as serving:
            assert (serving.url, serving.base_url) == (address, "https://bots.example.com/api/v2")
            assert site.json("healthcheck") == {"status": "ready"}


def test_what_answers_in_the_place_of_the_service_is_not_taken_for_it(tmp_path: Path) -> None:
    site = _with_port(tmp_path)
    port = int(re.findall(r":(\d+)", site.config.read_text())[0])
    with socket.create_server(("127.0.0.1", port)) as other:
        other.settimeout(10)

        def answer() -> None:
            peer, _ = other.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = threading.Thread(target=answer)
        thread.start()
        assert site.refused_with("healthcheck") == {"status": "something else answers there"}
        thread.join()


def test_the_licences_are_listed_with_their_texts(tmp_path: Path) -> None:
    listed = json.loads(run("licenses", "--json", cwd=tmp_path).out)
    assert all(package["version"] and package["license"] for package in listed)
    # cobble is published without a licence file; its metadata names the licence.
    assert {package["name"] for package in listed if len(package["text"]) < 200} <= {"cobble"}
    assert "Permission is hereby granted, free of charge" in run("licenses", "--full", cwd=tmp_path).out
    assert len(run("licenses", cwd=tmp_path).out.splitlines()) == len(listed) + 1
