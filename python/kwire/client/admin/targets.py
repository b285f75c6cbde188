"""The targets of requests to a cluster: the brokers that may answer them. `ClusterRouter` finds them."""

from __future__ import annotations

from enum import Enum, auto

from kwire._util.light_typing import NamedTuple, TypeAlias


class SentCommand:
    """A command that was sent, or is about to be.

    Attributes:
        request: the name of the request message.
        answered: True once its response has arrived.
    """

    __slots__ = ("answered", "request")

    def __init__(self, request: str) -> None:
        self.request = request
        self.answered = False


class BrokerRole(Enum):
    """A target that several brokers can be. Brokers that failed are tried last."""

    ANY = auto()
    CONTROLLER = auto()

    @property
    def is_single(self) -> bool:
        """False: another broker is tried when one cannot be reached."""
        return False


class BrokerTarget(NamedTuple):
    """One broker. A broker that was listed before and is not any more may be restarting.

    Attributes:
        id: its id.
        is_single: True to give up when the broker cannot be reached, because another one may be responsible then.
    """

    id: int
    is_single: bool = False


Target: TypeAlias = BrokerRole | BrokerTarget
ANY, CONTROLLER = BrokerRole.ANY, BrokerRole.CONTROLLER
