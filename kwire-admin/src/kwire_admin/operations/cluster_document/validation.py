"""Checks of planned differences by the cluster, before anything is changed.

The cluster decides which names and values exist: it checks each request without carrying it out. It checks all configs
of a resource together and reports one error, so those of a refused resource are sent one by one to find the refused
ones. Only the names of configs of Kafka's brokers are compared here with what brokers report, because brokers store any
name.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, cast
from kwire.client.admin import ConfigChange
from kwire_admin.operations.cluster_document.differences import FACTOR, SIZE
from kwire_admin.operations.cluster_document.state import Section
from kwire_admin.operations.cluster_document.steps import by_subject, steps
from kwire_admin.operations.config_changes import unknown_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, ConfigResource
    from kwire_admin.operations.cluster_document.differences import DocumentDifference
    from kwire_admin.operations.cluster_document.steps import Step

__all__ = ["refusals"]


async def refusals(admin: AdminClient, differences: Sequence[DocumentDifference]) -> dict[DocumentDifference, str]:
    """Return the differences that the cluster refuses, with its reasons."""
    refused = await _refused_broker_configs(admin, differences)
    for step in steps([difference for difference in differences if difference not in refused]):
        for subject, error in (await step.check(admin)).items():
            of_subject = step.differences[subject]
            problems = await _one_by_one(admin, step, of_subject)
            refused |= problems or dict.fromkeys(of_subject, error.reason)
    return refused


async def _one_by_one(
    admin: AdminClient, step: Step, differences: Sequence[DocumentDifference]
) -> dict[DocumentDifference, str]:
    """Return which differences of a refused resource are refused, each with the size of a topic that is created."""
    size = [difference for difference in differences if difference.name in (SIZE, FACTOR)]
    subject = differences[0].subject
    if size and (errors := await step.check(admin, {subject: size})):
        return dict.fromkeys(differences, errors[subject].reason)
    refused = {}
    for difference in differences:
        if difference not in size and (errors := await step.check(admin, {subject: [*size, difference]})):
            refused[difference] = errors[subject].reason
    return refused


async def _refused_broker_configs(
    admin: AdminClient, differences: Sequence[DocumentDifference]
) -> dict[DocumentDifference, str]:
    """Return the configs of Kafka's brokers that are unknown, secret, or of a broker that is down."""
    of_brokers = [
        difference
        for difference in differences
        if difference.section is Section.BROKERS and difference.action.is_applied
    ]
    if admin.dialect == "kip4" or not of_brokers:
        return {}
    live = {broker.id for broker in (await admin.describe_cluster()).brokers}
    refused: dict[DocumentDifference, str] = {}
    for subject, changes in by_subject(of_brokers).items():
        resource = cast("ConfigResource", subject)
        if resource.broker_id is not None and resource.broker_id not in live:
            refused |= dict.fromkeys(changes, "no live broker has this id")
            continue
        plan = await admin.plan_config_change(resource, ConfigChange())
        if plan.error is not None:
            raise plan.error
        for change in changes:
            reason = unknown_config(change.name, plan)
            if (
                reason is None
                and change.new is not None
                and change.name in plan.present
                and plan.present[change.name].is_sensitive
            ):
                reason = "a secret, which has no place in a file: set it with `kafka configs set --from-file`"
            if reason is not None:
                refused[change] = reason
    return refused
