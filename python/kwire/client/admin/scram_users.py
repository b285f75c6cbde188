"""Users with SCRAM credentials: describe and alter them (KIP-554)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.client.admin import completion
from kwire.client.admin.answer import error_code, first_error_code
from kwire.client.admin.backend import strings_tuple
from kwire.client.admin.cluster_router import ANY, Broker
from kwire.client.admin.errors import AdminError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import Backend
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.completion import ProgressCallback
    from kwire.client.admin.scram_values import (
        ScramCredentialInfo,
        ScramMechanismName,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kwire.client.admin.values import Outcomes
    from kwire.messages.kafka.alter_user_scram_credentials import ScramCredentialUpsertion
    from kwire.protocol.negotiated_versions import Dialect


class ScramUserOperations:
    """Operations on SCRAM credentials."""

    dialect: Dialect
    _router: ClusterRouter
    _backend: Backend

    async def describe_user_scram_credentials(
        self, users: Iterable[str] = ()
    ) -> dict[str, tuple[ScramCredentialInfo, ...] | AdminError]:
        """Return the credentials of users, without secrets.

        Errors of a user: 91 it has no credentials; 21, in a cluster of nodes, they are malformed.

        Args:
            users: the users; all users with credentials if there are none.

        Raises:
            AdminError: 31 not authorized.
        """
        names = strings_tuple(users)
        if self.dialect == "kip4":
            from kwire.client.admin import kip4_scram_users

            return await kip4_scram_users.describe(self._backend, names)
        return await self._describe_scram(names, ANY)

    async def _describe_scram(
        self, users: tuple[str, ...], target: Target
    ) -> dict[str, tuple[ScramCredentialInfo, ...] | AdminError]:
        from kwire.client.admin.scram_values import ScramCredentialInfo, ScramMechanismName
        from kwire.messages.kafka.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

        names = tuple(UserName(name=each) for each in dict.fromkeys(users))
        request = DescribeUserScramCredentialsRequest(users=names or None)
        answer = await self._router.read(request, target, error_code)
        return {
            each.user: answer.error(each, each.user)
            or tuple(
                sorted(
                    ScramCredentialInfo(ScramMechanismName.of_code(info.mechanism), info.iterations)
                    for info in each.credential_infos
                )
            )
            for each in sorted(answer.accepted("SCRAM users").results, key=lambda each: each.user)
        }

    async def alter_user_scram_credentials(
        self,
        upsertions: Iterable[UserScramCredentialUpsertion] = (),
        deletions: Iterable[UserScramCredentialDeletion] = (),
    ) -> Outcomes:
        """Create, replace, and delete credentials. Passwords are salted here with random bytes and are not sent.

        What is sent is as secret as the passwords: use a connection with TLS. The command is repeated after a lost
        response unless it has deletions, because the second deletion of a credential fails. In a cluster of nodes,
        each credential is a command of its own, which is never repeated.

        Errors of a user: 31 not authorized; 33 unknown mechanism; 91 unknown credential; 92 a credential is
        listed twice; 93 too many iterations; 21, in a cluster of nodes, for all of these but the first.

        Raises:
            OutcomeUnknown: the response was lost, and the command has deletions.
        """
        from kwire.messages.kafka.alter_user_scram_credentials import (
            AlterUserScramCredentialsRequest,
            ScramCredentialDeletion,
        )

        if self.dialect == "kip4":
            from kwire.client.admin import kip4_scram_users

            return await kip4_scram_users.alter(self._backend, upsertions, deletions)
        removed = tuple(ScramCredentialDeletion(name=each.user, mechanism=each.mechanism.code) for each in deletions)
        changed = await asyncio.to_thread(lambda: tuple(map(_salted, upsertions)))
        request = AlterUserScramCredentialsRequest(deletions=removed, upsertions=changed)
        answer = await self._router.command(request, error_code=first_error_code("results"), repeatable=not removed)
        return answer.outcomes((each.user, each) for each in answer.response.results)

    async def wait_until_user_scram_credentials(
        self,
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
            if self.dialect == "kip4":
                from kwire.client.admin import kip4_scram_users

                return await kip4_scram_users.reported(self._backend, broker_id)
            iterations: dict[str, Mapping[ScramMechanismName, int]] = {}
            for user, infos in (await self._describe_scram((), Broker(broker_id))).items():
                if isinstance(infos, AdminError):
                    raise infos
                iterations[user] = {each.mechanism: each.iterations for each in infos}
            return iterations

        await completion.wait_for_values(self._router, expected, reported, timeout, on_progress)


def _salted(credential: UserScramCredentialUpsertion) -> ScramCredentialUpsertion:
    from secrets import token_bytes

    from kwire.messages.kafka.alter_user_scram_credentials import ScramCredentialUpsertion
    from kwire.protocol.scram_passwords import SALT_BYTES, salted_password

    salt = token_bytes(SALT_BYTES)
    return ScramCredentialUpsertion(
        name=credential.user,
        mechanism=credential.mechanism.code,
        iterations=credential.iterations,
        salt=salt,
        salted_password=salted_password(credential.mechanism, credential.password, salt, credential.iterations),
    )
