r"""JSON from outside of the process, with every refusal as one error.

`json.loads` reports malformed text as JSONDecodeError, deep nesting as RecursionError, and a number of more than 4,300
digits as another ValueError. It accepts lone surrogates (`"\ud800"`), which no broker, file, or terminal can be given
later: encoding them is a UnicodeEncodeError far from the place that let them in.
"""

from __future__ import annotations

import json
import re

from kwire._util.light_typing import Any

__all__ = ["MalformedJson", "parse_json_document", "unique_keys"]

SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedJson(ValueError):
    """A text is not JSON that can be used.

    Attributes:
        reason: the mistake, without a part of the text, which can be a secret.
        line: the number of the line; None if it is not known.
    """

    def __init__(self, reason: str, line: int | None = None, place: str = "") -> None:
        self.reason, self.line = reason, line
        super().__init__(reason + place)


def parse_json_document(text: str | bytes, **hooks: Any) -> Any:
    """Return the value of a JSON text. The hooks are those of `json.loads`; their own errors pass through.

    Raises:
        MalformedJson: the text is not JSON in Unicode, is nested too deeply, or has a number of too many digits or a
            lone surrogate.
    """
    try:
        decoded = text.decode(json.detect_encoding(text), "surrogatepass") if isinstance(text, bytes) else text
        value = json.loads(decoded, **hooks)
    except json.JSONDecodeError as error:
        place = f": line {error.lineno} column {error.colno} (char {error.pos})"
        raise MalformedJson(error.msg, error.lineno, place) from None
    except UnicodeDecodeError:
        raise MalformedJson("not a text in Unicode") from None
    except RecursionError:
        raise MalformedJson("nested too deeply") from None
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise  # of a hook
        raise MalformedJson("a number has too many digits") from None
    if not decoded.isascii() or SURROGATE_ESCAPE.search(decoded):
        _refuse_surrogates(value, decoded)
    return value


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, as a hook for `object_pairs_hook`. Without it, the last one of equal keys counts.

    Raises:
        MalformedJson: a key appears twice.
    """
    values = dict(pairs)
    if len(values) != len(pairs):
        raise MalformedJson("a key appears twice")
    return values


def _refuse_surrogates(value: Any, text: str) -> None:
    """Refuse text that is not Unicode. Two escapes can be one character, so the values decide."""
    try:
        text.encode()
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise MalformedJson("a text has a lone surrogate, which is not a character") from None
