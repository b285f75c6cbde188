r"""Properties of characters in Java's regular expressions, such as `\d` and `\p{Upper}`, for characters of ASCII."""

from __future__ import annotations

import unicodedata

__all__ = ["PREDEFINED", "PropertyUnknown", "property_members"]

ASCII = tuple(map(chr, range(0x80)))
LETTERS = frozenset(filter(str.isalpha, ASCII))
UPPER, LOWER = frozenset(filter(str.isupper, ASCII)), frozenset(filter(str.islower, ASCII))
DIGITS = frozenset("0123456789")
VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))
SPACES = frozenset(" \t\n\v\f\r")
CONTROL = frozenset(ASCII) - VISIBLE - {" "}
PUNCTUATION = VISIBLE - LETTERS - DIGITS
POSIX = {
    "ASCII": frozenset(ASCII),
    "Alnum": LETTERS | DIGITS,
    "Alpha": LETTERS,
    "Blank": frozenset(" \t"),
    "Cntrl": CONTROL,
    "Digit": DIGITS,
    "Graph": VISIBLE,
    "L1": frozenset(ASCII),
    "Lower": LOWER,
    "Print": VISIBLE | {" "},
    "Punct": PUNCTUATION,
    "Space": SPACES,
    "Upper": UPPER,
    "XDigit": frozenset("0123456789abcdefABCDEF"),
    "all": frozenset(ASCII),
    "javaAlphabetic": LETTERS,
    "javaDefined": frozenset(ASCII),
    "javaDigit": DIGITS,
    "javaLetter": LETTERS,
    "javaLetterOrDigit": LETTERS | DIGITS,
    "javaLowerCase": LOWER,
    "javaTitleCase": frozenset[str](),
    "javaUpperCase": UPPER,
    "javaWhitespace": SPACES | frozenset("\x1c\x1d\x1e\x1f"),
}
PREDEFINED = {
    "d": "0123456789",
    "h": " \t\xa0",
    "s": " \t\n\v\f\r",
    "v": "\n\v\f\r\x85",
    "w": "".join(sorted(LETTERS | DIGITS | {"_"})),
}
"""Predefined classes; the upper-case letter is the complement."""
CATEGORY_NAMES = (
    "Cn Lu Ll Lt Lm Lo Mn Me Mc Nd Nl No Zs Zl Zp Cc Cf Co Cs Pd Ps Pe Pc Po Sm Sc Sk So Pi Pf L M N Z C P S LC LD"
)
CATEGORIES = frozenset(CATEGORY_NAMES.split())
BINARY = {
    "ALNUM": LETTERS | DIGITS,
    "ALPHA": LETTERS,
    "ALPHABETIC": LETTERS,
    "ASSIGNED": frozenset(ASCII),
    "BLANK": frozenset(" \t"),
    "CNTRL": CONTROL,
    "CONTROL": CONTROL,
    "DIGIT": DIGITS,
    "GRAPH": VISIBLE,
    "HEXDIGIT": POSIX["XDigit"],
    "HEX_DIGIT": POSIX["XDigit"],
    "IDEOGRAPHIC": frozenset[str](),
    "LETTER": LETTERS,
    "LOWER": LOWER,
    "LOWERCASE": LOWER,
    "PRINT": VISIBLE | {" "},
    "PUNCTUATION": frozenset(each for each in PUNCTUATION if unicodedata.category(each).startswith("P")),
    "SPACE": SPACES,
    "TITLECASE": frozenset[str](),
    "UPPER": UPPER,
    "UPPERCASE": UPPER,
    "WHITESPACE": SPACES,
    "WHITE_SPACE": SPACES,
    "WORD": LETTERS | DIGITS | {"_"},
    "XDIGIT": POSIX["XDigit"],
}
BINARY["PUNCT"] = BINARY["PUNCTUATION"]
CATEGORY_GROUPS = {"LC": ("Lu", "Ll", "Lt"), "LD": ("L", "Nd")}
PROPERTY_NAMES = (
    "ALPHABETIC ASSIGNED CONTROL HEXDIGIT HEX_DIGIT IDEOGRAPHIC LETTER LOWERCASE PUNCTUATION TITLECASE UPPERCASE "
    "WHITESPACE WHITE_SPACE WORD"
)
UNICODE_NAMES = frozenset(PROPERTY_NAMES.split())
"""Binary properties after `Is`. The other names of `BINARY` are those of POSIX, which the flag `U` redefines."""
PROPERTIES_OF_CASE = "Upper Lower UPPERCASE LOWERCASE TITLECASE javaUpperCase javaLowerCase javaTitleCase Lu Ll Lt"
CASE_NAMES = frozenset(PROPERTIES_OF_CASE.split())
"""Properties that contain both cases with the flag `i`."""


class PropertyUnknown(ValueError):
    """Java or this module has no property of a name."""


def property_members(name: str, *, ignore_case: bool, is_unicode: bool) -> frozenset[str]:
    """Return the characters of ASCII with a property.

    Args:
        name: the name, such as `Upper`, `Lu`, `IsAlphabetic`, or `gc=Lu`.
        ignore_case: True to let properties of upper and lower case contain both.
        is_unicode: True for the definitions of Unicode instead of those of POSIX.

    Raises:
        PropertyUnknown: there is none, or it is a block or script of Unicode.
    """
    key, equals, value = name.partition("=")
    plain = name.removeprefix("Is")
    if equals and key.lower() in ("gc", "general_category"):
        plain, members = value, _members_in_java(value)
    elif name.startswith("Is") and plain.upper() in UNICODE_NAMES:
        plain = plain.upper()
        members = BINARY[plain]
    elif is_unicode and name.upper() in BINARY.keys() - UNICODE_NAMES:
        members = BINARY[name.upper()]
        plain = name.capitalize()
    else:
        members = _members_in_java(plain)
    return LETTERS if ignore_case and plain in CASE_NAMES else members


def _members_in_java(name: str) -> frozenset[str]:
    if name in POSIX:
        return POSIX[name]
    if name in CATEGORIES:
        prefixes = CATEGORY_GROUPS.get(name, (name,))
        return frozenset(each for each in ASCII if unicodedata.category(each).startswith(prefixes))
    raise PropertyUnknown(f"unknown or unsupported character property name {{{name}}}")
