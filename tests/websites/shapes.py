"""Pages of generated websites in seven shapes. Each has navigation, a cookie banner, a footer and facts of its own."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

NAVIGATION = ("Home", "About", "Services", "Contact", "Basket (0)")
CHROME = (
    *("We use cookies to improve your experience", "Accept all cookies", "All rights reserved", "Share on Facebook"),
    *("Subscribe to our newsletter", "Recent posts", "Skip to content"),
)


class Facts(NamedTuple):
    """Facts of one page: a title, sections with texts, rows of a table, questions with answers."""

    title: str
    sections: Sequence[tuple[str, str]]
    rows: Sequence[tuple[str, str]] = ()
    questions: Sequence[tuple[str, str]] = ()


def facts(number: int, version: int = 0) -> Facts:
    """Make the facts of the page with this number; those of another version have another price."""
    price = 40 + number % 37 + version
    return Facts(
        f"Workshop {number}",
        [
            (f"How long does workshop {number} take?", f"Workshop {number} takes {2 + number % 5} hours and ends at {14 + number % 6}:30."),
            (f"Where workshop {number} is held", f"Room {number} is on floor {1 + number % 9}, in the courtyard of house {number * 3}."),
        ],
        [(f"Adult ticket {number}", f"{price} EUR"), (f"Child ticket {number}", f"{price // 2} EUR")],
        [(f"May I cancel workshop {number}?", f"Yes, until {3 + number % 9} days before workshop {number} begins.")],
    )


def _links(links: Sequence[str]) -> str:
    return "".join(f'<li><a href="{link}">{name}</a></li>' for link, name in _named(links))


def _named(links: Sequence[str]) -> list[tuple[str, str]]:
    names = [*NAVIGATION, *(link.rsplit("/", 1)[-1] for link in links[len(NAVIGATION) :])]
    return list(zip(links, names, strict=False))


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows)


_COOKIES = f"<div>{CHROME[0]}. <button>{CHROME[1]}</button></div>"


def wordpress(page: Facts, links: Sequence[str]) -> str:
    body = "".join(f'<h2 class="wp-block-heading">{head}</h2><p>{text}</p>' for head, text in page.sections)
    asked = "".join(f"<h3>{ask}</h3><p>{answer}</p>" for ask, answer in page.questions)
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="UTF-8"><title>{page.title} - Atelier</title></head>
<body class="page-template"><a class="skip-link" href="#content">Skip to content</a>
<header id="masthead" class="site-header"><p class="site-title">Atelier</p><nav><ul class="menu">{_links(links)}</ul></nav></header>
<main id="content"><article class="post"><h1 class="entry-title">{page.title}</h1><div class="entry-content">{body}
<figure class="wp-block-table"><table><thead><tr><th>Ticket</th><th>Price</th></tr></thead>
<tbody>{_rows(page.rows)}</tbody></table></figure>
<h2>Questions</h2>{asked}</div><div class="sharedaddy"><a href="https://facebook.example">Share on Facebook</a></div></article></main>
<aside id="secondary" class="widget-area"><h2>Recent posts</h2><ul><li><a href="/hello">Hello world</a></li></ul></aside>
<footer class="site-footer"><p>© 2026 Atelier. All rights reserved</p></footer>
<div id="cookie-notice" role="banner">{_COOKIES}</div></body></html>"""


def wix(page: Facts, links: Sequence[str]) -> str:
    """A page of Wix: sections of nested elements without meaning."""
    body = "".join(
        f'<div class="_1Q9if" data-testid="richTextElement"><h2 class="font_2"><span style="font-size:28px">{head}</span></h2></div>'
        f'<div class="_1Q9if" data-testid="richTextElement"><p class="font_8"><span><span>{text}</span></span></p></div>'
        for head, text in [*page.sections, *page.questions]
    )
    rows = "".join(f'<div role="listitem"><p><span>{name}</span></p><p><span>{value}</span></p></div>' for name, value in page.rows)
    return f"""<!DOCTYPE html><html lang="en"><head><title>{page.title} | Atelier</title></head><body>
<div id="site-root"><div id="SITE_HEADER" class="header"><div data-testid="navigation">
<nav><ul>{_links(links)}</ul></nav></div></div>
<div id="PAGES_CONTAINER"><section><h1 class="font_0">{page.title}</h1>{body}<div role="list">{rows}</div></section></div>
<div id="SITE_FOOTER"><p>Subscribe to our newsletter</p><p>© Atelier. All rights reserved</p></div></div>
<div class="consent-banner-root">{_COOKIES}</div></body></html>"""


def shopify(page: Facts, links: Sequence[str]) -> str:
    """A page of a Shopify theme, with a product's data."""
    product = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": page.rows[0][0],
        "offers": {"@type": "Offer", "price": page.rows[0][1].split()[0], "priceCurrency": page.rows[0][1].split()[1]},
    }
    body = "".join(f"<details><summary><span>{head}</span></summary><div><p>{text}</p></div></details>" for head, text in page.sections)
    return f"""<!doctype html><html class="no-js" lang="en"><head><meta charset="utf-8"><title>{page.title} – Atelier</title>
<script type="application/ld+json">{json.dumps(product)}</script></head><body class="gradient">
<div class="shopify-section-group-header-group"><header class="header"><ul class="list-menu">{_links(links)}</ul></header></div>
<main id="MainContent"><product-info><div class="product__title"><h1>{page.title}</h1></div>
<table>{_rows(page.rows)}</table><div class="product__description rte">{body}</div>
<div class="accordion">{"".join(f"<h3>{ask}</h3><p>{answer}</p>" for ask, answer in page.questions)}</div></product-info></main>
<div class="newsletter"><h2>Subscribe to our newsletter</h2></div>
<footer class="footer"><small>© 2026, Atelier All rights reserved</small></footer>
<div id="shopify-pc__banner" class="cookie-banner">{_COOKIES}</div></body></html>"""


def squarespace(page: Facts, links: Sequence[str]) -> str:
    body = "".join(
        f'<div class="sqs-block html-block"><div class="sqs-html-content"><h3>{head}</h3><p class="">{text}</p></div></div>'
        for head, text in [*page.sections, *page.questions]
    )
    rows = "".join(f"<li>{name}: {value}</li>" for name, value in page.rows)
    return f"""<!doctype html><html lang="en-GB"><head><title>{page.title} — Atelier</title></head><body>
<header data-test="header" id="header"><div class="header-nav"><ul>{_links(links)}</ul></div></header>
<main id="page" role="main"><article class="sections"><section class="page-section"><h1>{page.title}</h1>{body}<ul>{rows}</ul></section>
</article></main><footer class="sections" id="footer-sections"><p>All rights reserved</p><p>Subscribe to our newsletter</p></footer>
<div class="sqs-cookie-banner-v2" role="dialog">{_COOKIES}</div></body></html>"""


def bootstrap(page: Facts, links: Sequence[str]) -> str:
    """A page with an accordion of questions and their data for search engines."""
    data = {
        "@context": "https://schema.org",
        "@type": "FAQPage",
        "mainEntity": [
            {"@type": "Question", "name": ask, "acceptedAnswer": {"@type": "Answer", "text": f"<p>{answer}</p>"}}
            for ask, answer in page.questions
        ],
    }
    body = "".join(
        f'<div class="accordion-item"><h2 class="accordion-header"><button class="accordion-button">{head}</button></h2>'
        f'<div class="accordion-collapse collapse"><div class="accordion-body">{text}</div></div></div>'
        for head, text in page.sections
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>{page.title}</title>
<script type="application/ld+json">{json.dumps(data)}</script></head><body>
<div class="navbar" role="navigation"><ul>{_links(links)}</ul></div>
<div class="container"><h1>{page.title}</h1><div class="accordion">{body}</div>
<table class="table"><tr><th>Ticket</th><th>Price</th></tr>{_rows(page.rows)}</table></div>
<div role="contentinfo">All rights reserved</div><div aria-label="Cookie consent">{_COOKIES}</div></body></html>"""


def plain(page: Facts, links: Sequence[str]) -> str:
    """A page that was written by hand long ago: a table for the layout, elements that are never closed."""
    body = "".join(f"<p><b>{head}</b><br>{text}" for head, text in [*page.sections, *page.questions])
    rows = "".join(f"<tr><td>{name}<td>{value}" for name, value in page.rows)
    menu = "".join(f'<a href="{link}">{name}</a> | ' for link, name in _named(links))
    return f"""<html><head><title>{page.title}</title></head><body bgcolor=white>
<center>{menu}</center><h1>{page.title}</h1>{body}<table border=1>{rows}</table><hr><font size=1>All rights reserved</font></body></html>"""


def elementor(page: Facts, links: Sequence[str]) -> str:
    """A page of a page builder: headings and texts in nested elements, buttons to share it."""
    body = "".join(
        f'<div class="elementor-widget-wrap"><div class="elementor-widget-heading"><h2>{head}</h2></div>'
        f'<div class="elementor-widget-text-editor"><div>{text}</div></div></div>'
        for head, text in [*page.sections, *page.questions]
    )
    return f"""<!DOCTYPE html><html lang="en"><head><title>{page.title}</title></head><body class="elementor-page">
<div class="elementor-location-header"><ul class="elementor-nav-menu">{_links(links)}</ul></div>
<div class="elementor"><h1>{page.title}</h1>{body}<table>{_rows(page.rows)}</table>
<div class="social-share"><span>Share on Facebook</span></div></div>
<div class="elementor-location-footer"><p>All rights reserved</p></div><div class="cmplz-cookiebanner">{_COOKIES}</div></body></html>"""


SHAPES: tuple[Callable[[Facts, Sequence[str]], str], ...] = (*(wordpress, wix, shopify, squarespace, bootstrap, plain, elementor),)


def page_of(number: int, version: int = 0, links: Sequence[str] = ("/",) * len(NAVIGATION)) -> str:
    """Write the page with this number in one of the shapes."""
    return SHAPES[number % len(SHAPES)](facts(number, version), links)
