"""The extra of kwire that brings a missing library, as the metadata of the package says; or the engine."""

from __future__ import annotations

__all__ = ["install_hint"]

ENGINE_MISSING = (
    "this needs the engine of kwire, its compiled part, which the wheel for this platform or Python version lacks: use "
    "one of the platforms and versions with a compiled wheel, or build kwire from source with Rust"
)


def install_hint(error: ModuleNotFoundError) -> str | None:
    """Return how to install the library or the engine that is missing; None if no extra of kwire brings it.

    The text is such as "this needs numpy: pip install 'kwire[reassign]'".
    """
    import re
    from importlib.metadata import PackageNotFoundError, requires

    if error.name == "kwire._kwire":
        return ENGINE_MISSING
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
