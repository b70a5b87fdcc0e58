"""How fast lists are read: GET /chatbots and GET /conversations beside servers that do nothing but encode the same body.

GET /chatbots: at least 0.5 (later 0.6, at its best 0.7) of bare aiohttp with the same loop and encoder, and 1.5 times stock aiohttp.
GET /conversations, 20 of 100,000, with `total`: at least 0.35 (later 0.4) of 20 static rows; of 1,000,000 at most 1.2 times the cost
of 1,000.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path

from harness import Bar, Load, Report, ServerProcess, interleave, main, ratio, request, the_same
from instance import Instance, instances

HERE = Path(__file__).parent
SIZES = (1_000, 100_000, 1_000_000)
ROUNDS, SECONDS = 11, 0.6


def serve(stack: ExitStack, instance: Instance) -> ServerProcess:
    """The product as it is shipped."""
    return stack.enter_context(ServerProcess("-m", "chatsvc", "-c", str(instance.config), "serve", "--json"))


async def body_of(server: ServerProcess, raw: bytes) -> bytes:
    """One answer, as it is."""
    load = Load("probe", server, the_same(raw), connections=1)
    await load.connect()
    json.loads(load.body)
    return load.body


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    with instances(len(SIZES)) as made, ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chatsvc-bench-")))
        for size, instance in zip(SIZES, made, strict=True):
            instance.conversations(size)
        few, many, most = (serve(stack, instance) for instance in made)
        plain = the_same(request("GET", "/api/v2/data", made[0].key))

        def static(kind: str, body: bytes) -> ServerProcess:
            file = folder / f"{kind}-{len(body)}.json"
            file.write_bytes(body)
            return stack.enter_context(ServerProcess(str(HERE / "servers.py"), kind, str(file)))

        def get(path: str, instance: Instance) -> bytes:
            return request("GET", f"/api/v2{path}", instance.key)

        chatbots = get("/chatbots", made[1])
        body = await body_of(many, chatbots)
        product = Load("GET /chatbots", many, the_same(chatbots))
        bare, stock = Load("bare aiohttp", static("bare", body), plain), Load("stock aiohttp", static("stock", body), plain)
        await interleave([product, bare, stock], ROUNDS, SECONDS)
        report.bars.append(ratio(f"GET /chatbots / bare aiohttp ({len(body)} bytes)", product, bare, 0.5, 0.6))
        report.bars.append(ratio("GET /chatbots / stock aiohttp", product, stock, None, 1.5))

        lists = [get("/conversations?limit=20", instance) for instance in made]
        body = await body_of(many, lists[1])
        page = Load("conversations, 20 of 100,000", many, the_same(lists[1]))
        rows = Load("static rows", static("bare", body), plain)
        await interleave([page, rows], ROUNDS, SECONDS)
        report.bars.append(ratio(f"GET /conversations, 20 of 100,000 / static rows ({len(body)} bytes)", page, rows, 0.35, None))

        small = Load("conversations, 20 of 1,000", few, the_same(lists[0]))
        large = Load("conversations, 20 of 1,000,000", most, the_same(lists[2]))
        again = Load("static rows", rows.server, plain)
        await interleave([small, large, again], ROUNDS, SECONDS)
        report.bars.append(ratio("GET /conversations, 20 of 1,000,000 / static rows", large, again, None, 0.4))
        cost = ratio("", small, large).figure
        report.bars.append(Bar("GET /conversations, cost of 20 of 1,000,000 / of 1,000", cost, 1.2, 1.2, least=False))
        report.loads += [product, bare, stock, page, rows, small, large]
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
