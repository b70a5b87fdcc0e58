"""How fast lists are read: GET /chatbots and GET /conversations beside servers that do nothing but encode the same body.

GET /chatbots: at least 0.9 of bare aiohttp with the same loop and encoder, and 1.5 times stock aiohttp.
GET /conversations, 20 of 100,000, with `total`: at least 0.35 (later 0.4) of 20 static rows; of 1,000,000 at most 1.2 times the cost
of 1,000. The first page is kept while nothing changes; so a walk of 40 pages, each asked for in its turn, is measured beside it.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

from harness import Bar, Load, Report, ServerProcess, in_turn, interleave, main, ratio, request, the_same
from instance import Instance, instances

HERE = Path(__file__).parent
SIZES = (1_000, 100_000, 1_000_000)
ROUNDS, SECONDS = 11, 0.6
PAGES = 40


def serve(stack: ExitStack, instance: Instance) -> ServerProcess:
    """The product as it is shipped."""
    return stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(instance.config), "serve", "--json"))


def gets(instance: Instance, path: str) -> list[bytes]:
    """One GET with each of the keys."""
    return [request("GET", f"/api/v2{path}", key) for key in instance.keys]


def answer(server: ServerProcess, instance: Instance, path: str) -> bytes:
    """The body of one GET."""
    connection = HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", f"/api/v2{path}", headers={"Authorization": f"Bearer {instance.keys[0]}"})
    body = connection.getresponse().read()
    connection.close()
    return body


def pages(server: ServerProcess, instance: Instance) -> list[bytes]:
    """Requests for the first pages of a walk, one after another."""
    path = "/conversations?limit=20"
    raw = []
    for number in range(PAGES):
        raw.append(request("GET", f"/api/v2{path}", instance.keys[number % len(instance.keys)]))
        cursor = json.loads(answer(server, instance, path))["pagination"]["next_cursor"]
        path = f"/conversations?limit=20&cursor={cursor}"
    return raw


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    with instances(len(SIZES)) as made, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        for size, instance in zip(SIZES, made, strict=True):
            instance.conversations(size)
        few, many, most = (serve(stack, instance) for instance in made)

        def static(name: str, kind: str, body: bytes) -> Load:
            file = folder / f"{name}.json"
            file.write_bytes(body)
            server = stack.enter_context(ServerProcess(str(HERE / "servers.py"), kind, str(file)))
            return Load(name, server, the_same(request("GET", "/api/v2/data", made[0].keys[0])))

        body = answer(many, made[1], "/chatbots")
        product = Load("GET /chatbots", many, the_same(*gets(made[1], "/chatbots")))
        bare, stock = static("bare aiohttp", "bare", body), static("stock aiohttp", "stock", body)
        await interleave([product, bare, stock], ROUNDS, SECONDS)
        report.bars.append(ratio(f"GET /chatbots / bare aiohttp ({len(body)} bytes)", product, bare, 0.9))
        report.bars.append(ratio("GET /chatbots / stock aiohttp", product, stock, None, 1.5))

        lists = [the_same(*gets(instance, "/conversations?limit=20")) for instance in made]
        body = answer(many, made[1], "/conversations?limit=20")
        page = Load("conversations, 20 of 100,000", many, lists[1])
        walk = Load("page after page of 100,000", many, in_turn(*pages(many, made[1])), varies=True)
        rows = static("static rows", "bare", body)
        await interleave([page, walk, rows], ROUNDS, SECONDS)
        report.bars.append(ratio(f"GET /conversations, 20 of 100,000 / static rows ({len(body)} bytes)", page, rows, 0.35, None))
        report.bars.append(ratio(f"the same, page after page ({PAGES} pages in turn)", walk, rows))

        small, large = Load("conversations, 20 of 1,000", few, lists[0]), Load("conversations, 20 of 1,000,000", most, lists[2])
        again = Load("static rows", rows.server, rows.requests)
        few_pages = Load("page after page of 1,000", few, in_turn(*pages(few, made[0])), varies=True)
        most_pages = Load("page after page of 1,000,000", most, in_turn(*pages(most, made[2])), varies=True)
        await interleave([small, large, again, few_pages, most_pages], ROUNDS, SECONDS)
        report.bars.append(ratio("GET /conversations, 20 of 1,000,000 / static rows", large, again, None, 0.4))
        for name, one, other in (("", small, large), (", page after page", few_pages, most_pages)):
            cost = ratio("", one, other).figure
            report.bars.append(Bar(f"GET /conversations, cost of 20 of 1,000,000 / of 1,000{name}", cost, 1.2, 1.2, least=False))
        report.loads += [product, bare, stock, page, walk, rows, small, large, few_pages, most_pages]
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
