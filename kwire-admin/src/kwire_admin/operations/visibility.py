"""Resources that a user can see. Brokers leave out what a user cannot describe, without an error.

A check finds no problem in what is not visible, so that a missing permission would make it green. Whether something
may be missing is asked by name: for a name that nothing has, a broker reports a missing permission to a user who does
not see all names, and says to another user that it does not exist.

Lists of groups and of transactional ids can lack some for another reason: a broker does not answer, or no broker is
responsible (see `kwire.client.admin.internal_topics`).
"""

from __future__ import annotations

from functools import partial
from os import urandom

from kwire._util.light_typing import TYPE_CHECKING, Literal, TypeAlias
from kwire._util.readable import counted
from kwire.client.admin import AdminError
from kwire.client.race import first_success
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.errors import ConnectionFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire.client.admin import AdminClient
    from kwire_admin.operations.run import Run

    Resources: TypeAlias = Literal["topics", "groups", "transactional ids"]

SILENT_AFTER_S = 1.0
"""Seconds after which a second broker is asked about permissions, which all of them know. Chosen, not measured."""
SHOWN_PARTITIONS = 5
"""Maximum number of partitions that a warning names."""


async def explain_if_hidden(run: Run, count: int, what: Resources, *, done: str = "checked") -> str | None:
    """Return why a check of resources proves nothing, or None. Warn of a check that covers a part of them.

    Args:
        count: the number of resources that the user can see.
        what: the resources.
        done: the use of the resources, as a participle.
    """
    if not await may_be_incomplete(run.admin, what):
        return None
    if not count:
        return f"no {what} are visible: none exist, or this user has no Describe permission on any"
    checked = counted(count, what.removesuffix("s"))
    run.warn(f"only the {checked} that this user may describe {'is' if count == 1 else 'are'} {done}.")
    return None


async def warn_if_hidden(run: Run, count: int, what: Resources, *, filtered: bool = False) -> None:
    """Warn of a list, if there can be resources that the user cannot describe.

    Args:
        count: the number of rows.
        what: the resources.
        filtered: True if the list has only resources that match something.
    """
    try:
        is_partial = await may_be_incomplete(run.admin, what)
    except ConnectionFault as fault:  # the list itself is as good as before
        run.warn(f"it is not known whether this user sees all {what}: {fault}.")
        return
    if is_partial and count:
        run.warn(f"only {what} that this user may describe are listed.")
    elif is_partial:
        match = " that match" if filtered else ""
        run.warn(f"no {what}{match} are visible: none exist, or this user has no Describe permission on any.")


async def warn_of_unknown(run: Run, what: Resources, unanswered: Mapping[int, Exception]) -> None:
    """Warn of resources that no broker has listed, because their coordinator is missing.

    Args:
        what: groups, or transactional ids.
        unanswered: the errors of brokers that did not answer.
    """
    from kwire.client.admin.internal_topics import GROUPS, TRANSACTIONS, leaderless_partitions

    for broker, error in sorted(unanswered.items()):
        run.warn(f"the {what} that broker {broker} coordinates are not known: {error}.")
    topic = GROUPS if what == "groups" else TRANSACTIONS
    leaderless = await leaderless_partitions(run.admin, topic)
    if leaderless:
        count = len(leaderless)
        shown = ", ".join(map(str, leaderless[:SHOWN_PARTITIONS]))
        more = f" and {count - SHOWN_PARTITIONS} more" if count > SHOWN_PARTITIONS else ""
        partitions = f"{'partition' if count == 1 else 'partitions'} {shown}{more}"
        verb = "has" if count == 1 else "have"
        run.warn(f"{partitions} of {topic} {verb} no leader: the {what} there are not known.")


def warn_of_unanswered(run: Run, what: str, unanswered: Mapping[int, Exception]) -> None:
    """Warn of brokers that did not answer.

    Args:
        what: the subject of their answers.
        unanswered: their errors.
    """
    for broker, error in sorted(unanswered.items()):
        run.warn(f"the {what} of broker {broker} are not known: {error}.")


async def may_be_incomplete(admin: AdminClient, what: Resources) -> bool:
    """Return whether there can be resources that the user cannot describe, and that lists therefore lack."""
    unused = f"kwire-no-such-name-{urandom(16).hex()}"  # a random name, so that no permission of a prefix covers it
    if what == "groups":
        return not await admin.may_describe_group(unused)
    if what == "transactional ids":
        from kwire.client.admin.transactions import may_describe_transactional_id

        return not await may_describe_transactional_id(admin, unused)
    from kwire.client.admin.topic_descriptions import describe_at

    # `describe_topics` would ask a second broker for a topic that the first one does not know.
    ask = partial(describe_at, admin, names=(unused,))
    # The bootstrap servers have answered already, and the addresses that brokers advertise are perhaps out of reach.
    brokers = dict.fromkeys((*admin.router.bootstrap, *admin.router.known_brokers()))
    described = (await first_success([partial(ask, broker=broker) for broker in brokers], SILENT_AFTER_S)).get(unused)
    # The dialect of the drafts has the same number for the error.
    return isinstance(described, AdminError) and described.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
