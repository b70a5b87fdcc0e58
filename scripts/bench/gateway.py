"""How much a message through a model costs beside the provider's library alone: at least 0.6 of its calls on the same core.

The library sends the body that the service sends, over its aiohttp client. The figure is the ratio of processor time, which a busy
machine does not change.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import AsyncExitStack

from crowd import visitors
from harness import CONNECTIONS, Bar, Load, Report, ServerProcess, main, progress
from instance import instances
from standin import SPOKEN, model, tier

ROUNDS, SECONDS = 5, 2.0
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


async def bench() -> Report:
    """See the module's docstring."""
    bodies: list[bytes] = []

    def answer(body: bytes) -> bytes:
        bodies[:] = [body]
        return SPOKEN

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model(answer))
        (made,) = stack.enter_context(instances(1, models=tier(url)))
        server = stack.enter_context(
            ServerProcess("-m", "chatsvc", "-c", str(made.config), "serve", "--json", log=made.config.with_name("log"))
        )
        load = Load("message through a model", server, visitors(made), varies=True)
        await load.connect()
        ratios = list[float]()
        for number in range(ROUNDS):
            progress(f"round {number + 1} of {ROUNDS}")
            load.rounds.append(await load.run(SECONDS))
            command = [sys.executable, "-c", ALONE, url, str(SECONDS), str(CONNECTIONS)]
            body = json.dumps(json.loads(bodies[0])).encode()
            done = await asyncio.to_thread(subprocess.run, command, input=body, capture_output=True, check=True)
            ratios.append(float(done.stdout) / load.rounds[-1].cpu_us)
    ratios.sort()
    bar = Bar("calls of the library alone in the processor time of a message", ratios[ROUNDS // 2], 0.6)
    return Report([bar], [load])


if __name__ == "__main__":
    main(__doc__ or "", bench)
