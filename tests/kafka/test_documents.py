"""Programs in the documentation that need a real broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

from kwire.client.admin import AdminClient, ClientQuotaEntity
from tests.docs.pages import DOCS, README, programs

if TYPE_CHECKING:
    from kwire.testing.kafka import Cluster


async def test_the_quota_page_sets_the_quota(cluster: Cluster) -> None:
    [program] = programs(DOCS / "how-to" / "quotas.md")
    program = program.replace("localhost:9092", cluster.bootstrap.partition(",")[0])

    run = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (run.stdout, run.stderr) == ("[(0, None)]\n", "")
    batch = ClientQuotaEntity(user="batch")
    async with await AdminClient.open(cluster.bootstrap) as admin:
        assert await admin.describe_client_quotas(batch) == {batch: {"producer_byte_rate": 1_048_576.0}}
        (await admin.alter_client_quotas({batch: {"producer_byte_rate": None}})).raise_first()
        await admin.wait_until_client_quotas({batch: {"producer_byte_rate": None}})


def test_the_first_example_of_the_readme_polls_a_real_broker(cluster: Cluster) -> None:
    """One poll without an error is enough: the events are tested with a fake cluster."""
    program = programs(README)[0].replace("localhost:9092", cluster.bootstrap)
    program += "        break\nprint(poll.error, poll.broker_id > 0, poll.message is not None)\n"

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)

    assert (run.stdout, run.stderr) == ("None True True\n", "")
