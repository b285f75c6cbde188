"""Sniffed exchanges as JSON lines, rows of a table, and annotated hex dumps.

Secrets are hidden unless the user asks for them. That includes all bytes that cannot be decoded, because nothing says
what they are.
"""

from __future__ import annotations

import sys

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire._util.readable import printable
from kwire.cli import frames
from kwire.cli.frame_json import frame_document, json_text
from kwire.cli.frames import Frame
from kwire.cli.hexdump import hexdump
from kwire.cli.value_labels import error_name
from kwire.errors import KwireError
from kwire.protocol import NoMessage
from kwire.terminal.colors import paint_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire.cli.sniffer import Sniffed, SniffedConnection
    from kwire.protocol import Exchange
    from kwire.terminal.colors import Choice, Paint

OUTCOMES = {
    "one_way": "no response expected",
    "unanswered": "no response",
    "dropped": "no response among the requests in flight that are kept",
    "unrequested": "no request captured",
}
PREFIX = 4
"""Bytes of the size prefix of a frame."""


class SniffOptions(NamedTuple):
    """Options for printing exchanges.

    Attributes:
        output: `json`, `table`, or `hexdump`.
        color: the use of colors.
        everything: true if long arrays and values of a hex dump are shown in full.
        show_secrets: true if secrets are shown.
        errors_only: true if exchanges without any error are left out.
    """

    output: str
    color: Choice
    everything: bool
    show_secrets: bool
    errors_only: bool

    @property
    def paint(self) -> Paint:
        """The colors of the output."""
        return paint_for(sys.stdout, self.color)


class DecodedExchange(NamedTuple):
    """An exchange with its frames and the JSON documents of its frames."""

    exchange: Exchange
    request: Frame | None
    response: Frame | None
    request_document: dict[str, Any] | None
    response_document: dict[str, Any] | None

    @property
    def problems(self) -> list[str]:
        """The reasons to look at the exchange: decode errors, error codes of the response, a missing half."""
        errors = [
            str(message.error) for message in (self.request, self.response) if message is not None and message.error
        ]
        if self.exchange.outcome in ("unanswered", "dropped", "unrequested"):
            errors.append(OUTCOMES[self.exchange.outcome])
        if self.response_document is not None:
            codes = dict.fromkeys(_error_codes(self.response_document.get("body")))
            errors += [error_name(code, self.exchange.dialect) for code in codes]
        return errors


def text_of(options: SniffOptions) -> Callable[[Sniffed], str]:
    """Return the function that formats an item; its text is empty if the item is left out."""
    formats = {"json": _json_line, "table": _row, "hexdump": _dump}
    format_exchange = formats[options.output]

    def text(item: Sniffed) -> str:
        if item.exchange is None:
            return _problem(item, options)
        try:
            decoded = _decode(item.exchange, show_secrets=options.show_secrets)
            if options.errors_only and not decoded.problems:
                return ""
            return format_exchange(item, decoded, options)
        except Exception as error:  # noqa: BLE001  # the sniffer must go on with the next exchange
            return _problem(item._replace(problem=f"internal error, not shown: {type(error).__name__}"), options)

    return text


def dropped_text(options: SniffOptions) -> Callable[[int], str]:
    """Return the function that formats the number of exchanges that the output was too slow for."""

    def text(count: int) -> str:
        if options.output == "json":
            return json_text({"dropped": count}) + "\n"
        what = f"{count} exchange{'' if count == 1 else 's'} not shown: the output is too slow"
        return options.paint("error", what) + "\n"

    return text


def table_heading() -> str:
    """Return the heading of the table."""
    return _columns("time", "conn", "client id", "api", "version", "sent", "received", "ms", "result")


def _decode(exchange: Exchange, *, show_secrets: bool) -> DecodedExchange:
    request = response = None
    if exchange.request is not None:
        request = _without_message("request", exchange.request, exchange.decode_request)
        request = request or frames.parse_request(exchange.request, exchange.dialect)
    if exchange.response is not None:
        response = _without_message("response", exchange.response, exchange.decode_response)
        if response is None:
            assert exchange.api_key is not None
            assert exchange.version is not None
            response = frames.parse_response(exchange.response, exchange.dialect, exchange.api_key, exchange.version)
    return DecodedExchange(
        exchange,
        request,
        response,
        request and _document(request, show_secrets=show_secrets),
        response and _document(response, show_secrets=show_secrets),
    )


def _without_message(kind: frames.FrameKind, payload: bytes, decode: Callable[[], object]) -> Frame | None:
    """Return the frame of bytes that are not a message, such as a SASL token; None for other frames."""
    try:
        decode()
    except NoMessage as error:
        return Frame(kind, payload, error=error)
    except KwireError:
        pass
    return None


def _document(frame: Frame, *, show_secrets: bool) -> dict[str, Any]:
    document = frame_document(frame, hide_secrets=not show_secrets)
    if isinstance(frame.error, NoMessage):
        document["error"] = {"kind": "no_message", "text": str(frame.error)}
    if frame.error is not None and show_secrets:
        document["hex"] = frame.payload.hex()
    return document


def _error_codes(value: Any) -> Iterator[int]:
    """Yield the error codes in a JSON document, except 0."""
    if isinstance(value, list):
        for item in value:
            yield from _error_codes(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, int) and item and name.lower().endswith("errorcode"):
                yield item
            else:
                yield from _error_codes(item)


def _problem(item: Sniffed, options: SniffOptions) -> str:
    if options.output == "json":
        error = {"kind": "connection", "text": item.problem}
        return json_text({**_origin(item), "error": error}) + "\n"
    return f"{_time(item)}  {options.paint('error', f'{_ends(item.connection)}: {item.problem}')}\n"


def _origin(item: Sniffed) -> dict[str, Any]:
    return {
        "at": item.at.isoformat(timespec="microseconds"),
        "connection": item.connection.number,
        "client": str(item.connection.client),
        "broker": str(item.connection.broker),
    }


def _json_line(item: Sniffed, decoded: DecodedExchange, _options: SniffOptions) -> str:
    exchange = decoded.exchange
    document = _origin(item) | {
        "kind": exchange.kind,
        "outcome": exchange.outcome,
        "api": exchange.api_name,
        "api_key": exchange.api_key,
        "version": exchange.version,
        "correlation_id": exchange.correlation_id,
        "client_id": exchange.client_id,
        "latency_ms": _milliseconds(exchange),
        "request_bytes": _size(exchange.request),
        "response_bytes": _size(exchange.response),
        "request": decoded.request_document,
        "response": decoded.response_document,
    }
    return json_text(document) + "\n"


def _row(item: Sniffed, decoded: DecodedExchange, options: SniffOptions) -> str:
    exchange = decoded.exchange
    problems = "; ".join(decoded.problems)
    latency = _milliseconds(exchange)
    row = _columns(
        _time(item),
        f"#{item.connection.number}",
        printable(exchange.client_id or ""),
        _name(exchange),
        _number(exchange.version),
        _number(_size(exchange.request)),
        _number(_size(exchange.response)),
        "" if latency is None else f"{latency:.1f}",
        options.paint("error", problems) if problems else OUTCOMES.get(exchange.outcome, "ok"),
    )
    return f"{row}\n"


def _dump(item: Sniffed, decoded: DecodedExchange, options: SniffOptions) -> str:
    exchange = decoded.exchange
    latency = _milliseconds(exchange)
    heading = ", ".join(
        part
        for part in (
            f"{_time(item)}  {_name(exchange)}" + ("" if exchange.version is None else f" v{exchange.version}"),
            _ends(item.connection),
            "" if latency is None else f"{latency:.1f} ms",
            *decoded.problems,
        )
        if part
    )
    lines = [options.paint("title", f"=== {heading}")]
    for frame in (decoded.request, decoded.response):
        if frame is not None:
            lines += hexdump(
                frame,
                exchange.dialect,
                options.paint,
                everything=options.everything,
                hide_secrets=not options.show_secrets,
            )
            lines.append("")
    return "\n".join(lines) + "\n"


def _columns(
    time: str, connection: str, client: str, api: str, version: str, sent: str, received: str, ms: str, result: str
) -> str:
    """Format a row with fixed widths: rows are printed before the later ones are known."""
    return (
        f"{time:12}  {connection:>5}  {client:16}  {api:26}  {version:>7}  {sent:>8}  {received:>9}  {ms:>8}  {result}"
    )


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _name(exchange: Exchange) -> str:
    if exchange.kind == "sasl_token":
        return "SASL token"
    return exchange.api_name or ("unknown" if exchange.api_key is None else f"API key {exchange.api_key}")


def _ends(connection: SniffedConnection) -> str:
    return f"#{connection.number} {connection.client} to {connection.broker}"


def _time(item: Sniffed) -> str:
    return item.at.strftime("%H:%M:%S.%f")[:-3]


def _milliseconds(exchange: Exchange) -> float | None:
    return None if exchange.latency is None else round(exchange.latency * 1000, 3)


def _size(payload: bytes | None) -> int | None:
    return None if payload is None else len(payload) + PREFIX
