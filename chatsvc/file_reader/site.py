"""Files of a website in the child process: robots.txt, sitemaps, pages and the links in them, under one budget for each request."""

import base64
import zlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin

from chatsvc.domain import websites
from chatsvc.domain.websites import Robots, Site
from chatsvc.file_reader import website

MOST_UNPACKED = 2 * 1024 * 1024  # bytes of a sitemap
MOST_PAGE_LINES = 20_000
_MOST_PAGE = 4 * 1024 * 1024  # bytes of a page's content
_GZIP = b"\x1f\x8b"


class SiteFiles:
    """Files of one site. `request` has its url, include, exclude, the rules of its robots.txt, and how many links are still wanted."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._site = Site("", "", request["url"], request["include"], request["exclude"], 0, 0, review=False)
        self._robots = Robots([(allowed, pattern) for allowed, pattern in request["rules"]])
        self._left = request["links"]
        self._seen: set[str] = set()

    def read(self, kind: str, data: bytes, name: str, charset: str) -> dict[str, Any]:
        """Read one file. A page becomes its packed content, its number of lines, and its links, each with whether it may be read."""
        if kind == "robots":
            robots = websites.parse_robots(data.decode("utf-8", "replace"))
            return {"rules": robots.rules, "sitemaps": robots.sitemaps, "delay": robots.delay_s}
        if kind == "sitemap":
            return self._sitemap(data)
        if kind == "stored":
            return {"links": self._page_links(name, websites.unpack(data))}
        content = website.read(data, charset)
        lines = len(content["lines"])
        packed = websites.pack(content)
        if lines > MOST_PAGE_LINES or len(packed) > _MOST_PAGE:
            return {"reason": "too_large", "links": [], "lines": 0, "content": None}
        text = sum(len(value) for _, value in content["lines"] if isinstance(value, str))
        encoded = base64.b64encode(packed).decode()
        return {"reason": content["reason"], "links": self._page_links(name, content), "lines": lines, "text": text, "content": encoded}

    def _sitemap(self, data: bytes) -> dict[str, Any]:
        if data.startswith(_GZIP):
            data = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, MOST_UNPACKED)
        is_index, addresses = websites.parse_sitemap(data.decode("utf-8", "replace"))
        if is_index:
            # Of a host's own sitemaps alone: an index that names thousands of others is no use.
            own = (address for address in addresses if address.startswith(urljoin(self._site.url, "/")))
            return {"maps": [address for address, _ in zip(own, range(websites.MOST_SITEMAPS), strict=False)], "links": []}
        return {"maps": [], "links": self._wanted(addresses)}

    def _page_links(self, name: str, content: dict[str, Any]) -> list[tuple[str, bool]]:
        base = _joined(name, content.get("base") or "")
        return self._wanted(_joined(base, link) for link in content["links"])

    def _wanted(self, links: Iterable[str]) -> list[tuple[str, bool]]:
        """Return the addresses of pages that the site wants, each once in a request."""
        wanted: list[tuple[str, bool]] = []
        for link in links:
            if self._left <= 0:
                break
            url = websites.page_address(self._site.url, link)
            if url and url not in self._seen and websites.is_wanted(self._site, url):
                self._seen.add(url)
                self._left -= 1
                wanted.append((url, self._robots.allows(url)))
        return wanted


def _joined(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return ""
