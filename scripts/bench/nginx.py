"""Random HTTP streams through nginx to the service: both must read the same requests, in the same order.

    scripts/bench/nginx.py [STREAMS]      the default is 1,000

Needs Debian's nginx (package nginx-light). Nothing but loopback is used.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from socket import socket

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from chatsvc.http.client_address import ClientAddresses  # noqa: E402  # found by the line above
from chatsvc.http.request import HttpRequest  # noqa: E402
from chatsvc.http.response import HttpResponse  # noqa: E402
from tests.http.support import broken, cut, exchange, random_stream, serving  # noqa: E402

# One line for each request that was passed on; the others nginx answers by itself. The service refuses some of those: unknown methods.
CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 512; }}
http {{
  log_format passed '$upstream_status $request_method $request_uri';
  map $upstream_addr $is_passed {{ default 1; "" 0; "-" 0; }}
  access_log {folder}/passed.log passed if=$is_passed;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c; uwsgi_temp_path {folder}/d;
  scgi_temp_path {folder}/e;
  upstream service {{ server 127.0.0.1:{service}; keepalive 4; }}
  server {{
    listen 127.0.0.1:{port};
    merge_slashes off;
    location / {{
      proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_request_buffering {buffering};
      proxy_set_header X-Forwarded-For $remote_addr; proxy_next_upstream off; proxy_ignore_client_abort on;
    }}
  }}
}}
"""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with closing(socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def compare(count: int, buffering: str) -> int:
    """Send streams through nginx; return how many requests were read by both. Exits where they differ."""
    seen: list[str] = []

    async def handler(request: HttpRequest) -> HttpResponse:
        seen.append(f"{request.method} {request.target}")
        body = await request.body.read(100_000) if len(request.target) % 2 else b""
        return HttpResponse(200, f"{len(body)}".encode())

    chance, port, total = random.Random(f"{buffering} {count}"), free_port(), 0
    lines = 0
    with tempfile.TemporaryDirectory(prefix="chatsvc-nginx-") as name:
        folder = Path(name)
        async with serving(handler, addresses=ClientAddresses(by_socket=True)) as service:
            config = folder / "nginx.conf"
            config.write_text(CONFIG.format(folder=folder, service=service, port=port, buffering=buffering))
            nginx = await asyncio.create_subprocess_exec("nginx", "-e", str(folder / "error.log"), "-c", str(config))
            try:
                await _until_it_listens(port)
                for number in range(count):
                    stream = random_stream(chance)
                    stream = broken(chance, stream) if chance.random() < 0.5 else stream
                    await exchange(port, cut(chance, stream) if chance.random() < 0.5 else [stream])
                    passed = await _passed(folder / "passed.log", lines, len(seen))
                    lines += len(passed)
                    # A client that hangs up ends what nginx waits for, not what the service has read.
                    answered = [line for status, line in passed if status == "200"]
                    if not (is_within(answered, seen) and is_within(seen, [line for _, line in passed])):
                        sys.exit(f"stream {number}, proxy_request_buffering {buffering}: {stream!r}\nnginx: {passed}\nthe service: {seen}")
                    total += len(seen)
                    seen.clear()
            finally:
                nginx.terminate()
                await nginx.wait()
    return total


async def _until_it_listens(port: int) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


async def _passed(log: Path, before: int, wanted: int) -> list[tuple[str, str]]:
    """Return what nginx passed on after `before` lines. Waits until there are `wanted`."""
    found: list[tuple[str, str]] = []
    for _ in range(50):
        lines = (await asyncio.to_thread(log.read_text, "latin-1")).splitlines()[before:]
        found = [(status, line) for status, _, line in (line.partition(" ") for line in lines)]
        if len(found) >= wanted:
            break
        await asyncio.sleep(0.01)
    return found


def is_within(some: list[str], all_: list[str]) -> bool:
    """Whether the first are among the second, in their order."""
    rest = iter(all_)
    return all(one in rest for one in some)


def main() -> None:
    """Compare with and without buffered bodies."""
    if shutil.which("nginx") is None:
        sys.exit("nginx is not installed (Debian: apt-get install nginx-light)")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for buffering in ("on", "off"):
        print(f"proxy_request_buffering {buffering}: {count} streams, {asyncio.run(compare(count, buffering))} requests read by both alike")


if __name__ == "__main__":
    main()
