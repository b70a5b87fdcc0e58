"""`chatsvc serve` and the commands beside it: in force at once, one owner of the folder, nothing secret told."""

import json
import os
import resource
import signal
import socket
import ssl
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from chatsvc.control import client
from chatsvc.tls.certificates import self_signed
from tests.cli.support import CHATSVC, PATIENCE_S, Response, Serving, Site, ask, environment, one_line, run, start, together
from tests.tables import rows

FAQ = "language: en\n\n## When are you open?\nalt: opening hours\nalt: what time do you open\n\nMonday to Friday from 9 to 6.\n"


def test_what_is_said_over_http_is_shown_by_the_commands_with_the_service_and_without(fresh: Site) -> None:
    account = fresh.account()
    bot, key = fresh.bot(account, language="en"), fresh.key(account)
    faq = fresh.folder / "faq.md"
    faq.write_text(FAQ)
    with fresh.serve() as serving:
        fresh.json("knowledge", "add", bot, faq)
        # A question that is repeated gets another reply.
        for user, asked in (("first", "When are you open?"), ("second", "When are you open?"), ("first", "thanks")):
            body = {"chatbot_id": bot, "message": asked, "user_id": user}
            answer = serving.ask(key, "POST", "/messages", body)
            begins = "You're welcome!" if asked == "thanks" else "Monday to Friday from 9 to 6."
            assert (answer.status, answer.json["data"]["reply"].startswith(begins)) == (200, True)
        listed = serving.ask(key, "GET", "/conversations").json["data"]
        detail = serving.ask(key, "GET", f"/conversations/{listed[0]['id']}").json["data"]
        analytics = serving.ask(key, "GET", "/analytics?days=7").json["data"]
        beside = look(fresh, account, bot, listed[0]["id"])
        assert serving.end() == 0
    alone = look(fresh, account, bot, listed[0]["id"])
    assert alone == beside
    conversations, shown, usage, accounts, bots = alone
    of_list = listed[0].keys() - {"message_count"}  # the commands add the hand-off
    assert [{name: conversation[name] for name in of_list} for conversation in conversations] == [
        {name: conversation[name] for name in of_list} for conversation in listed
    ]
    assert [conversation["message_count"] for conversation in conversations] == [4, 2]
    of_interface = ("id", "role", "content", "created_at")  # the commands add which entries a reply came from
    messages = [{name: message[name] for name in of_interface} for message in shown["messages"]]
    assert {**{name: shown[name] for name in detail}, "messages": messages} == detail
    assert [(m["role"], m["content"]) for m in shown["messages"]][:3] == [
        ("user", "When are you open?"),
        ("assistant", "Monday to Friday from 9 to 6."),
        ("user", "thanks"),
    ]
    assert usage["account"] == analytics["account"]
    assert usage["usage"]["total_messages"] == analytics["usage"]["total_messages"] == 3
    assert accounts["messages_used"] == bots["messages_used"] == 3
    assert len(fresh.json("conversation", "list", "--limit", "1")) == 1
    newest = fresh.json("conversation", "show", listed[0]["id"], "--message-limit", "1")
    assert (len(newest["messages"]), newest["messages_truncated"], newest["message_count"]) == (1, True, 4)
    output = fresh.run("conversation", "show", listed[0]["id"])
    assert "When are you open?\n" in output.out


def look(site: Site, account: str, bot: str, conversation: str) -> list[Any]:
    """Output of all commands that show usage. Its window moves with the clock."""
    usage = site.json("usage", account, "--days", "7")
    usage["usage"].pop("to")
    return [
        site.json("conversation", "list", "--bot", bot),
        site.json("conversation", "show", conversation),
        usage,
        site.json("account", "show", account),
        site.json("bot", "show", bot),
    ]


def test_every_change_is_in_force_from_the_very_next_request_on(fresh: Site) -> None:
    account = fresh.account()
    bot, key = fresh.bot(account), fresh.key(account)
    message = {"chatbot_id": bot, "message": "Merhaba"}

    def answered(method: str = "GET", path: str = "/chatbots", body: object = None) -> tuple[int, str | None]:
        answer = serving.ask(key, method, path, body)
        return answer.status, answer.json.get("error")

    with fresh.serve() as serving:
        assert answered() == (200, None)
        fresh.json("account", "set", account, "--plan", "business")
        assert answered() == (403, "plan_upgrade_required")
        fresh.json("account", "set", account, "--plan", "none")
        assert answered() == (403, "plan_required")
        fresh.json("account", "set", account, "--plan", "enterprise", "--messages-limit", "0")
        assert answered("POST", "/messages", message) == (402, "message_quota_exceeded")
        fresh.json("account", "set", account, "--credits", "5", "--status", "paused")
        assert answered("POST", "/messages", message) == (402, "message_quota_exceeded")
        fresh.json("account", "set", account, "--status", "trialing")
        fresh.json("bot", "deactivate", bot)
        assert answered("POST", "/messages", message) == (409, "chatbot_inactive")
        fresh.json("bot", "activate", bot)
        assert answered("POST", "/messages", message) in {(200, None), (502, "assistant_unavailable")}
        second = fresh.bot(account)
        assert answered("GET", f"/chatbots/{second}") == (200, None)
        fresh.json("bot", "set", second, "--name", "Renamed")
        assert serving.ask(key, "GET", f"/chatbots/{second}").json["data"]["name"] == "Renamed"
        assert [b["name"] for b in serving.ask(key, "GET", "/chatbots").json["data"]] == ["Renamed", "Desk"]
        fresh.json("account", "delete", account, "--yes")
        assert answered() == (401, "account_not_found")


def test_a_revoked_key_is_refused_from_the_very_next_request_on(fresh: Site) -> None:
    account = fresh.account()
    keys = [fresh.json("key", "create", "--account", account) for _ in range(3)]
    with fresh.serve() as serving:
        for key in keys:
            stop = threading.Event()
            # Requests before, during and after the revocation: none that began after it may pass.
            answers: list[tuple[float, Response]] = []
            busy = threading.Thread(target=keep_asking, args=(serving, key["key"], stop, answers))
            busy.start()
            fresh.json("key", "revoke", key["id"])
            revoked_at = time.monotonic()
            while busy.is_alive() and not any(began > revoked_at for began, _ in answers):
                time.sleep(0.05)
            stop.set()
            busy.join()
            later = [answer for began, answer in answers if began > revoked_at]
            assert later
            assert {(answer.status, answer.json["error"]) for answer in later} == {(401, "invalid_api_key")}
        assert [key["status"] for key in fresh.json("key", "list")] == ["revoked"] * 3
        assert all(key["last_used_at"] for key in fresh.json("key", "list"))
        serving.end()
        with fresh.serve() as again:
            assert again.ask(keys[0]["key"], "GET", "/chatbots").json["error"] == "invalid_api_key"


def keep_asking(serving: Serving, key: str, stop: threading.Event, answers: list[tuple[float, Response]]) -> None:
    while not stop.is_set():
        began = time.monotonic()
        answers.append((began, serving.ask(key, "GET", "/chatbots")))


def test_of_two_services_that_start_at_once_on_a_new_folder_one_serves_and_the_other_says_why_not(fresh: Site) -> None:
    logs = [fresh.folder / f"{number}.log" for number in range(2)]
    starting = [Serving(fresh.config, log, fresh.folder, ready=False, forked=True) for log in logs]
    lines = [service.process.stdout.readline() for service in starting if service.process.stdout]  # empty where it has ended
    assert sorted(map(bool, lines)) == [False, True]
    refused = lines.index(b"")
    assert starting[refused].process.wait(PATIENCE_S) == 1
    assert "stop it first, or set data_dir to another folder" in logs[refused].read_text()
    assert starting[1 - refused].end() == 0
    for service in starting:
        assert service.process.stdout is not None
        service.process.stdout.close()
    assert "Traceback" not in logs[0].read_text() + logs[1].read_text()


def test_a_second_service_on_the_folder_is_refused_and_the_first_goes_on(fresh: Site) -> None:
    account = fresh.account()
    key = fresh.key(account)
    with fresh.serve() as serving:
        assert fresh.refused("serve") == f"a chatsvc is running on {fresh.data} already: stop it first, or set data_dir to another folder"
        assert serving.ask(key, "GET", "/chatbots").status == 200
        assert fresh.json("account", "show", account)["id"] == account
        assert serving.end() == 0
    assert sorted(file.name for file in fresh.data.iterdir()) == ["chatsvc.db", "lock", "master.key"]


def test_commands_at_once_without_a_service_all_succeed_on_a_folder_that_is_not_there_yet(fresh: Site) -> None:
    names = [f"account {number}" for number in range(8)]
    done = together([("-c", fresh.config, "account", "create", name, "--json") for name in names], fresh.folder)
    assert [(run.status, run.err) for run in done] == [(0, "")] * 8
    assert sorted(account["name"] for account in fresh.json("account", "list")) == names
    assert sorted(file.name for file in fresh.data.iterdir()) == ["chatsvc.db", "lock", "master.key"]


def test_commands_while_a_service_starts_and_stops_succeed_and_are_done_once(fresh: Site) -> None:
    account = fresh.account()
    wave = [("-c", fresh.config, "key", "create", "--account", account, "--json")] * 4
    with fresh.serve(ready=False) as serving:
        starting = together(wave, fresh.folder)
        serving.wait_until_ready()
        killer = threading.Timer(0.12, serving.process.send_signal, [signal.SIGTERM])
        killer.start()
        stopping = together(wave, fresh.folder)
        killer.join()
        assert serving.wait() == 0
    assert [(run.status, run.err) for run in (*starting, *stopping)] == [(0, "")] * 8
    assert len(fresh.json("key", "list")) == 8


def test_a_data_folder_with_a_path_longer_than_a_sockets_may_be(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20) / ("longer" * 20)
    folder.mkdir(parents=True)
    site = Site(folder)
    assert len(str(site.data)) > 200
    account = site.account()
    with site.serve() as serving:
        assert serving.ask(site.key(account), "GET", "/chatbots").status == 200
        assert (site.data / "control.sock").exists()
        assert serving.end() == 0
    assert site.json("account", "list")[0]["id"] == account


def test_a_socket_that_a_killed_service_left_behind_is_in_nobodys_way(fresh: Site) -> None:
    account = fresh.account()
    with fresh.serve() as serving:
        serving.end(signal.SIGKILL)
    assert (fresh.data / "control.sock").exists()
    assert fresh.json("account", "show", account)["id"] == account
    with fresh.serve() as serving:
        assert fresh.json("account", "show", account)["id"] == account
        assert serving.end() == 0
    assert not (fresh.data / "control.sock").exists()


def test_nonsense_on_the_control_socket_is_refused_and_the_service_goes_on_and_ends_in_time(fresh: Site) -> None:
    account = fresh.account()
    bot = fresh.bot(account)
    with fresh.serve() as serving:
        nonsense = [
            ("account.list", b"[" * 100_000, "", "request_unreadable"),
            ("account.list", b"", "", "request_unreadable"),
            ("account.list", b"hello", "gzip", "request_unreadable"),
            ("account.create", b'{"name": "\xed\xa0\x80"}', "", "argument_not_unicode"),
        ]
        for operation, text, code in rows("cli/nonsense"):
            nonsense.append((operation, text.replace("{bot}", bot).replace("{account}", account).encode(), "", code))
        for operation, raw, packing, code in nonsense:
            service = client.connect(fresh.data)
            assert service is not None
            service.request("POST", f"/operations/{operation}", raw, {"Content-Encoding": packing} if packing else {})
            answer = service.getresponse()
            status = client.FAULTY if code in ("request_unreadable", "argument_not_unicode") else client.REFUSED
            assert (answer.status, json.loads(answer.read())["code"]) == (status, code), (operation, raw[:200])
            service.close()
        assert '"level": "error"' not in fresh.log.read_text()
        for head in (b"\xff" * 8, b"GET / nonsense with a secret"):
            with control(fresh) as foreign:
                foreign.sendall(head + b"\r\n\r\n")
                assert b" 400 " in foreign.recv(100)
        assert "a request on the control socket failed: Bad" in fresh.log.read_text()
        assert "secret" not in fresh.log.read_text()
        with control(fresh) as gone:
            gone.sendall(b"POST /operations/account.list HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
        with control(fresh) as looking:
            looking.shutdown(socket.SHUT_WR)
            assert looking.recv(100) == b""
        assert fresh.json("account", "show", account)["id"] == account
        with control(fresh) as hanging:
            hanging.sendall(b"POST /operations/account.list HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
            assert serving.end() == 0
    assert "Traceback" not in fresh.log.read_text()


def control(site: Site) -> socket.socket:
    """A connection to a service's control socket."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE_S)
    connection.connect(str(site.data / "control.sock"))
    return connection


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_told_in_logs_arguments_errors_or_files(fresh: Site, form: str) -> None:
    fresh.config.write_text(
        "server: {listen: 127.0.0.1:0}\n"
        f"log: {{format: {form}, access: true}}\n"
        'engines: {anthropic: {base_url: "http://127.0.0.1:9", api_key: sk-the-providers-key, timeout_s: 30}}\n'
        "models: {fast: {engine: anthropic, model: m}}\n"
    )
    account = fresh.account()
    bot, key = fresh.bot(account), fresh.key(account)
    with fresh.serve() as serving:
        answers = [serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "words of a visitor"})]
        assert (answers[0].status, answers[0].json["reason"]) == (502, "unreachable")
        answers += [
            serving.ask(key, "GET", f"/{key}"),
            serving.ask(key + "x", "GET", "/chatbots"),
            serving.ask(key[:-1], "GET", "/chatbots"),
        ]
        command_line = Path(f"/proc/{serving.process.pid}/cmdline").read_bytes()
        listed = fresh.run("key", "list", "--account", account)
        assert serving.end() == 0
    log = fresh.log.read_text()
    assert "unreachable" in log
    assert "POST /messages 502" in log
    if form == "json":
        lines = [json.loads(line) for line in log.splitlines()]
        assert all({"time", "level", "logger", "request_id", "message"} <= line.keys() for line in lines)
        accesses = [line for line in lines if line["logger"] == "chatsvc.access"]
        requests = [(line["method"], line["route"], line["status"], line["account"]) for line in accesses]
        assert {line["client"] for line in accesses} == {"127.0.0.1"}
        assert requests == [("POST", "/messages", 502, account), (None, "other", 404, account), *[("GET", "/chatbots", 401, None)] * 2]
    master_key = (fresh.data / "master.key").read_text().strip()
    for secret in (key, "sk-the-providers-key", master_key):
        assert secret not in log
        assert secret.encode() not in command_line
        assert secret not in listed.out + listed.err
        assert secret not in "".join(str(answer.json) for answer in answers if "path" not in answer.json)
        for file in fresh.data.iterdir():
            assert file.name == "master.key" or secret.encode() not in file.read_bytes()
    assert "words of a visitor" not in log


def test_what_a_command_prints_goes_nowhere_without_a_traceback(fresh: Site) -> None:
    fresh.account()

    def printed(stdout: int, *arguments: str) -> tuple[int, str]:
        command = [*CHATSVC, "-c", str(fresh.config), *arguments]
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, cwd=fresh.folder, env=environment(), check=False)
        os.close(stdout)
        return done.returncode, done.stderr.decode()

    for arguments in (("account", "list", "--json"), ("--help",)):
        read, write = os.pipe()
        os.close(read)
        assert printed(write, *arguments) == (1, "")
    status, err = printed(os.open("/dev/full", os.O_WRONLY), "account", "list")
    assert (status, "No space left on device" in one_line(err)) == (1, True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with cert.pem and key.pem for 127.0.0.1, another key, and an encrypted key."""
    folder = tmp_path_factory.mktemp("tls")
    for name in ("", "other-"):
        pem, key = self_signed(["127.0.0.1"], days=2)
        (folder / f"{name}cert.pem").write_bytes(pem)
        (folder / f"{name}key.pem").write_bytes(key)
    words = ["openssl", "ec", "-in", "key.pem", "-aes256", "-passout", "pass:secret", "-out", "locked-key.pem"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    return folder


def with_tls(site: Site, cert: Path, key: Path) -> None:
    site.config.write_text(
        f'server: {{listen: 127.0.0.1:0, tls: {{cert_file: "{cert}", key_file: "{key}"}}}}\nmodels: {{offline: {{engine: knowledge}}}}\n'
    )


def test_with_certificate_files_the_service_speaks_https_alone_and_refuses_a_host_that_is_no_name(fresh: Site, certificate: Path) -> None:
    with_tls(fresh, certificate / "cert.pem", certificate / "key.pem")
    key = fresh.key(fresh.account())
    trusting, hello = ssl.create_default_context(cafile=str(certificate / "cert.pem")), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        trusting.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="name.example").do_handshake()
    odd = hello.read().replace(b"name.example", b"\xff\x1b[31m.examp")
    with fresh.serve() as serving:
        assert serving.url.startswith("https://127.0.0.1:")
        assert serving.base_url.startswith("https://")
        with socket.create_connection(("127.0.0.1", int(serving.url.rpartition(":")[2])), timeout=PATIENCE_S) as connection:
            connection.sendall(odd)
            with suppress(ConnectionError):
                connection.recv(100)
        assert ask(serving.url, key, "GET", "/chatbots", tls=trusting).status == 200
        with pytest.raises((OSError, ValueError)):
            ask(serving.url, key, "GET", "/chatbots")
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(serving.url, key, "GET", "/chatbots", tls=ssl.create_default_context())
        assert fresh.json("account", "list")
        assert serving.end() == 0
    log = fresh.log.read_text()
    assert log.count("whose name is not ASCII") == 1
    assert "Traceback" not in log
    assert "31m" not in log


@pytest.mark.parametrize("key", ["other-key.pem", "locked-key.pem"])
def test_a_certificate_without_its_key_is_refused_in_one_line(fresh: Site, certificate: Path, key: str) -> None:
    with_tls(fresh, certificate / "cert.pem", certificate / key)
    message = fresh.refused("serve")
    assert str(certificate / "cert.pem") in message
    assert key in message


def test_the_demo_answers_a_real_message_once_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    env = environment(TMPDIR=str(tmp_path / "tmp"))
    done = run("demo", "--once", "--json", cwd=tmp_path / "here", env=env)
    assert done.status == 0, done
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["event"] for event in events] == ["starting", "bot", "reply", "reply", "reply", "webhook", "ready"]
    assert events[1]["entries"] > 10
    assert events[2]["reply"].strip()
    assert events[2]["session_id"] == "api:demo-visitor"
    assert events[5]["valid"] is True
    assert events[5]["body"]["event"] == "request.created"
    assert events[5]["body"]["data"]["visitor_email"] == "deniz@example.com"
    assert events[6]["key"] in events[6]["curl"]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert list((tmp_path / "here").iterdir()) == []


def test_the_demo_runs_on_with_a_key_that_works_until_it_is_told_to_stop(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as stream:
        demo = start("demo", "--json", cwd=tmp_path, env=environment(TMPDIR=str(tmp_path)), log=stream)
    # So that nothing below can wait for ever.
    watch = threading.Timer(2 * PATIENCE_S, demo.kill)
    watch.start()
    assert demo.stdout is not None
    events: dict[str, Any] = {}
    for line in demo.stdout:
        event = json.loads(line)
        events[event["event"]] = event
        if event["event"] == "running":
            url, key = events["ready"]["base_url"], events["ready"]["key"]
            body = {"chatbot_id": events["bot"]["chatbot_id"], "message": "Do you rent electric bikes?"}
            assert ask(url, key, "POST", "/messages", body).status == 200
            for name, words in (("dashboard", b"demo@example.com"), ("chat", b'role="log"')):
                with urlopen(events["ready"][name], timeout=PATIENCE_S) as page:  # noqa: S310  # its own address
                    assert words in page.read()
            listed = ask(url, key, "GET", "/conversations").json["data"]
            assert len(listed) > 10
            assert [conversation["channel"] for conversation in listed].count("web") == 1
            assert len({conversation["last_message_at"][:10] for conversation in listed}) > 5
            demo.send_signal(signal.SIGINT)
    status = demo.wait(PATIENCE_S)
    watch.cancel()
    demo.stdout.close()
    assert list(events) == ["starting", "bot", "reply", "webhook", "ready", "running"]
    assert (status, "Traceback" in log.read_text()) == (0, False)
    assert list(tmp_path.iterdir()) == [log]


def test_the_service_may_hold_more_files_than_a_shell_grants(fresh: Site) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with fresh.serve(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))) as serving:
        limit = resource.prlimit(serving.process.pid, resource.RLIMIT_NOFILE)
    assert limit == (min(most, 65_536), most)
