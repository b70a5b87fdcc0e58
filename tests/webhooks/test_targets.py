"""Forbidden webhook addresses are refused when set and when dialled, others accepted."""

# ruff: noqa: S104  # the addresses are only said, nothing is bound

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from chatsvc.domain.addresses import Networks, Own, TargetRefused, check_address
from chatsvc.domain.targets import MAX_CHARS, Target, check_url
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.own_addresses import MachineAddresses, own_addresses
from chatsvc.outbound.resolver import Resolve, SystemResolver, lookup
from chatsvc.webhooks.sender import PostResult, Sender
from tests.webhooks.target_cases import (
    ACCEPTED_ADDRESSES,
    BAD,
    GOOD,
    MORE_BAD,
    MORE_GOOD,
    NEVER_RANGES,
    REFUSED_ADDRESSES,
    REFUSED_RANGES,
    SPECIAL_RANGES,
)

OWN = Own(
    hosts=frozenset({"chat.example.org"}),
    addresses=frozenset({ip_address("93.184.215.20"), ip_address("10.9.8.7")}),
    listeners=frozenset({(ip_address("0.0.0.0"), 8080), (ip_address("127.0.0.1"), 8081)}),
)
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody: no connection comes to be
LOOPBACK: Networks = (ip_network("127.0.0.0/8"),)
NOBODYS = [(first, last) for first, last, _ in NEVER_RANGES]
HOUSE: Networks = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


class Names:
    """A resolver that gives scripted answers, one after the other, the last one for ever."""

    def __init__(self, script: str) -> None:
        self._answers = script.split("|")
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        """See Resolve."""
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


async def check_target(url: str, own: Own, allowed: Networks, names: Resolve) -> Target:
    return await Guard(own, allowed, names).check(url, Egress())


async def send(target: Target, names: Resolve, allowed: Networks = ()) -> tuple[PostResult, list[str]]:
    """One delivery, and the addresses that it came to dial; each gives no connection."""
    dialled: list[str] = []

    async def refuse(_: socket.socket, address: tuple[str, int]) -> None:
        dialled.append(address[0])
        raise ConnectionRefusedError

    sender = Sender(Guard(OWN, allowed, names), Egress(), timeout_s=0.2, tls=TLS)
    try:
        with patch.object(asyncio.get_running_loop(), "sock_connect", refuse):
            return await sender.post(target, b"{}", {}), dialled
    finally:
        await sender.close()


@pytest.mark.parametrize(("url", "answers"), BAD + MORE_BAD)
async def test_a_bad_target_is_refused_when_it_is_set(url: str, answers: str) -> None:
    names = Names(answers.rpartition("|")[2])
    with pytest.raises(TargetRefused) as caught:
        await check_target(url, OWN, (), names)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("url", "answers"), BAD + MORE_BAD)
async def test_a_bad_target_is_never_dialled(url: str, answers: str) -> None:
    try:
        target = check_url(url, OWN, ())
    except TargetRefused:
        return
    outcome, dialled = await send(target, Names(answers.rpartition("|")[2]))
    assert outcome.error in ("refused_address", "dns_failed", "timeout")
    assert dialled == []


@pytest.mark.parametrize(("url", "answers"), [case for case in BAD + MORE_BAD if not case[1]])
async def test_no_name_is_looked_up_for_a_target_that_is_bad_as_it_stands(url: str, answers: str) -> None:
    names = Names("93.184.215.14")
    with pytest.raises(TargetRefused):
        await check_target(url, OWN, (), names)
    assert names.asked == []


@pytest.mark.parametrize(("url", "answers"), [case for case in BAD + MORE_BAD if "|" in case[1]])
async def test_what_turns_bad_after_it_was_set_is_not_dialled(url: str, answers: str) -> None:
    names = Names(answers)
    target = await check_target(url, OWN, (), names)
    assert (await send(target, names))[1] == []
    assert len(names.asked) == 2


@pytest.mark.parametrize(("url", "answers"), GOOD + MORE_GOOD)
async def test_a_good_target_is_accepted_and_dialled_where_it_was_checked(url: str, answers: str) -> None:
    names = Names(answers)
    target = await check_target(url, OWN, (), names)
    outcome, dialled = await send(target, names)
    assert outcome.error == "connect_failed"
    expected = [str(target.address)] if target.address else answers.rpartition("|")[2].split(",")
    assert set(dialled) == set(expected)
    assert len(names.asked) == (0 if target.address else 2)


def test_a_target_reads_the_same_to_the_http_client_and_to_itself() -> None:
    for url, _ in GOOD + MORE_GOOD:
        target = check_url(url, OWN, ())
        dialled = URL(target.url, encoded=True)
        assert (dialled.raw_host, dialled.port, dialled.raw_path_qs) == (target.host, target.port, target.path), url
        assert target.url.isascii(), url
        assert check_url(target.url, OWN, ()) == target, url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/hook?", "https://example.com/hook"),
        ("HTTPS://Example.COM.:443?x", "https://example.com/?x"),
        ("https://çiçekçi.com.tr/şube?g=ğ", "https://xn--iekiiib2c.com.tr/%C5%9Fube?g=%C4%9F"),
        ("https://[2606:4700:0:0:0:0:0:AB]:8443/Hook", "https://[2606:4700::ab]:8443/Hook"),
        ('https://example.com/a"b<c>{d}|^`', "https://example.com/a%22b%3Cc%3E%7Bd%7D%7C%5E%60"),
        ("https://example.com/%7Ea/%zz/../b", "https://example.com/%7Ea/%zz/../b"),
    ],
)
def test_a_target_has_one_spelling(url: str, expected: str) -> None:
    assert check_url(url, OWN, ()).url == expected.replace("xn--iekiiib2c", "çiçekçi".encode("idna").decode())


@given(st.text(st.sampled_from("a0.xX:/@[]%#?\\- 1２。ıßـ\u00ad\u200d_ç8"), max_size=30))
def test_whatever_is_accepted_reads_the_same_to_the_http_client(rest: str) -> None:
    try:
        target = check_url("https://" + rest, OWN, LOOPBACK)
    except TargetRefused:
        return
    dialled = URL(target.url, encoded=True)
    assert (dialled.raw_host, dialled.port, dialled.raw_path_qs) == (target.host, target.port, target.path)
    assert dialled.user is None
    assert dialled.password is None


def refused(address: str, allowed: Networks = (), port: int = 443) -> bool:
    """Whether the address is refused."""
    try:
        check_address(ip_address(address), port, OWN, allowed)
    except TargetRefused:
        return True
    return False


def ends_where_it_should(first: str, last: str, ranges: list[tuple[str, str]], allowed: Networks = ()) -> None:
    """All addresses from `first` to `last` are refused. The neighbours only if another range covers them."""
    lowest, highest = ip_address(first), ip_address(last)
    middle = type(lowest)((int(lowest) + int(highest)) // 2)
    assert all(refused(str(address), allowed) for address in (lowest, middle, highest))
    others = [(ip_address(a), ip_address(b)) for a, b in ranges]
    for edge in (int(lowest) - 1, int(highest) + 1):
        if 0 <= edge < 2**lowest.max_prefixlen:
            inside = any(a.version == lowest.version and int(a) <= edge <= int(b) for a, b in others)
            assert refused(str(type(lowest)(edge)), allowed) == inside, type(lowest)(edge)


def test_the_edges_of_every_special_range_are_refused_and_their_neighbours_are_not() -> None:
    for first, last in REFUSED_RANGES:
        ends_where_it_should(first, last, REFUSED_RANGES)


def test_no_allowed_network_is_wide_enough_for_what_can_be_nobodys_receiver() -> None:
    for first, last in NOBODYS:
        ends_where_it_should(first, last, NOBODYS, (ip_network("0.0.0.0/0"), ip_network("::/0")))


def test_the_refusal_of_a_special_address_says_what_it_is() -> None:
    for first, last, what in [*NEVER_RANGES, *SPECIAL_RANGES]:
        for address in (first, last):
            with pytest.raises(TargetRefused, match=f": {re.escape(what)}$"):
                check_address(ip_address(address), 443, OWN, ())


def test_a_special_address_is_refused() -> None:
    assert [address for address in REFUSED_ADDRESSES if not refused(address)] == []


def test_an_ordinary_public_address_is_accepted() -> None:
    assert [address for address in ACCEPTED_ADDRESSES if refused(address)] == []


@given(st.ip_addresses())
def test_nothing_is_accepted_that_python_knows_to_be_special(address: object) -> None:
    known = ip_address(str(address))
    if not known.is_global or known.is_multicast or known.is_reserved:
        assert refused(str(address))


@pytest.mark.parametrize(
    ("url", "answers"),
    [
        ("https://127.0.0.1:40001/hook", ""),
        ("https://127.0.0.2:8081/hook", ""),
        ("https://crm.example.net/hook", "127.0.0.1"),
        ("https://crm.example.net:9000/hook", "127.0.0.1,127.0.0.5"),
        ("https://receiver:9000/hook", "127.0.0.1"),
        ("https://crm.lan/hook", "127.0.0.1"),
        ("https://crm.internal/hook", "127.0.0.9"),
        ("https://example.com/hook", "93.184.215.14"),
    ],
)
async def test_with_their_network_allowed_receivers_inside_the_house_are_accepted(url: str, answers: str) -> None:
    names = Names(answers)
    target = await check_target(url, OWN, LOOPBACK, names)
    assert (await send(target, names, LOOPBACK))[0].error == "connect_failed"


@pytest.mark.parametrize(
    ("url", "answers"),
    [
        ("https://127.0.0.1:8080/hook", ""),
        ("https://127.0.0.1:8081/hook", ""),
        ("https://127.0.0.7:8080/hook", ""),
        ("https://127.0.0.1:80/hook", ""),
        ("https://crm.example.net:8080/hook", "127.0.0.1"),
        ("https://crm.example.net/hook", "127.0.0.1,93.184.215.14"),
        ("https://crm.example.net/hook", "127.0.0.1,10.0.0.1"),
        ("https://crm.example.net/hook", "10.0.0.1"),
        ("https://crm.example.net/hook", "::ffff:127.0.0.1"),
        ("https://receiver/hook", "93.184.215.14"),
        ("https://receiver/hook", "127.0.0.1,93.184.215.14"),
        ("https://receiver/hook", "NXDOMAIN"),
        ("https://crm.lan/hook", "10.0.0.1"),
        ("https://localhost:9000/hook", "127.0.0.1"),
        ("https://a.localhost:9000/hook", "127.0.0.1"),
        ("https://metadata.google.internal/hook", "127.0.0.1"),
        ("https://instance-data/hook", "127.0.0.1"),
        ("https://chat.example.org/hook", "127.0.0.1"),
        ("https://[::1]:9000/hook", ""),
        ("https://[::ffff:127.0.0.1]:9000/hook", ""),
        ("https://127.1:9000/hook", ""),
        ("https://10.0.0.1/hook", ""),
        ("https://93.184.215.20:9000/hook", ""),
    ],
)
async def test_with_a_network_allowed_everything_else_stays_refused(url: str, answers: str) -> None:
    names = Names(answers)
    with pytest.raises(TargetRefused):
        await check_target(url, OWN, LOOPBACK, names)
    try:
        target = check_url(url, OWN, LOOPBACK)
    except TargetRefused:
        return
    assert (await send(target, names, LOOPBACK))[1] == []


LOCAL_NAMES = [
    "localhost",
    "localhost6",
    "loopback",
    "broadcasthost",
    "ip6-localhost",
    "ip6-loopback",
    "ip6-localnet",
    "a.localhost",
    "a.localdomain",
    "a.localdomain6",
    "a.localhost6",
]
METADATA_NAMES = [
    "metadata",
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.azure.com",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "metadata.packet.net",
]
INNER_NAMES = [
    "crm",
    "crm.local",
    "crm.lan",
    "crm.internal",
    "crm.home.arpa",
    "crm.onion",
    "crm.intranet",
    "crm.private",
    "crm.corp",
    "crm.home",
    "crm.svc",
]


@pytest.mark.parametrize("name", LOCAL_NAMES + METADATA_NAMES)
def test_the_names_of_the_machine_and_of_metadata_are_refused_with_and_without_allowed_networks(name: str) -> None:
    for allowed in ((), LOOPBACK):
        with pytest.raises(TargetRefused, match="this machine itself" if name in LOCAL_NAMES else "metadata service"):
            check_url(f"https://{name}/hook", OWN, allowed)


@pytest.mark.parametrize("name", INNER_NAMES)
def test_a_name_that_can_only_be_an_inner_one_must_lead_inside(name: str) -> None:
    with pytest.raises(TargetRefused, match="not a name of the public internet"):
        check_url(f"https://{name}/hook", OWN, ())
    assert check_url(f"https://{name}/hook", OWN, LOOPBACK).inside_only


def test_a_public_name_may_lead_anywhere_that_is_allowed() -> None:
    assert not check_url("https://crm.example.net/hook", OWN, LOOPBACK).inside_only
    assert not check_url("https://93.184.215.14/hook", OWN, LOOPBACK).inside_only


def accepted(url: str) -> bool:
    """Whether a webhook may have this address."""
    try:
        check_url(url, OWN, ())
    except TargetRefused:
        return False
    return True


def test_an_address_has_a_greatest_length() -> None:
    path = "a" * (2048 - len("https://example.com/"))
    assert accepted(f"https://example.com/{path}")
    assert not accepted(f"https://example.com/{path}a")


def test_a_name_and_its_labels_have_the_greatest_length_of_dns() -> None:
    labels = ".".join(["a" * 63] * 3)
    assert accepted(f"https://{labels}.{'b' * 57}.com/")
    assert not accepted(f"https://{labels}.{'b' * 58}.com/")
    assert not accepted(f"https://{'a' * 64}.com/")


@pytest.mark.parametrize(
    ("port", "good"), [(442, False), (443, True), (444, False), (1023, False), (1024, True), (65535, True), (65536, False)]
)
def test_the_ports_are_443_and_1024_to_65535(port: int, good: bool) -> None:
    assert accepted(f"https://example.com:{port}/") == accepted(f"https://[2606:4700::ab]:{port}/") == good


def test_a_listener_on_every_interface_is_refused_at_every_address_of_the_machine() -> None:
    assert refused("10.9.8.7", HOUSE, 8080)
    assert not refused("10.9.8.7", HOUSE, 8443)
    assert not refused("10.9.8.8", HOUSE, 8080)


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
    asked: list[str] = []

    def getaddrinfo(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "nx.example.net":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", 0)), (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    resolver = SystemResolver()
    assert await asyncio.gather(*(resolver("a.example.net") for _ in range(5))) == [["8.8.8.8", "::1"]] * 5
    assert asked == ["a.example.net"]
    with pytest.raises(OSError, match="unknown"):
        await resolver("nx.example.net")
    await resolver("a.example.net")
    assert asked == ["a.example.net", "nx.example.net", "a.example.net"]


async def test_a_name_server_that_never_answers_costs_its_time_out_and_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    release, started = threading.Event(), threading.active_count()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(10) and [])
    resolver = SystemResolver()
    target = check_url("https://dead.example.net/", OWN, ())
    results = await asyncio.gather(*(lookup(target, OWN, (), resolver) for _ in range(20)), return_exceptions=True)
    assert {type(result).__name__ for result in results} == {"LookupFailed"}
    assert threading.active_count() <= started + 1
    release.set()
    await asyncio.sleep(0.05)


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


async def test_more_names_than_can_be_looked_up_at_once_fail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: release.wait(10) and [])
    resolver = SystemResolver()
    waiting = [asyncio.create_task(resolver(f"{number}.example.net")) for number in range(64)]
    await asyncio.sleep(0.01)
    with pytest.raises(OSError, match="too many"):
        await resolver("one.more.example.net")
    release.set()
    assert await asyncio.gather(*waiting) == [[]] * 64


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "is empty"),
        ("https://example.com/" + "a" * MAX_CHARS, "is longer than"),
        ("https://example.com/a b", "holds a space"),
        ("https://example.com\\@example.org/", "a backslash"),
        ("https://example.com/\x7f", "an invisible character"),
        ("http://example.com/", "must begin with https://"),
        ("https://example.com/#there", "must not hold a “#”"),
        ("https://me@example.com/", "a user name or a password"),
        ("https://example.com:/", "must be a port number"),
        ("https://example.com:0443/", "must be a port number"),
        ("https://[2001:db8::1]8443/", "must be a port number"),
        ("https://example.com:80/", "port 80 is not allowed"),
        ("https://example.com:1023/", "port 1023 is not allowed"),
        ("https://example.com:65536/", "port 65536 is not allowed"),
        ("https://[2001:db8::1", "must be an IPv6 address"),
        ("https://[fe80::1%25eth0]/", "without a zone"),
        ("https://127.1/", "four decimal numbers"),
        ("https://127.0.0.1./", "four decimal numbers"),
        ("https://1.2.3.256/", "four decimal numbers"),
        ("https://exa%6dple.com/", "must not be percent-encoded"),
        ("https://exa_mple-.com/", "is not a valid name"),
        ("https://" + ".".join(["a" * 60] * 5) + "/", "is not a valid name"),
        ("https://xn--a.com/", "stands for no name"),
        ("https://xn--99.com/", "stands for no name"),
        ("https://xn--example-.com/", "stands for no name"),
        ("https://xn--c-3db.com/", "stands for no name"),  # a ç in two parts
        ("https://xn---nga.com/", "stands for no name"),  # a second spelling of ş
        ("https://ｅxample.com/", "read in more than one way"),
        ("https://☕.com/", "read in more than one way"),
    ],
)
def test_a_refusal_says_what_is_wrong_with_the_address(url: str, why: str) -> None:
    with pytest.raises(TargetRefused, match=re.escape(why)):
        check_url(url, OWN, ())


@pytest.mark.parametrize("label", ["faß", "πας", "a\u200cb", "a\u200db"])
def test_a_label_that_is_read_in_two_ways_is_taken_in_its_xn_form_only(label: str) -> None:
    assert not accepted(f"https://{label}.com/")
    assert accepted(f"https://xn--{label.encode('punycode').decode()}.com/")


@pytest.mark.parametrize("path", ["/%41:@!$&'()*+,;=?~-._", "/a/b?c=d&e=f/g?h"])
def test_what_may_stand_in_a_path_goes_out_as_it_is(path: str) -> None:
    assert check_url(f"https://example.com{path}", OWN, ()).path == path


def test_what_may_not_stand_in_a_path_goes_out_encoded() -> None:
    assert check_url('https://example.com/é"<>^`{|}[]', OWN, ()).path == "/%C3%A9%22%3C%3E%5E%60%7B%7C%7D%5B%5D"
