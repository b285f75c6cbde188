"""The extra of kwire that brings a missing library, as the metadata of the products says; or the engine."""

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
    if error.name == "kwire._kwire":
        return ENGINE_MISSING
    module = (error.name or "").partition(".")[0]
    if module == "kwire":
        return None
    extra = _extra_with({"yaml": "pyyaml"}.get(module, module.replace("_", "-")))
    return None if extra is None else f"this needs {module}: pip install 'kwire[{extra}]'"


def _extra_with(distribution: str) -> str | None:
    """Return the extra of kwire with a distribution; an extra of another product has the same name in kwire."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    from kwire._util.products import PRODUCTS

    for product, extra_of_all in {"kwire": None, **{name: extra for name, (extra, _) in PRODUCTS.items()}}.items():
        try:
            requirements = requires(product) or []
        except PackageNotFoundError:  # it is not installed, or a source tree
            continue
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)
            if name is not None and name[0].lower() == distribution:
                extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
                return extra_of_all if extra is None else extra[1]
    return None
