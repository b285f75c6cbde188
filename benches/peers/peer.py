"""The interface of the libraries that are compared.

A codec decodes a payload, which is the encoded workload unless the peer has its own format, to the objects of the
peer. `content` converts these to plain tuples, which are compared before measuring. A peer encodes the objects that it
decoded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benches.content import Content
    from benches.workloads import Workload


class Unable(Exception):
    """The peer lacks this message in this version."""


@dataclass(frozen=True, slots=True)
class Codec:
    """The functions of a peer for one message in one version."""

    decode: Callable[[bytes], Any]
    encode: Callable[[Any], bytes]
    content: Callable[[Any], Content]
    validate: Callable[[bytes], None] | None = None
    """Checks bytes without building objects, if the peer supports it."""
    view: Callable[[Sequence[str], bytes], None] | None = None
    """Reads one partition of each of the named topics without building the message, if the peer supports it."""


class Peer(ABC):
    """A library that is measured. It has no state, so that other processes can create it again."""

    name: ClassVar[str]
    """The name in tables."""
    distribution: ClassVar[str]
    """The name of the distribution, which has the version."""
    imports: ClassVar[str]
    """The statement that imports MetadataResponse. Its time is measured in a new interpreter."""

    @property
    def version(self) -> str:
        """The installed version."""
        return version(self.distribution)

    def payload(self, workload: Workload) -> bytes:
        """Return the bytes to decode."""
        return workload.body()

    @abstractmethod
    def codec(self, message: str, version: int) -> Codec:
        """Return the codec for one message in one version.

        Raises:
            Unable: the peer lacks it.
        """


PEERS = ("kwire", "kwire_tagged", "msgspec", "kio", "kafka_python", "reference")
"""The peers by module, in the order of tables."""


def load(module: str) -> Peer:
    """Return the peer of a module.

    Raises:
        ImportError: its library is not installed.
    """
    peer: Peer = import_module(f"benches.peers.{module}").PEER
    return peer
