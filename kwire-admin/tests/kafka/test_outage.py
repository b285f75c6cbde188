"""The outage in docs/how-to/outage.md, on Kafka 4.4: from the kill of a broker to Alertmanager and the report."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from scripts.record_outage import FOLDER, recorded

if TYPE_CHECKING:
    from pathlib import Path

CHANGING = {"incident_id", "cluster_id"}


def test_outage_ends_as_the_page_shows(tmp_path: Path) -> None:
    recording = recorded(tmp_path, rounds=1)

    documented = json.loads((FOLDER / "alert.json").read_text(encoding="utf-8"))
    labels, expected = recording.alert["labels"], documented["labels"]
    assert {name: labels[name] for name in labels if name not in CHANGING} == {
        name: expected[name] for name in expected if name not in CHANGING
    }
    assert labels.keys() == expected.keys()
    # An alert has the numbers of what was known when it was sent, and on a busy machine that is more.
    assert recording.alert["annotations"].keys() >= documented["annotations"].keys()
    summary = recording.alert["annotations"]["summary"].replace(labels["cluster_id"], expected["cluster_id"])
    assert summary == documented["annotations"]["summary"]
    kinds = re.findall(r"^(\w+) +(\d+)", recording.incidents, re.MULTILINE)
    assert ("broker_killed", "2") in kinds
    assert ("broker_restarted", "2") in kinds
    assert "Nothing is wrong now" in recording.report
