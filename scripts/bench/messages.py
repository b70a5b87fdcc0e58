"""Benchmark of the interface on one core, with 64 requests in flight.

GET /chatbots reaches at least 0.6 of the rate of a stock aiohttp handler with the same response. POST /messages, with an engine that
answers at once and durable writes, reaches at least 0.45 of its rate without writes. A visitor sends four messages, then the next visitor
follows. With a model, the processor time of a call with the provider's library alone is at least 0.6 of that of a message. Other load on
the machine does not change this ratio. The library sends the same body as the service, over the service's aiohttp client.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from harness import CONNECTIONS, Bar, Load, Report, ServerProcess, interleave, main, progress, ratio, request, the_same
from instance import Instance, instances, visitors
from standin import SPOKEN, model, tier

SERVERS = str(Path(__file__).parent / "servers.py")
ROUNDS, SECONDS = 9, 1.0
MODEL_ROUNDS, MODEL_SECONDS = 5, 2.0
ALONE = """
import asyncio, json, sys, time
import anthropic, httpx2, uvloop

async def main():
    url, body, seconds, callers = sys.argv[1], json.load(sys.stdin), float(sys.argv[2]), int(sys.argv[3])
    limits = httpx2.Limits(max_connections=5000, max_keepalive_connections=5000)
    http = anthropic.DefaultAioHttpClient(trust_env=False, limits=limits)
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k", max_retries=0, http_client=http) as client:
        calls = 0
        async def caller(until):
            nonlocal calls
            while time.perf_counter() < until:
                await client.messages.create(**body)
                calls += 1
        await asyncio.gather(*(caller(time.perf_counter() + 0.5) for _ in range(callers)))
        calls, began = 0, time.process_time()
        await asyncio.gather(*(caller(time.perf_counter() + seconds) for _ in range(callers)))
        print((time.process_time() - began) / calls * 1e6)

uvloop.run(main())
"""


def start(stack: ExitStack, kind: str, instance: Instance) -> ServerProcess:
    return stack.enter_context(ServerProcess(SERVERS, kind, str(instance.config)))


def gets(instance: Instance, path: str) -> list[bytes]:
    return [request("GET", f"/api/v2{path}", key) for key in instance.keys]


async def without_a_model(report: Report) -> None:
    with instances(2) as installed, ExitStack() as stack:
        product, nothing = (start(stack, kind, instance) for kind, instance in zip(("product", "nothing"), installed, strict=True))
        requests, body = the_same(*gets(installed[0], "/chatbots")), installed[0].config.parent / "body.json"
        listing = Load("GET /chatbots", product, requests)
        await listing.connect()
        body.write_bytes(listing.body)
        reads = [listing, Load("stock", stack.enter_context(ServerProcess(SERVERS, "stock", str(body))), requests)]
        await interleave(reads, ROUNDS, SECONDS)
        servers = (("POST /messages", product), ("writing nothing", nothing))
        writes = [Load(name, server, visitors(installed[n])) for n, (name, server) in enumerate(servers)]
        await interleave(writes, ROUNDS, SECONDS)
    report.bars.append(ratio("GET /chatbots / stock aiohttp", reads[0], reads[1], 0.6))
    report.bars.append(ratio("POST /messages / the same writing nothing", writes[0], writes[1], 0.45))
    report.loads += [*reads, *writes]


async def with_a_model(report: Report) -> None:
    bodies: list[bytes] = []

    def answer(body: bytes) -> bytes:
        bodies[:] = [body]
        return SPOKEN

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model(answer))
        (instance,) = stack.enter_context(instances(1, tier(url)))
        server = stack.enter_context(ServerProcess.serving(instance))
        load = Load("message through a model", server, visitors(instance, 1))
        await load.connect()
        ratios = list[float]()
        for number in range(MODEL_ROUNDS):
            progress(f"message through a model: round {number + 1} of {MODEL_ROUNDS}")
            load.rounds.append(await load.run(MODEL_SECONDS))
            command = [sys.executable, "-c", ALONE, url, str(MODEL_SECONDS), str(CONNECTIONS)]
            done = await asyncio.to_thread(subprocess.run, command, input=bodies[0], capture_output=True, check=True)
            ratios.append(float(done.stdout) / load.rounds[-1].cpu_us)
    report.bars.append(Bar("calls of the library alone in the processor time of a message", statistics.median(ratios), 0.6))
    report.loads.append(load)


async def bench() -> Report:
    report = Report()
    await without_a_model(report)
    await with_a_model(report)
    return report


if __name__ == "__main__":
    main(__doc__ or "", bench)
