"""The page of `kafka http` on a real broker: groups, and the details of a topic, a group, and a broker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser import open_page
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.real_kafka import Kafka44

pytestmark = pytest.mark.programs


def test_clicks_lead_from_a_group_to_its_topic_and_to_a_broker(kafka44: Kafka44) -> None:
    with ServerProcess(kafka44.bootstrap, "--anonymous", "change") as server, open_page() as page:
        new = {"names": ["clicked"], "partitions": 2, "replication_factor": 1, "config": ["retention.ms=1234567"]}
        assert server.post("/api/v1/topics/create", new).status == 200
        reset = {"group": "clickers", "to": "0", "topic": ["clicked"], "confirm": True}
        assert server.post("/api/v1/groups/reset-offsets", reset).status == 200

        page.goto(server.url)
        page.locator("#groups-filter").fill("CLICK")
        expect(page.locator("#groups tbody tr")).to_have_text(["clickersEmpty0"])
        page.get_by_role("link", name="clickers").click()
        details = page.locator("#details-parts")
        expect(page.locator("#details-title")).to_have_text("Group clickers")
        expect(details).to_contain_text("The group has no members. Start a consumer with this group id.")
        details.get_by_role("link", name="clicked").first.click()
        expect(page.locator("#details-title")).to_have_text("Topic clicked")
        expect(details.locator("tr", has_text="retention.ms").first).to_contain_text("1234567topic")
        expect(details.get_by_role("link", name="clickers")).to_be_visible()
        details.get_by_role("link", name="1", exact=True).first.click()
        expect(page.locator("#details-title")).to_have_text("Broker 1")
        expect(details).to_contain_text("Log directories")
        expect(details.locator("tr", has_text="log.dirs").first).to_contain_text("static")
        expect(details.locator("tr", has_text="group.coordinator.background.threads")).to_be_hidden()
        details.get_by_text(re.compile(r"^\d+ defaults$")).click()
        expect(details.locator("tr", has_text="group.coordinator.background.threads")).to_be_visible()
        page.get_by_role("link", name="All of the cluster").click()
        expect(page.locator("#overview")).to_be_visible()

        page.goto(f"{server.url}/#topic/nosuch")
        expect(details).to_contain_text("nosuch: there is no topic nosuch")
