"""The examples in the docstrings of `AdminClient`'s operations run on a real broker and print what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient, BlockingAdminClient
from scripts.docs_reference import admin_nouns
from tests.docs.pages import run_examples

if TYPE_CHECKING:
    from tests.real_kafka import Kafka44
    from tests.real_kafka.security import ClusterSecurity


@pytest.mark.parametrize("noun", admin_nouns())
def test_examples_of_a_noun_print_what_they_show(noun: str, secured44: Kafka44, security: ClusterSecurity) -> None:
    """The cluster is secured, because only authenticated clients can create delegation tokens."""
    module, _ = admin_nouns()[noun]
    with BlockingAdminClient(secured44.bootstrap, config=security.config()) as admin:
        run_examples(module.__doc__ or "", noun, {"admin": admin})


def test_example_of_the_client_prints_what_it_shows(kafka44: Kafka44) -> None:
    example = (AdminClient.__doc__ or "").replace("localhost:9092", kafka44.bootstrap)
    run_examples(example, "AdminClient", {"AdminClient": AdminClient})
