"""The configs of a document, for pipelines: the part `desired-configs`."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.admin import ConfigResource, ConfigResourceType
from kwire_admin.operations.cluster_document.document import read

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def desired_configs(file: Path) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """Return the configs of a document by type and name of their resource, without secrets.

    The defaults of all brokers are of the resource `("cluster", "")`.

    Raises:
        InvalidArgument: see `read`.
    """

    def key_of(resource: ConfigResource) -> tuple[str, str]:
        is_default = resource.type is ConfigResourceType.BROKER and not resource.name
        return ("cluster", "") if is_default else (resource.type.singular, resource.name)

    return {
        key_of(resource): {name: value for name, value in values.items() if value is not None}
        for resource, values in read(file).configs.items()
    }
