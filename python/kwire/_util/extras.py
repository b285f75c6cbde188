"""The extra of kwire that brings a library, as the metadata of the installed package says."""

from __future__ import annotations

__all__ = ["install_hint"]


def install_hint(error: ModuleNotFoundError) -> str | None:
    """Return how to install the library that is missing; None if no extra of kwire brings it.

    The text is such as "this needs numpy: pip install 'kwire[reassign]'".
    """
    import re
    from importlib.metadata import PackageNotFoundError, requires

    module = (error.name or "").partition(".")[0]
    if module == "kwire":
        return None
    distribution = {"yaml": "pyyaml"}.get(module, module.replace("_", "-"))
    try:
        requirements = requires("kwire") or []
    except PackageNotFoundError:  # a source tree that is not installed
        return None
    for requirement in requirements:
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement)
        if match is not None and match[1].lower() == distribution:
            return f"this needs {module}: pip install 'kwire[{match[2]}]'"
    return None
