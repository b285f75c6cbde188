"""The page in a browser: headless Chromium of the operating system, driven by Playwright."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.browser import open_page
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.testing import FakeCluster

pytestmark = pytest.mark.programs

TOKEN = "page-0123456789abcdef"


@pytest.fixture
def page() -> Iterator[Page]:
    with open_page() as page:
        yield page


def test_page_shows_the_cluster_and_follows_changes(page: Page, server: ServerProcess, cluster: FakeCluster) -> None:
    page.goto(server.url)
    expect(page.locator("#cluster-id")).to_have_text("fake-cluster-000000000")
    expect(page.locator("#brokers tbody tr")).to_have_count(3)
    expect(page.locator("#topics tbody tr")).to_have_text(["audit23", "orders23"])
    expect(page.locator("#incidents-empty")).to_be_visible()

    cluster.create_topic("<b>new</b>", 1)  # a name that Kafka would refuse, to see that it is shown as text
    expect(page.locator("#changes")).to_contain_text("topic <b>new</b> added with 1 partitions")
    expect(page.locator("#topics-count")).to_have_text("3")
    page.locator("#topics-filter").fill("ord")
    expect(page.locator("#topics tbody tr")).to_have_text(["orders23"])

    cluster.stop_broker(3)
    incidents = page.locator("#incidents tbody")
    expect(incidents).to_contain_text("broker-unreachable")
    expect(incidents).to_contain_text("under-replicated")
    expect(page.locator("#brokers")).to_contain_text("does not respond")
    cluster.start_broker(3)
    expect(page.locator("#brokers")).not_to_contain_text("does not respond")


def test_page_asks_for_a_token(page: Page, cluster: FakeCluster, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(f'[tokens.page]\nrole = "read"\ntoken = "{TOKEN}"\n')
    with ServerProcess(cluster.bootstrap, "--tokens", tokens) as server:
        page.goto(server.url)
        page.get_by_label("Token").fill("wrong-0123456789abcdef")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#login-error")).to_have_text("The token is unknown.")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#topics-count")).not_to_be_empty()
        assert TOKEN not in page.url
        page.reload()
        expect(page.locator("#topics-count")).not_to_be_empty()
