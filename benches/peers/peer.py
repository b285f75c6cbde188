"""What a peer offers: a codec for one message in one version, or the reason why it has none.

A codec reads its payload, which is the workload's own bytes unless the peer has a format of its own, and gives back its
own objects. `content` turns these into plain tuples, by which they are compared before anything is timed. What a peer
encodes is what it decoded: the objects its users would hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.content import Content
    from benches.workloads import Workload


class Unable(Exception):
    """A peer does not have this message in this version; the text says what it does have."""


@dataclass(frozen=True, slots=True)
class Codec:
    """How one peer handles one message in one version. The result of `decode` is freed by dropping it."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    content: Callable[[Any], Content]
    validate: Callable[[bytes], None] | None = None
    """Checks bytes without making objects of them, where a peer can do that."""


class Peer(ABC):
    """One library that is measured. It has no state, so that a process of its own can make it again."""

    name: ClassVar[str]
    """As it is called in tables."""
    distribution: ClassVar[str]
    """As it is installed; tells the version."""
    imports: ClassVar[str]
    """The statement by which a program gets at MetadataResponse, to be timed in a fresh interpreter."""
    own_format: ClassVar[bool] = False
    """Whether it reads something else than Kafka's bytes."""

    @property
    def version(self) -> str:
        """Of what is installed."""
        return version(self.distribution)

    def payload(self, workload: Workload) -> bytes:
        """What it is given to read."""
        return workload.body()

    @abstractmethod
    def codec(self, message: str, version: int) -> Codec:
        """Its way with one message in one version; raises Unable."""


PEERS = ("kwire", "msgspec", "kio", "kafka_python", "aiokafka", "reference")
"""The modules of this package, in the order of the tables."""


def load(module: str) -> Peer:
    """The peer of a module; ImportError says what is not installed."""
    peer: Peer = import_module(f"benches.peers.{module}").PEER
    return peer
