"""The APIs that a node serves, one module per API.

A module is found by its name, as messages are: `create_topic` serves every version of CreateTopic, that is, all request
classes with the API key of `CreateTopicRequest`. Dispatch and ApiVersions derive from the modules of this package, so
adding an API means adding one file, and a declared API without a file is not served.

A module defines `handle(request, context)`, typed with the request classes that it serves. A handler that responds from
memory is a function; its response is kept until the metadata changes. A handler that waits is a coroutine function.
Both return a message, or the bytes of an encoded response body, in the version of the request. Modules are imported
when the first request arrives.

`PERMISSIONS` of a module lists the permissions that `handle` checks; it is empty if everybody may send the request.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, TypeAlias

from kwire.declare.introspect import describe
from kwire.messages import UnknownMessage, every, module_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kwire.declare import Message
    from kwire_cluster.node.requests.request_context import RequestContext

    Response: TypeAlias = Message | bytes
    Handler: TypeAlias = Callable[[Any, RequestContext], Response | Awaitable[Response]]

DIALECT = "kip4"


@cache
def served_requests() -> Mapping[type[Message], str]:
    """Return the request classes that are served, each with the name of its module in this package.

    Raises:
        UnknownMessage: a module is not named after a request of the dialect.
    """
    requests = [cls for cls in every(DIALECT) if describe(cls).kind == "request"]
    api_keys = {module_name(cls.__name__): cls.api_key for cls in requests}
    modules = {}
    for module in iter_modules(__path__):
        if module.name not in api_keys:
            raise UnknownMessage(DIALECT, kind="request", name=module.name)
        modules[api_keys[module.name]] = module.name
    return {cls: modules[cls.api_key] for cls in requests if cls.api_key in modules}


def find_handler(request: type[Message]) -> Handler:
    """Return the handler of a request class, importing its module.

    Raises:
        KeyError: the API is not served.
    """
    handler: Handler = import_module(f"{__name__}.{served_requests()[request]}").handle
    return handler
