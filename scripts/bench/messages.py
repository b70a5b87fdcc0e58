"""How fast the interface answers on one core, 64 callers in flight, with an engine that answers at once.

GET /chatbots: at least 0.6 of a stock aiohttp handler that answers the same bytes. POST /messages, durably written: at least 0.45 of the
same writing nothing. A visitor sends four messages, then the next one comes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

from harness import Load, Report, Requests, ServerProcess, interleave, main, ratio, request, the_same
from instance import Instance, instances

SERVERS = str(Path(__file__).parent / "servers.py")
ROUNDS, SECONDS = 9, 1.0
MESSAGES_A_VISITOR = 4
_runs = iter(range(1000))


def visitors(instance: Instance) -> Requests:
    """Each connection is one visitor after another; all requests have the same length."""
    run = next(_runs)

    def requests(connection: int) -> Iterator[bytes]:
        number = 0
        while True:
            visitor = f"{run:03d}-{connection:05d}-{number // MESSAGES_A_VISITOR:08d}"
            body = {"chatbot_id": instance.bots[0], "message": "Are you open on Saturday afternoons?", "user_id": visitor}
            yield request("POST", "/api/v2/messages", instance.keys[connection % len(instance.keys)], json.dumps(body).encode())
            number += 1

    return requests


def start(stack: ExitStack, kind: str, instance: Instance) -> ServerProcess:
    """One of servers.py."""
    return stack.enter_context(ServerProcess(SERVERS, kind, str(instance.config)))


def gets(instance: Instance, path: str) -> list[bytes]:
    """Return one GET with each of the keys."""
    return [request("GET", f"/api/v2{path}", key) for key in instance.keys]


def answer_of(server: ServerProcess, instance: Instance) -> bytes:
    """Return the body of GET /chatbots."""
    headers = {"Authorization": f"Bearer {instance.keys[0]}"}
    with urlopen(Request(f"http://127.0.0.1:{server.port}/api/v2/chatbots", headers=headers)) as answer:
        return bytes(answer.read())


async def bench() -> Report:
    """See the module's docstring."""
    report = Report()
    with instances(2) as made, ExitStack() as stack:
        product, nothing = (start(stack, kind, one) for kind, one in zip(("product", "nothing"), made, strict=True))
        body = made[0].config.parent / "body.json"
        body.write_bytes(answer_of(product, made[0]))
        stock = stack.enter_context(ServerProcess(SERVERS, "stock", str(body)))
        requests = the_same(*gets(made[0], "/chatbots"))
        reads = [Load(name, server, requests) for name, server in (("GET /chatbots", product), ("stock", stock))]
        await interleave(reads, ROUNDS, SECONDS)
        writes = [Load("POST /messages", product, visitors(made[0])), Load("writing nothing", nothing, visitors(made[1]))]
        await interleave(writes, ROUNDS, SECONDS)
    report.bars.append(ratio("GET /chatbots / stock aiohttp", reads[0], reads[1], 0.6))
    report.bars.append(ratio("POST /messages / the same writing nothing", writes[0], writes[1], 0.45))
    report.loads += [*reads, *writes]
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
