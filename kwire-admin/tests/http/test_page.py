"""The page in a browser: headless Chromium of the operating system, driven by Playwright."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from kwire.testing import FakeCluster
from tests.browser import open_page
from tests.http.server_process import ServerProcess
from tests.http.test_conventions import write_gold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
    expect(page.locator("#problems-empty")).to_be_visible()
    expect(page.locator("#reassignments-empty")).to_have_text("Not available: the brokers do not have this operation.")
    expect(page.locator("#incidents-empty")).to_have_text(
        "Start the server with --gold FOLDER to see what happened before."
    )
    expect(page.locator("#brokers .rack").first).to_be_visible()

    cluster.create_topic("<b>new</b>", 1)  # a name that Kafka would refuse, to see that it is shown as text
    expect(page.locator("#changes")).to_contain_text("topic <b>new</b> added with 1 partition")
    expect(page.locator("#topics-count")).to_have_text("3")
    page.locator("#topics-filter").fill("ORD")
    expect(page.locator("#topics tbody tr")).to_have_text(["orders23"])
    page.locator("#topics-filter").fill("[x]*")
    expect(page.locator("#topics-empty")).to_have_text('No name contains "[x]*".')

    cluster.stop_broker(3)
    problems = page.locator("#problems tbody")
    expect(problems).to_contain_text("broker-unreachable")
    expect(problems).to_contain_text("under-replicated")
    expect(page.locator("#brokers")).to_contain_text("does not respond")
    cluster.start_broker(3)
    expect(page.locator("#brokers")).not_to_contain_text("does not respond")


def test_pages_names_and_colors_at_each_width(page: Page, tmp_path: Path) -> None:
    """Topics come in pages; long names wrap; a phone needs no scrolling sideways; the keyboard reaches the details."""
    long = "very-long-name-" * 16 + "end"
    with (
        FakeCluster(2, topics=[*(f"topic-{number:03}" for number in range(60)), long]) as cluster,
        ServerProcess(cluster.bootstrap, "--gold", write_gold(tmp_path)) as server,
    ):
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        page.goto(server.url)
        expect(page.locator("#topics-range")).to_have_text("1 to 50 of 61")
        page.locator("#topics-next").click()
        expect(page.locator("#topics tbody tr")).to_have_count(11)
        expect(page.locator("#topics tbody tr").last).to_contain_text(long)
        expect(page.locator("#incidents tbody")).to_contain_text("Broker 2 was killed or crashed")
        expect(page.locator("#incidents thead")).to_be_hidden()  # cells stand below each other
        expect(page.locator("#brokers .rack").first).to_be_hidden()
        expect(page.locator("body")).to_have_css("background-color", "rgb(21, 24, 27)")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            sizes = [page.locator(selector).bounding_box() for selector in ("#topics", "body")]
            assert [box for box in sizes if box is None or box["x"] + box["width"] > width] == []
        page.locator("#topics a").last.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#details-title")).to_have_text(f"Topic {long}")
        expect(page.locator("#details-title")).to_be_focused()
        expect(page.locator("#details-parts")).to_contain_text("No group has committed an offset of this topic.")
        page.go_back()
        expect(page.locator("#overview")).to_be_visible()


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
