"""The search of the built site finds the page that answers a newcomer's question first."""

from __future__ import annotations

import re
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser import open_page
from tests.installing import run

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site, and serve it."""
    folder = tmp_path_factory.mktemp("site")
    run(sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", folder, NO_MKDOCS_2_WARNING="1")
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
