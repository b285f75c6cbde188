"""The targets of requests to a cluster: the brokers that may answer them."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, Protocol
from kwire.client.admin.errors import BrokerNotFound, ControllerNotFound
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from kwire.client.admin.metadata_cache import ClientMetadata
    from kwire.client.admin.values import BrokerAddress, ClusterDescription


class BrokerDirectory(Protocol):
    """The brokers of a cluster as a client knows them: see `ClusterRouter`."""

    metadata: ClientMetadata

    def known_brokers(self) -> tuple[Endpoint, ...]: ...

    def put_last(self, endpoint: Endpoint) -> None: ...

    async def look_up_controller(self, failures: dict[str, str]) -> BrokerAddress | None: ...

    async def describe_cluster(self) -> ClusterDescription: ...


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


class Target(Protocol):
    """The broker that a request needs.

    Attributes:
        is_single: True to give up when the broker cannot be reached, because another one may be responsible then.
    """

    @property
    def is_single(self) -> bool: ...

    async def locate(self, router: BrokerDirectory, failures: dict[str, str]) -> Endpoint | None:
        """Return the broker, or None if no broker knows it at the moment.

        Args:
            failures: receives, by broker, why it did not name the target.
        """

    def forget(self, router: BrokerDirectory, endpoint: Endpoint) -> None:
        """Discard what is known about the target: `endpoint` failed or is not responsible any more."""

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        """Return the error for a target that was not found in time."""


class AnyBroker:
    """Any broker. Brokers that failed are tried last."""

    is_single = False

    async def locate(self, router: BrokerDirectory, failures: dict[str, str]) -> Endpoint:
        del failures
        return router.known_brokers()[0]

    def forget(self, router: BrokerDirectory, endpoint: Endpoint) -> None:
        router.put_last(endpoint)

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        return ControllerNotFound(seconds, failures)


class ControllerTarget:
    """The controller of the cluster."""

    is_single = False

    async def locate(self, router: BrokerDirectory, failures: dict[str, str]) -> Endpoint | None:
        controller = router.metadata.controller or await router.look_up_controller(failures)
        return None if controller is None else Endpoint(controller.host, controller.port)

    def forget(self, router: BrokerDirectory, endpoint: Endpoint) -> None:
        router.put_last(endpoint)
        router.metadata.controller = None

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        return ControllerNotFound(seconds, failures)


class BrokerTarget(NamedTuple):
    """One broker, by its id. A broker that was listed before and is not any more may be restarting."""

    id: int
    is_single: bool = False

    async def locate(self, router: BrokerDirectory, failures: dict[str, str]) -> Endpoint | None:
        del failures
        cache = router.metadata
        if self.id not in cache.brokers:
            await router.describe_cluster()
        if self.id not in (cache.brokers if self.is_single else cache.listed_ids):
            raise BrokerNotFound(self.id)
        return cache.brokers.get(self.id)

    def forget(self, router: BrokerDirectory, endpoint: Endpoint) -> None:
        router.put_last(endpoint)
        router.metadata.forget_broker(self.id)

    def not_found(self, seconds: float, failures: dict[str, str]) -> Exception:
        del seconds, failures
        return BrokerNotFound(self.id)


ANY = AnyBroker()
CONTROLLER = ControllerTarget()
