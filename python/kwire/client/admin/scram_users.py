"""Users with SCRAM credentials: describe and alter them (KIP-554).

Examples:
    >>> from kwire.client.admin import ScramMechanismName, UserScramCredentialDeletion, UserScramCredentialUpsertion
    >>> from kwire.client.security import Secret
    >>> admin.alter_user_scram_credentials(
    ...     upsertions=[UserScramCredentialUpsertion(user="dora", password=Secret("a long password"))]
    ... ).raise_first()
    >>> admin.wait_until_user_scram_credentials({"dora": {ScramMechanismName.SCRAM_SHA_512: 4096}})
    >>> [credential] = admin.describe_user_scram_credentials(["dora"])["dora"]
    >>> credential.mechanism.value, credential.iterations
    ('SCRAM-SHA-512', 4096)
    >>> admin.alter_user_scram_credentials(
    ...     deletions=[UserScramCredentialDeletion("dora", ScramMechanismName.SCRAM_SHA_512)]
    ... ).raise_first()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin import completion
from kwire.client.admin.backend import strings_tuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import AdminSession, ScramUsers
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.scram_values import (
        ScramMechanismName,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kwire.client.admin.values import Outcomes


async def describe_user_scram_credentials(admin: AdminSession, users: Iterable[str] = ()) -> ScramUsers:
    """Return the credentials of users, without secrets.

    Errors of a user: 91 it has no credentials; 21, in a cluster of nodes, they are malformed.

    Args:
        users: the users; all users with credentials if there are none.

    Raises:
        AdminError: 31 not authorized.
    """
    return await admin.backend.scram_users.describe(strings_tuple(users))


async def alter_user_scram_credentials(
    admin: AdminSession,
    upsertions: Iterable[UserScramCredentialUpsertion] = (),
    deletions: Iterable[UserScramCredentialDeletion] = (),
) -> Outcomes:
    """Create, replace, and delete credentials. Passwords are salted here with random bytes and are not sent.

    The derived keys that are sent are as secret as the passwords: use a connection with TLS. The command is
    repeated after a lost response unless it has deletions, because the second deletion of a credential fails. In a
    cluster of nodes, each credential is a command of its own, which is never repeated.

    Errors of a user: 31 not authorized; 33 unknown mechanism; 91 unknown credential; 92 a credential is
    listed twice; 93 too many iterations; 21, in a cluster of nodes, for all of these but the first.

    Raises:
        OutcomeUnknown: the response was lost, and the command has deletions.
    """
    return await admin.backend.scram_users.alter(upsertions, deletions)


async def wait_until_user_scram_credentials(
    admin: AdminSession,
    expected: Mapping[str, Mapping[ScramMechanismName, int | None]],
    *,
    timeout: float = 30.0,
    on_progress: ProgressCallback | None = None,
) -> None:
    """Wait until every broker reports these credentials. See `wait_until_created` for the other arguments.

    A new password with the same number of iterations cannot be seen. A node reports what it has taken over.

    Args:
        expected: iterations by user and mechanism; None for a credential that does not exist.

    Raises:
        AdminError: a broker cannot report the credentials of a user.
    """
    await completion.wait_for_values(admin.router, expected, admin.backend.scram_users.reported, timeout, on_progress)
