"""The finalized features as a node knows them (KIP-584).

A node reads `/features` before it registers, and watches it. A node that does not support the finalized features must
not serve the cluster: it does not start, and stops in order if a later change is incompatible with it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire_cluster.config.value_types import FeatureSupport
from kwire_cluster.controller.feature_rules import incompatibilities
from kwire_cluster.node.logs import logger
from kwire_cluster.node.znode_watcher import ZnodeWatcher
from kwire_cluster.zookeeper.errors import NotAuthorized, ZnodeError
from kwire_cluster.zookeeper.features import VersionedFeatures, read_features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kwire_cluster.config.value_types import FeatureSupport
    from kwire_cluster.zookeeper import Store

log = logger(__name__)


class IncompatibleFeatures(KwireError):
    """A node does not support the finalized features of its cluster.

    Attributes:
        epoch: the epoch of the finalized features.
        reasons: one sentence for each feature.
    """

    def __init__(self, epoch: int, reasons: Sequence[str]) -> None:
        super().__init__(epoch, tuple(reasons))
        self.epoch = epoch
        self.reasons = tuple(reasons)

    def __str__(self) -> str:
        return (
            f"this node does not support the finalized features of the cluster, epoch {self.epoch}:"
            f" {'; '.join(self.reasons)}: run a release that supports them, or downgrade them first"
        )


class FeatureCache:
    """The finalized features at the highest epoch that this node has read.

    Args:
        supported: the features that this node supports.
        on_change: called after every change.
    """

    def __init__(self, supported: Mapping[str, FeatureSupport], on_change: Callable[[], None]) -> None:
        self.supported = supported
        self.current = VersionedFeatures(None, -1)
        self.error: IncompatibleFeatures | None = None
        """The reason for which this node must stop."""
        self.is_updating = False
        """True while this node, as the controller, is processing UpdateFeatures."""
        self._on_change = on_change
        self._changed = asyncio.Event()

    @property
    def is_enabled(self) -> bool:
        """True if feature versioning is enabled."""
        return self.current.znode is not None and self.current.znode.enabled

    def set(self, features: VersionedFeatures) -> None:
        """Take over finalized features, unless a later epoch is known.

        Raises:
            IncompatibleFeatures: this node does not support them.
        """
        if features.epoch < self.current.epoch:
            log.warning("ignoring an earlier epoch of the features", epoch=features.epoch, known=self.current.epoch)
            return
        if features == self.current:
            return
        self.current = features
        reasons = incompatibilities(features.znode, self.supported)
        self.error = IncompatibleFeatures(features.epoch, reasons) if reasons else None
        self._on_change()
        self._changed.set()
        self._changed = asyncio.Event()
        if self.error is not None:
            raise self.error

    async def wait_epoch(self, epoch: int) -> None:
        """Wait until the features of this epoch, or a later one, are known."""
        while self.current.epoch < epoch:
            await self._changed.wait()

    async def wait_incompatible(self) -> IncompatibleFeatures:
        """Wait until this node does not support the finalized features."""
        while self.error is None:
            await self._changed.wait()
        return self.error


class FeatureWatcher(ZnodeWatcher):
    """Copies the finalized features from ZooKeeper to the cache, for one session."""

    def __init__(self, store: Store, cache: FeatureCache) -> None:
        super().__init__(store, "features")
        self._cache = cache

    async def _read_all(self) -> None:
        """Read the features. Malformed or unreadable ones leave the cache as it is.

        Raises:
            IncompatibleFeatures: this node does not support them.
        """
        try:
            features = await read_features(self._store, self._on_event)
        except ZnodeError as error:
            log.error("ignoring malformed znode", path=error.path, key=error.key, reason=error.reason)
        except NotAuthorized as error:
            log.error("cannot read the finalized features", reason=str(error))
        else:
            if features.znode is not None:  # a deleted znode is written again by the controller
                self._cache.set(features)

    async def _read_changed(self) -> None:
        try:
            await self._read_all()
        except IncompatibleFeatures as error:  # the node waits for it (`FeatureCache.wait_incompatible`)
            log.error("this node must stop", reason=str(error))
