"""Series as text: rendered when they change, joined when they are scraped.

A family has a block of text for each topic, group, or group and topic. A scrape joins the blocks of all families. For
gzip, each family is one run of deflate blocks that ends at a byte, so its text is joined and compressed again only if
it changed: runs can be concatenated, and one header and checksum make a gzip member of them (RFC 1952). The checksum of
a concatenation follows from those of its parts, as in zlib's `crc32_combine`.
"""

from __future__ import annotations

import zlib
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_admin.exporter.offset_history import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from kwire_admin.exporter.metric_table import Metric

__all__ = ["OPENMETRICS", "TEXT", "Family", "MetricsPage", "escape"]

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
LAST_BLOCK = b"\x03\x00"
"""An empty final block of deflate."""
CRC_POLYNOMIAL = 0xEDB8_8320
"""The polynomial of CRC-32 with the coefficient of x**0 in the highest bit; x**32 is left out."""
ONE = 1 << 31
"""The polynomial 1."""


class CompressedText(NamedTuple):
    """Text as deflate blocks that end at a byte, none of them the last one.

    Attributes:
        blocks: the blocks.
        checksum: the CRC-32 of the text.
        size: length of the text in bytes.
        shift: the polynomial that moves a checksum behind which the text is appended.
    """

    blocks: bytes
    checksum: int
    size: int
    shift: int

    @classmethod
    def of(cls, blocks_of_text: Iterable[bytes]) -> CompressedText:
        """Compress a text."""
        text = b"".join(blocks_of_text)
        stream = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
        blocks = stream.compress(text) + stream.flush(zlib.Z_SYNC_FLUSH)
        return cls(blocks, zlib.crc32(text), len(text), _power(8 * len(text)))

    def checksum_after(self, before: int) -> int:
        """Return the checksum of a text with a checksum, followed by this text."""
        return _product(self.shift, before) ^ self.checksum


def _product(left: int, right: int) -> int:
    """Multiply two polynomials modulo the polynomial of CRC-32."""
    product = 0
    while left:
        if left & ONE:
            product ^= right
        left = left << 1 & 0xFFFF_FFFF
        right = right >> 1 ^ CRC_POLYNOMIAL if right & 1 else right >> 1
    return product


def _power(exponent: int) -> int:
    """Return a power of x modulo the polynomial of CRC-32."""
    power, square = ONE, ONE >> 1
    while exponent:
        if exponent & 1:
            power = _product(square, power)
        square = _product(square, square)
        exponent >>= 1
    return power


class Family:
    """The series of one metric of one cluster.

    Args:
        metric: its declaration.

    Attributes:
        metric: its declaration.
        series: number of series.
        included: number of series that a page shows, below `series` if there are too many.
        version: number of changes of the text so far.
    """

    __slots__ = (
        "_blocks",
        "_compressed",
        "_counts",
        "_prefix",
        "_template",
        "included",
        "metric",
        "series",
        "version",
    )  # fmt: skip

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.series = self.included = self.version = 0
        self._blocks: dict[Hashable, bytes] = {}
        self._counts: dict[Hashable, int] = {}
        self._compressed: tuple[int, CompressedText | None] = (-1, None)
        self.set_constant({})

    def set_constant(self, constant: Mapping[str, str]) -> None:
        """Set the labels that all series have. Series with other ones are removed."""
        self.clear()
        # One template is the fastest way to format. Lines of partitions, the last label, share all text before it.
        fixed = [f'{name}="{escape(value)}"'.replace("%", "%%") for name, value in constant.items()]
        labels = ",".join([*fixed, *(f'{name}="%s"' for name in self.metric.labels)])
        self._template = f"{self.metric.name}{{{labels}}} %s\n"
        self._prefix = f"{self.metric.name}{{{labels}".removesuffix('%s"')

    def clear(self) -> None:
        """Remove all series."""
        self._blocks.clear()
        self._counts.clear()
        self.series = self.included = 0
        self.version += 1

    def set(self, key: Hashable, text: str) -> None:
        """Replace the lines of a topic, a group, or the cluster; an empty text removes them."""
        block = text.encode()
        if self._blocks.get(key, b"") == block:
            return
        count = block.count(b"\n")
        self.series += count - self._counts.pop(key, 0)
        if block:
            self._blocks[key], self._counts[key] = block, count
        else:
            del self._blocks[key]
        self.version += 1

    def replace_values(self, key: Hashable, values: Iterable[tuple[bytes, bytes]]) -> None:
        """Replace values of the lines of a group's topic: each `(before, after)` in all lines, in this order."""
        block = self._blocks.get(key)
        if block is not None:
            for before, after in values:  # a label's value has no line feed, so this is the end of a line
                block = block.replace(b" %b\n" % before, b" %b\n" % after)
            self._blocks[key] = block
            self.version += 1

    def line(self, key: Sequence[str], source: Any) -> str:
        """Return the line of a topic, a group, or a group's topic; an empty text if its value is UNKNOWN."""
        value = getattr(source, self.metric.value)
        further: Sequence[object] = ()
        if self.metric.has_further_labels:
            further, value = value
        if value is None or (value == UNKNOWN and not self.metric.is_signed):
            return ""
        return self._template % (*map(escape, key), *_escaped(further), value)

    def lines(self, value: Any) -> str:
        """Return the lines of a value of the cluster: a number, None, or pairs of values of labels and a number."""
        if value is None:
            return ""
        # Two series of a page cannot have the same labels: the last value counts.
        numbers = dict(value) if self.metric.has_further_labels else {(): value}
        return "".join([self._template % (*_escaped(labels), number) for labels, number in numbers.items()])

    def partition_lines(self, key: Sequence[str], indexes: Sequence[int], values: Sequence[float]) -> str:
        """Return the lines of partitions, without UNKNOWN values unless the metric is signed."""
        prefix = self._prefix % tuple(map(escape, key))
        pairs = zip(indexes, values, strict=True)
        if self.metric.is_sparse:
            return "".join([f'{prefix}{index}"}} 1\n' for index, value in pairs if value])
        if self.metric.is_signed:
            return "".join([f'{prefix}{index}"}} {value}\n' for index, value in pairs])
        return "".join([f'{prefix}{index}"}} {value}\n' for index, value in pairs if value >= 0])

    def include(self, limit: int) -> int:
        """Show at most `limit` series, and return their number. Blocks that were added first come first."""
        included = min(self.series, limit)
        self.version += included != self.included
        self.included = included
        return included

    def blocks(self) -> Sequence[bytes]:
        """Return the blocks of the lines that a page shows."""
        if self.included == self.series:
            return [*self._blocks.values()]
        blocks, left = [], self.included
        for key, block in self._blocks.items():
            if left <= 0:
                break
            # Lines end at \n only: the name of a group can contain \r.
            blocks.append(block if self._counts[key] <= left else b"\n".join([*block.split(b"\n", left)[:left], b""]))
            left -= self._counts[key]
        return blocks

    def compressed(self) -> CompressedText | None:
        """Return the text that a page shows in compressed form; None if it changed since it was compressed."""
        version, compressed = self._compressed
        return compressed if version == self.version else None

    def keep(self, version: int, compressed: CompressedText) -> None:
        """Take the compressed text of a version. May be called in any thread."""
        self._compressed = version, compressed


class PagePart(NamedTuple):
    """The text of a family, of a header, or of this process.

    Attributes:
        blocks: the blocks of the text; none if `compressed` suffices. They are joined when they are sent or compressed,
            so that the texts of all families are not in memory at the same time.
        compressed: all of it, if it was compressed before; else None.
        family: the family with its version; None for other text.
    """

    blocks: Sequence[bytes]
    compressed: CompressedText | None = None
    family: tuple[Family, int] | None = None

    def compress(self) -> CompressedText:
        """Return the text in compressed form, and keep it in its family."""
        if self.compressed is not None:
            return self.compressed
        compressed = CompressedText.of(self.blocks)
        if self.family is not None:
            family, version = self.family
            family.keep(version, compressed)
        return compressed


class MetricsPage(NamedTuple):
    """The series at one time, ready to be sent.

    Attributes:
        parts: the headers of metrics, each followed by the lines of its families.
    """

    parts: Sequence[PagePart]

    @classmethod
    def of(
        cls, metrics: Iterable[Sequence[Family]], process_text: bytes, *, openmetrics: bool, is_gzip: bool
    ) -> MetricsPage:
        """Join the families of all clusters, metric by metric.

        Args:
            metrics: for each metric, its families.
            process_text: the metrics of this process in the same format, with the end of the page.
            openmetrics: the format: OpenMetrics, or Prometheus' text.
            is_gzip: True if `gzip` will be called, so that what is compressed already is not joined.
        """
        parts: list[PagePart] = []
        for of_metric in metrics:
            if any(family.included for family in of_metric):
                parts.append(PagePart([of_metric[0].metric.header(openmetrics=openmetrics).encode()]))
                for family in of_metric:
                    compressed = family.compressed() if is_gzip else None
                    blocks = () if compressed else family.blocks()
                    parts.append(PagePart(blocks, compressed, (family, family.version)))
        return cls([*parts, PagePart([process_text])])

    def text(self) -> bytes:
        """Return the page."""
        return b"".join([block for part in self.parts for block in part.blocks])

    def gzip(self) -> bytes:
        """Return the page as one gzip member. May be called in any thread."""
        pieces, checksum, size = [GZIP_HEADER], 0, 0
        for part in self.parts:
            compressed = part.compress()
            pieces.append(compressed.blocks)
            checksum, size = compressed.checksum_after(checksum), size + compressed.size
        return b"".join([*pieces, LAST_BLOCK, pack("<II", checksum, size & 0xFFFF_FFFF)])


def escape(text: str) -> str:
    """Return the text of a label's value."""
    if "\\" in text or '"' in text or "\n" in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text


def _escaped(values: Iterable[object]) -> list[str]:
    return [escape(str(value)) for value in values]
