"""Kafka's requests for users with SCRAM credentials (KIP-554)."""

from __future__ import annotations

from secrets import token_bytes

from kwire._util.concurrency import to_thread
from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin.answer import complete, error_code, first_error_code
from kwire.client.admin.cluster_router import ANY, BrokerTarget
from kwire.client.admin.errors import AdminError
from kwire.client.admin.scram_values import ScramCredentialInfo, ScramMechanismName
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from kwire.protocol.scram_passwords import SALT_BYTES, salted_password

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire.client.admin.backend import ScramUsers
    from kwire.client.admin.cluster_router import ClusterRouter, Target
    from kwire.client.admin.scram_values import UserScramCredentialDeletion, UserScramCredentialUpsertion
    from kwire.client.admin.values import Outcomes

__all__ = ["KafkaScramUsers"]


class KafkaScramUsers:
    """SCRAM credentials in a cluster of Apache Kafka."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self, users: tuple[str, ...]) -> ScramUsers:
        return await self._describe(users, ANY)

    async def reported(self, broker_id: int) -> Mapping[str, Mapping[ScramMechanismName, int]]:
        """Return the iterations that one broker applies.

        Raises:
            AdminError: the broker cannot report the credentials of a user.
        """
        iterations: dict[str, Mapping[ScramMechanismName, int]] = {}
        for user, infos in (await self._describe((), BrokerTarget(broker_id))).items():
            if isinstance(infos, AdminError):
                raise infos
            iterations[user] = {info.mechanism: info.iterations for info in infos}
        return iterations

    async def _describe(self, users: tuple[str, ...], target: Target) -> ScramUsers:
        names = tuple(UserName(name=user) for user in dict.fromkeys(users))
        # No names stand for all users, as null does. Kafka 4.4 never refuses a request with null, but stays silent.
        request = DescribeUserScramCredentialsRequest(users=names)
        answer = await self._router.read(request, target, error_code)
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

    async def alter(
        self,
        upsertions: Iterable[UserScramCredentialUpsertion],
        deletions: Iterable[UserScramCredentialDeletion],
    ) -> Outcomes:
        """Change credentials with one command. It is repeated unless it deletes: the second deletion would fail."""
        deleted = tuple(
            ScramCredentialDeletion(name=deletion.user, mechanism=deletion.mechanism.code) for deletion in deletions
        )
        # Thousands of iterations of a hash would block the event loop.
        upserted = await to_thread(lambda: tuple(map(_salted, upsertions)))
        request = AlterUserScramCredentialsRequest(deletions=deleted, upsertions=upserted)
        answer = await self._router.command(request, error_code=first_error_code("results"), repeatable=not deleted)
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
