"""Forbidden webhook addresses are refused when set and when dialled, others accepted."""

# ruff: noqa: S104  # the addresses are only said, nothing is bound

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from chatsvc.domain.addresses import Networks, Own, TargetRefused, check_address
from chatsvc.domain.targets import MAX_CHARS, check_url
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.resolver import MachineAddresses, SystemResolver, own_addresses
from chatsvc.outbound.webhook import WebhookSender

OWN = Own(
    hosts=frozenset({"chat.example.org"}),
    addresses=frozenset({ip_address("93.184.215.20"), ip_address("10.9.8.7")}),
    listeners=frozenset({(ip_address("0.0.0.0"), 8080), (ip_address("127.0.0.1"), 8081)}),
)
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: no connection comes to be
LOOPBACK: Networks = (ip_network("127.0.0.0/8"),)
HOUSE: Networks = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
EVERYWHERE: Networks = (ip_network("0.0.0.0/0"), ip_network("::/0"))
ROWS = [line.split("\t") for line in Path(__file__).with_name("targets.tsv").read_text("utf-8").splitlines() if line[0] != "#"]


def rows(kind: str) -> list[list[str]]:
    return [row for name, *row in ROWS if name == kind]


def cases(kind: str) -> list[tuple[str, str]]:
    """Return addresses of a kind, unescaped, each with what its name resolves to or with a text about it."""
    return [(url.encode("latin-1").decode("unicode_escape"), "" if text == "-" else text) for url, text in rows(kind)]


BAD = [
    *cases("bad"),
    ("https://example" + "a" * 1000 + ".com/hook", "93.184.215.14"),
    ("https://example.com/" + "a" * 2030, "93.184.215.14"),
    ("https://" + "a." * 126 + "com/hook", "93.184.215.14"),
]
GOOD = cases("good")
NEVER = [(first, last) for first, last, _ in rows("never")]
REFUSED = [*NEVER, *((first, last) for first, last, _ in rows("special")), ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")]


class Names:
    """A resolver that gives scripted answers, one after the other, the last one for ever."""

    def __init__(self, script: str) -> None:
        self._answers = script.split("|")
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer == "NXDOMAIN":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if answer == "TIMEOUT":
            await asyncio.sleep(3600)
        return [] if answer in ("", "EMPTY") else answer.split(",")


@pytest.fixture(autouse=True)
def short_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatsvc.outbound.resolver.LOOKUP_S", 0.2)


async def dialled(url: str, names: Names, allowed: Networks = ()) -> tuple[str | None, list[str]]:
    """Make one delivery; return its error, and the addresses that it came to dial. Each gives no connection."""
    addresses: list[str] = []

    async def refuse(_: socket.socket, address: tuple[str, int]) -> None:
        addresses.append(address[0])
        raise ConnectionRefusedError

    sender = WebhookSender(Guard(OWN, allowed, names), Egress(), timeout_s=30, tls=TLS)
    try:
        with patch.object(asyncio.get_running_loop(), "sock_connect", refuse):
            return (await sender.post(url, b"{}", {})).error, addresses
    finally:
        await sender.close()


async def refused_when_set(url: str, names: Names, allowed: Networks = ()) -> bool:
    """Return False if the address passes without a look-up, and only its name is bad. Fails if it can be set."""
    with pytest.raises(TargetRefused) as caught:
        await Guard(OWN, allowed, names).check(url, Egress())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400
    return not accepted(url, allowed)


async def test_a_bad_target_is_refused_when_it_is_set_and_never_dialled(subtests: pytest.Subtests) -> None:
    for url, answers in BAD:
        with subtests.test(ascii(url)):
            before, _, later = answers.rpartition("|")
            names = Names(later or "93.184.215.14")
            if await refused_when_set(url, names):
                assert names.asked == []
                continue
            names = Names(answers)
            if before:  # it turns bad after it was set
                await Guard(OWN, (), names).check(url, Egress())
            error, addresses = await dialled(url, names)
            assert error in ("refused_address", "dns_failed", "timeout")
            assert addresses == []


async def test_a_good_target_is_accepted_and_dialled_where_it_was_checked(subtests: pytest.Subtests) -> None:
    for url, answers in GOOD:
        with subtests.test(ascii(url)):
            names = Names(answers)
            target = await Guard(OWN, (), names).check(url, Egress())
            error, addresses = await dialled(url, names)
            assert error == "connect_failed"
            assert set(addresses) == set([str(target.address)] if target.address else answers.rpartition("|")[2].split(","))
            assert len(names.asked) == (0 if target.address else 2)
            assert target.url.isascii()
            assert check_url(target.url, OWN, ()) == target


async def test_with_a_network_allowed_receivers_in_it_are_accepted_and_everything_else_stays_refused(subtests: pytest.Subtests) -> None:
    for url, answers in cases("inside good"):
        with subtests.test(ascii(url)):
            names = Names(answers)
            await Guard(OWN, LOOPBACK, names).check(url, Egress())
            assert (await dialled(url, names, LOOPBACK))[0] == "connect_failed"
    for url, answers in cases("inside bad"):
        with subtests.test(ascii(url)):
            assert await refused_when_set(url, Names(answers), LOOPBACK) or (await dialled(url, Names(answers), LOOPBACK))[1] == []


def test_a_target_has_one_spelling() -> None:
    for url, spelling in cases("spelling"):
        assert check_url(url, OWN, ()).url == spelling.replace("xn--iekiiib2c", "çiçekçi".encode("idna").decode())


def same_to_the_http_client(url: str, allowed: Networks = ()) -> bool:
    target = check_url(url, OWN, allowed)
    read = URL(target.url, encoded=True)
    return (read.user, read.password, read.raw_host, read.port, read.raw_path_qs) == (None, None, target.host, target.port, target.path)


def test_a_good_target_reads_the_same_to_the_http_client() -> None:
    assert [url for url, _ in GOOD if not same_to_the_http_client(url)] == []


@given(st.text(st.sampled_from("a0.xX:/@[]%#?\\- 1２。ıßـ\u00ad\u200d_ç8"), max_size=30))
def test_whatever_is_accepted_reads_the_same_to_the_http_client(rest: str) -> None:
    assert not accepted("https://" + rest, LOOPBACK) or same_to_the_http_client("https://" + rest, LOOPBACK)


def refused(address: str, allowed: Networks = (), port: int = 443) -> bool:
    try:
        check_address(ip_address(address), port, OWN, allowed)
    except TargetRefused:
        return True
    return False


@pytest.mark.parametrize(("ranges", "allowed"), [(REFUSED, ()), (NEVER, EVERYWHERE)], ids=["special", "never"])
def test_the_edges_of_every_range_are_refused_and_their_neighbours_are_not(ranges: list[tuple[str, str]], allowed: Networks) -> None:
    limits = [(ip_address(first), ip_address(last)) for first, last in ranges]
    for lowest, highest in limits:
        kind = type(lowest)
        assert all(refused(str(address), allowed) for address in (lowest, kind((int(lowest) + int(highest)) // 2), highest))
        for edge in (int(lowest) - 1, int(highest) + 1):
            if 0 <= edge < 2**lowest.max_prefixlen:
                inside = any(first.version == lowest.version and int(first) <= edge <= int(last) for first, last in limits)
                assert refused(str(kind(edge)), allowed) == inside, kind(edge)


def test_the_refusal_of_a_special_address_says_what_it_is() -> None:
    for *edges, what in [*rows("never"), *rows("special")]:
        for address in edges:
            with pytest.raises(TargetRefused, match=f": {re.escape(what)}$"):
                check_address(ip_address(address), 443, OWN, ())


def test_special_addresses_are_refused_and_ordinary_ones_accepted() -> None:
    assert [address for (address,) in rows("refused") if not refused(address)] == []
    assert [address for (address,) in rows("accepted") if refused(address)] == []


@given(st.ip_addresses())
def test_nothing_is_accepted_that_python_knows_to_be_special(address: object) -> None:
    known = ip_address(str(address))
    if not known.is_global or known.is_multicast or known.is_reserved:
        assert refused(str(address))


@pytest.mark.parametrize(
    ("kind", "allowed", "why"),
    [
        *[("local name", allowed, "this machine itself") for allowed in ((), LOOPBACK)],
        *[("metadata name", allowed, "metadata service") for allowed in ((), LOOPBACK)],
        ("inner name", (), "not a name of the public internet"),
    ],
)
def test_names_of_the_machine_of_metadata_and_of_the_house_are_refused(kind: str, allowed: Networks, why: str) -> None:
    for (name,) in rows(kind):
        with pytest.raises(TargetRefused, match=why):
            check_url(f"https://{name}/hook", OWN, allowed)


def test_a_name_that_can_only_be_an_inner_one_must_lead_inside() -> None:
    assert all(check_url(f"https://{name}/hook", OWN, LOOPBACK).inside_only for (name,) in rows("inner name"))
    assert not any(check_url(f"https://{host}/hook", OWN, LOOPBACK).inside_only for host in ("crm.example.net", "93.184.215.14"))


def accepted(url: str, allowed: Networks = ()) -> bool:
    """Return whether an address is accepted without a look at what its name resolves to."""
    try:
        check_url(url, OWN, allowed)
    except TargetRefused:
        return False
    return True


def test_an_address_its_name_and_its_labels_have_a_greatest_length() -> None:
    path = "a" * (MAX_CHARS - len("https://example.com/"))
    labels = ".".join(["a" * 63] * 3)
    assert MAX_CHARS == 2048
    assert accepted(f"https://example.com/{path}")
    assert accepted(f"https://{labels}.{'b' * 57}.com/")
    for url in (f"https://example.com/{path}a", f"https://{labels}.{'b' * 58}.com/", f"https://{'a' * 64}.com/"):
        assert not accepted(url)


@pytest.mark.parametrize(
    ("port", "good"), [(442, False), (443, True), (444, False), (1023, False), (1024, True), (65535, True), (65536, False)]
)
def test_the_ports_are_443_and_1024_to_65535(port: int, good: bool) -> None:
    assert accepted(f"https://example.com:{port}/") == accepted(f"https://[2606:4700::ab]:{port}/") == good


def test_a_listener_on_every_interface_is_refused_at_every_address_of_the_machine() -> None:
    assert [refused(*target) for target in (("10.9.8.7", HOUSE, 8080), ("10.9.8.7", HOUSE, 8443), ("10.9.8.8", HOUSE, 8080))] == [
        True,
        False,
        False,
    ]


def test_the_machine_knows_its_own_addresses_and_no_others() -> None:
    mine = MachineAddresses()
    assert ip_address("127.0.0.1") in mine
    assert all(ip_address(address) not in mine for address in ("93.184.215.14", "2606:4700::1111"))
    assert "127.0.0.1" not in mine


def test_what_the_service_itself_is_follows_from_its_listeners_and_its_public_address() -> None:
    named = own_addresses([("127.0.0.1", 8443), ("", 9000)], "https://Chat.Example.org.:8443")
    assert named.hosts == {"chat.example.org"}
    assert {(ip_address("127.0.0.1"), 8443), (ip_address("0.0.0.0"), 9000)} <= named.listeners
    by_address = own_addresses([("::1", 8443)], "http://127.0.0.1:8080")
    assert by_address.hosts == frozenset()
    assert by_address.listeners == {(ip_address("::1"), 8443), (ip_address("127.0.0.1"), 8080)}


async def test_the_system_is_asked_for_a_name_once_while_it_is_thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, release = list[str](), threading.Event()

    def getaddrinfo(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        release.wait(20)
        if host == "nx.example.net":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 0)), (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    resolver = SystemResolver()
    lookups = [asyncio.create_task(resolver("a.example.net")) for _ in range(5)]
    await asyncio.sleep(0)
    release.set()
    assert await asyncio.gather(*lookups) == [["8.8.8.8", "::1"]] * 5
    assert asked == ["a.example.net"]
    with pytest.raises(OSError, match="unknown"):
        await resolver("nx.example.net")
    await resolver("a.example.net")
    assert asked == ["a.example.net", "nx.example.net", "a.example.net"]


async def test_a_name_server_that_never_answers_costs_its_time_out_and_64_threads_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    release, started = threading.Event(), threading.active_count()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(10) and [])
    resolver = SystemResolver()
    guard = Guard(OWN, (), resolver)
    results = await asyncio.gather(*(guard.addresses("dead.example.net", 443) for _ in range(20)), return_exceptions=True)
    assert {type(result).__name__ for result in results} == {"LookupFailed"}
    assert threading.active_count() <= started + 1
    waiting = [asyncio.create_task(resolver(f"{number}.example.net")) for number in range(63)]
    await asyncio.sleep(0.01)
    with pytest.raises(OSError, match="too many"):
        await resolver("one.more.example.net")
    release.set()
    assert await asyncio.gather(*waiting) == [[]] * 63


async def test_a_look_up_for_which_there_is_no_thread_fails_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    resolver = SystemResolver()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(OSError, match="thread"):
            await resolver("localhost")
    await asyncio.sleep(0)
    assert "127.0.0.1" in await resolver("localhost")


def test_a_refusal_says_what_is_wrong_with_the_address() -> None:
    too_long = f"https://example.com/{'a' * MAX_CHARS}", "is longer than"
    for url, why in (*cases("fault"), too_long, (f"https://{'a' * 60}{('.' + 'a' * 60) * 4}/", "is not a valid name")):
        with pytest.raises(TargetRefused, match=re.escape(why)):
            check_url(url, OWN, ())


@pytest.mark.parametrize("label", ["faß", "πας", "a\u200cb", "a\u200db"])
def test_a_label_that_is_read_in_two_ways_is_taken_in_its_xn_form_only(label: str) -> None:
    assert not accepted(f"https://{label}.com/")
    assert accepted(f"https://xn--{label.encode('punycode').decode()}.com/")


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        *[(path, path) for path in ("/%41:@!$&'()*+,;=?~-._", "/a/b?c=d&e=f/g?h")],
        ('/é"<>^`{|}[]', "/%C3%A9%22%3C%3E%5E%60%7B%7C%7D%5B%5D"),
    ],
)
def test_what_may_not_stand_in_a_path_goes_out_encoded(path: str, sent: str) -> None:
    assert check_url(f"https://example.com{path}", OWN, ()).path == sent
