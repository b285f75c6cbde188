"""The built site: the search finds the page that answers a newcomer's question first, pages load at once, and pictures
suit dark mode.
"""

from __future__ import annotations

import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser import open_page
from tests.installing import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.programs

FIRST_HITS = {
    "install": "install/",
    "python 3.10": "install/",
    "windows": "install/",
    "proxy": "install/",
    "produce": "comparison/",
    "consume": "comparison/",
    "exit code": "how-to/kafka/",
    "create topic": "how-to/kafka/",
    "reset offsets": "how-to/kafka/",
    "drain broker": "how-to/kafka/",
    "kafka-topics.sh": "how-to/kafka/",
    "docker": "deployment/",
    "controller": "how-to/kafka/",
}


MAX_PAGE_BYTES = 900_000
"""Maximum size of a page. Chosen, not measured: a page of the reference had 2.4 MB and took 12 s."""

PICTURES = ("", "gold-explained/", "explanation/codec/", "explanation/metadata-at-scale/", "how-to/own-client/")
"""Pages with pictures."""
DARK_BY_ITSELF = ("kafka.svg", "decode.svg", "report-dark.png")
"""Pictures of terminals, which have a dark background in both modes."""


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site."""
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder, NO_MKDOCS_2_WARNING="1")
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """Serve the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SilentHandler, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("question", FIRST_HITS)
def test_first_hit_answers_the_question(site: str, question: str) -> None:
    with open_page() as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(f"{site}/?q={quote(question)}")
        first = page.locator(".md-search-result__item .md-search-result__link").first
        expect(first).to_have_attribute("href", re.compile(f"^{re.escape(site)}/{FIRST_HITS[question]}[?#]"))
        assert [url for url in requests if not url.startswith((site, "blob:", "data:"))] == []


def test_pages_load_at_once(folder: Path) -> None:
    sizes = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*.html")}
    assert {name: size for name, size in sizes.items() if size > MAX_PAGE_BYTES} == {}


@pytest.mark.parametrize("path", PICTURES)
@pytest.mark.parametrize(("preferred", "scheme"), [("light", "default"), ("dark", "slate")])
def test_pictures_suit_dark_mode(site: str, path: str, preferred: Literal["light", "dark"], scheme: str) -> None:
    """A picture with a white background is inverted, and only in dark mode."""
    filters = "images => images.map(image => [image.src, getComputedStyle(image).filter])"
    with open_page() as page:  # a page of its own: the site remembers the mode of the first visit
        page.emulate_media(color_scheme=preferred)
        page.goto(f"{site}/{path}")
        expect(page.locator("body")).to_have_attribute("data-md-color-scheme", scheme)
        shown = page.locator(".md-content img").evaluate_all(filters)
    assert shown
    for source, applied in shown:
        is_inverted = preferred == "dark" and not source.partition("#")[0].endswith(DARK_BY_ITSELF)
        assert ("invert" in applied) == is_inverted, source
