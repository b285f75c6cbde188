"""Every verb of the registry on `kwire cluster up`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.administration import Operator
from tests.cli.every_verb import run_every_verb
from tests.cluster.test_command import bootstrap, up

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.nightly


@pytest.mark.usefixtures("java")
def test_every_verb_of_nodes(tmp_path: Path) -> None:
    with up(tmp_path, "--nodes", "1", "--set", "supported.features=group_coordinator:1-3") as started:
        run_every_verb(Operator(bootstrap(started.wait_ready())), "nodes", tmp_path)
