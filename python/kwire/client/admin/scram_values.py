"""SCRAM credentials of users (KIP-554). Passwords are secrets, which `repr` and errors do not show."""

from __future__ import annotations

from kwire._util.light_dataclasses import dataclass
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.admin.values import CodedName
from kwire.protocol.scram_passwords import MIN_ITERATIONS

if TYPE_CHECKING:
    from kwire._util.secret import Secret


class ScramMechanismName(CodedName):
    """The name of a SCRAM mechanism."""

    UNKNOWN = "UNKNOWN", 0
    SCRAM_SHA_256 = "SCRAM-SHA-256", 1
    SCRAM_SHA_512 = "SCRAM-SHA-512", 2


class ScramCredentialInfo(NamedTuple):
    """A credential without its secrets: the mechanism, and the number of hash iterations."""

    mechanism: ScramMechanismName
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScramCredentialUpsertion:
    """A credential to create or replace.

    Attributes:
        user: the name of the user.
        password: the password. It is not sent, only what RFC 5802 derives from it.
        mechanism: the mechanism.
        iterations: the number of hash iterations, from 4096 to 16384 in Kafka.
    """

    user: str
    password: Secret
    mechanism: ScramMechanismName = ScramMechanismName.SCRAM_SHA_512
    iterations: int = MIN_ITERATIONS

    def __post_init__(self) -> None:
        if not self.password:
            raise ValueError("the password is empty")
        if self.mechanism is ScramMechanismName.UNKNOWN:
            raise ValueError("the mechanism of a credential must be SCRAM-SHA-256 or SCRAM-SHA-512")
        if self.iterations < MIN_ITERATIONS:
            raise ValueError(f"{self.iterations} iterations are too few: at least {MIN_ITERATIONS} are secure")


class UserScramCredentialDeletion(NamedTuple):
    """A credential to delete."""

    user: str
    mechanism: ScramMechanismName
