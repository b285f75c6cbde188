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

from collections import Counter
from secrets import token_bytes

from kwire._util.concurrency import to_thread
from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import completion
from kwire.client.admin.answer import complete, error_code, first_error_code
from kwire.client.admin.change_checks import check_outcomes
from kwire.client.admin.errors import AdminError
from kwire.client.admin.quorum import has_zookeeper
from kwire.client.admin.scram_values import ScramCredentialInfo, ScramMechanismName
from kwire.client.admin.session import strings_tuple
from kwire.client.admin.targets import ANY, BrokerTarget
from kwire.client.admin.values import Outcomes
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.protocol.scram_passwords import SALT_BYTES, salted_password

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.scram_values import UserScramCredentialDeletion, UserScramCredentialUpsertion
    from kwire.client.admin.session import AdminSession, ScramUsers
    from kwire.client.admin.targets import Target

MAX_ITERATIONS = 16384
"""Maximum number of iterations that brokers of Kafka accept (ScramControlManager)."""


async def describe_user_scram_credentials(admin: AdminSession, users: Iterable[str] = ()) -> ScramUsers:
    """Return the credentials of users, without secrets.

    Errors of a user: 91 it has no credentials; 21, in a cluster of nodes, they are malformed.

    Args:
        users: the users; all users with credentials if there are none.

    Raises:
        AdminError: 31 not authorized.
    """
    names = strings_tuple(users)
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_security

        return await kip4_security.describe_users(admin, names)
    return await _describe(admin, names, ANY)


async def _describe(admin: AdminSession, users: Sequence[str], target: Target) -> ScramUsers:
    names = tuple(UserName(name=user) for user in dict.fromkeys(users))
    # No names stand for all users, as null does. Kafka 4.4 never refuses a request with null, but stays silent.
    request = DescribeUserScramCredentialsRequest(users=names)
    answer = await admin.router.read(request, target, error_code)
    described: ScramUsers = {
        result.user: answer.error(result, result.user)
        or tuple(
            sorted(
                ScramCredentialInfo(ScramMechanismName.of_code(info.mechanism), info.iterations)
                for info in result.credential_infos
            )
        )
        for result in sorted(answer.accepted("SCRAM users").results, key=lambda result: result.user)
    }
    return complete(sorted(set(users)), described) if users else described


async def alter_user_scram_credentials(
    admin: AdminSession,
    upsertions: Iterable[UserScramCredentialUpsertion] = (),
    deletions: Iterable[UserScramCredentialDeletion] = (),
    *,
    validate_only: bool = False,
) -> Outcomes:
    """Create, replace, and delete credentials. Passwords are salted here with random bytes and are not sent.

    The derived keys that are sent are as secret as the passwords: use a connection with TLS. The command is
    repeated after a lost response unless it has deletions, because the second deletion of a credential fails. In a
    cluster of nodes, each credential is a command of its own, which is never repeated.

    Errors of a user: 31 not authorized; 33 unknown mechanism; 91 unknown credential; 92 a credential is
    listed twice; 93 too many iterations; 21, in a cluster of nodes, for all of these but the first.

    Args:
        upsertions: the credentials to create or replace.
        deletions: the credentials to delete.
        validate_only: check the changes, and make none. Clusters cannot do so, so the client does.

    Raises:
        OutcomeUnknown: the response was lost, and the command has deletions.
    """
    if validate_only:
        return await _check_changes(admin, tuple(upsertions), tuple(deletions))
    if admin.dialect == "kip4":
        from kwire.client.admin import kip4_security

        return await kip4_security.alter_users(admin, upsertions, deletions)
    deleted = tuple(
        ScramCredentialDeletion(name=deletion.user, mechanism=deletion.mechanism.code) for deletion in deletions
    )
    # Thousands of iterations of a hash would block the event loop.
    upserted = await to_thread(lambda: tuple(map(_salted, upsertions)))
    request = AlterUserScramCredentialsRequest(deletions=deleted, upsertions=upserted)
    answer = await admin.router.command(request, error_code=first_error_code("results"), repeatable=not deleted)
    requested = dict.fromkeys([*(entry.name for entry in deleted), *(entry.name for entry in upserted)])
    return answer.outcomes(((result.user, result) for result in answer.response.results), requested)


def _salted(credential: UserScramCredentialUpsertion) -> ScramCredentialUpsertion:
    salt = token_bytes(SALT_BYTES)
    return ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism.code,
        iterations=credential.iterations,
        salt=salt,
        salted_password=salted_password(credential.mechanism, credential.password, salt, credential.iterations),
    )


async def _check_changes(
    admin: AdminSession,
    upsertions: Sequence[UserScramCredentialUpsertion],
    deletions: Sequence[UserScramCredentialDeletion],
) -> Outcomes:
    """Return the errors that changes would have, by the rules of ScramControlManager in Kafka."""
    maximum = MAX_ITERATIONS if admin.dialect == "kafka" else None
    outcomes: dict[str, AdminError | None] = {}
    deleted = [deletion.user for deletion in deletions]
    described = await describe_user_scram_credentials(admin, deleted) if deleted else {}
    for user, mechanism in deletions:
        credentials = described[user]
        error = None
        if isinstance(credentials, AdminError):
            error = credentials
        elif mechanism not in {credential.mechanism for credential in credentials}:
            error = AdminError.of_kafka(
                ErrorCode.RESOURCE_NOT_FOUND, user, f"the user has no credential for {mechanism}"
            )
        outcomes[user] = outcomes.get(user) or error
    for upsertion in upsertions:
        reason = None
        if not upsertion.user:
            reason = "the name of the user is empty"
        elif maximum is not None and upsertion.iterations > maximum:
            reason = f"brokers accept at most {maximum} iterations, not {upsertion.iterations}"
        outcomes[upsertion.user] = outcomes.get(upsertion.user) or (
            None if reason is None else AdminError.of_kafka(ErrorCode.UNACCEPTABLE_CREDENTIAL, upsertion.user, reason)
        )
    if admin.dialect == "kafka":  # nodes change one credential after the other
        changed = [*deletions, *((upsertion.user, upsertion.mechanism) for upsertion in upsertions)]
        if await has_zookeeper(admin):  # its controller takes a user with both mechanisms at once
            twice = [user for (user, _), times in Counter(changed).items() if times > 1]
        else:
            twice = [user for user, times in Counter(user for user, _ in changed).items() if times > 1]
        outcomes |= {user: AdminError.of_kafka(ErrorCode.DUPLICATE_RESOURCE, user) for user in twice}
    return await check_outcomes(admin, AlterUserScramCredentialsRequest, Outcomes(outcomes))


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

    async def reported(broker_id: int) -> Mapping[str, Mapping[ScramMechanismName, int]]:
        if admin.dialect == "kip4":
            from kwire.client.admin import kip4_security

            return await kip4_security.reported_iterations(admin, broker_id)
        iterations: dict[str, Mapping[ScramMechanismName, int]] = {}
        for user, infos in (await _describe(admin, (), BrokerTarget(broker_id))).items():
            if isinstance(infos, AdminError):
                raise infos
            iterations[user] = {info.mechanism: info.iterations for info in infos}
        return iterations

    await completion.wait_for_values(admin.router, expected, reported, timeout, on_progress)
