"""The errors of an admin client. Its connections have more of them (`kwire.protocol.errors`)."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Self
from kwire.errors import KwireError
from kwire.messages.kafka.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.messages.coded_error import CodedError

KAFKA_CODES = {
    1001: ErrorCode.TOPIC_ALREADY_EXISTS,
    1002: ErrorCode.INVALID_PARTITIONS,
    1003: ErrorCode.INVALID_PARTITIONS,
    1004: ErrorCode.INVALID_REPLICATION_FACTOR,
    1005: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    1006: ErrorCode.INVALID_CONFIG,
    1007: ErrorCode.REASSIGNMENT_IN_PROGRESS,
    1008: ErrorCode.INVALID_REQUEST,
    1009: ErrorCode.REASSIGNMENT_IN_PROGRESS,
    1010: ErrorCode.INVALID_TOPIC_EXCEPTION,
    1011: ErrorCode.INVALID_REQUEST,
    1012: ErrorCode.INVALID_REQUEST,
}
"""Codes of Kafka with the meaning of codes of the drafts."""


class AdminError(KwireError):
    """A broker rejected a request, or the part of it that concerns one item.

    Attributes:
        code: the error code. Numbers from 1000 on, and some below, belong to the drafts of KIP-4.
        name: the name of the code, such as `TOPIC_ALREADY_EXISTS`; `ERROR_<code>` for an unknown code.
        item: the subject of the error, such as a topic; empty for the whole request.
        text: the broker's explanation, or the description of the code if the broker gave none.
        attempts: number of times that the request was sent.
        needs: the permission that is missing, such as `Describe on the topic`; None for another error.
    """

    def __init__(self, code: int, name: str, item: str, text: str, attempts: int = 1, needs: str | None = None) -> None:
        super().__init__(code, name, item, text, attempts, needs)
        self.code = code
        self.name = name
        self.item = item
        self.text = text
        self.attempts = attempts
        self.needs = needs

    @property
    def reason(self) -> str:
        """The text without a period, and the permission that is missing."""
        text = self.text.rstrip(".")
        return text if self.needs is None else f"{text}: this needs {self.needs}"

    @classmethod
    def of_kafka(
        cls, code: int, item: str, text: str | None = None, attempts: int = 1, needs: str | None = None
    ) -> Self:
        """Return the error for a code of Kafka."""
        return cls._of(ErrorCode(code), item, text, attempts, needs)

    @classmethod
    def of_kip4(cls, code: int, item: str, text: str | None = None, attempts: int = 1) -> Self:
        """Return the error for a code of the drafts of KIP-4."""
        from kwire.messages.kip4.error_codes import ErrorCode as Kip4ErrorCode

        return cls._of(Kip4ErrorCode(code), item, text, attempts)

    @classmethod
    def _of(cls, code: CodedError, item: str, text: str | None, attempts: int, needs: str | None = None) -> Self:
        return cls(int(code), code.name, item, text or code.message, attempts, needs)

    @property
    def kafka_code(self) -> int:
        """The code of Kafka with the meaning of the error, for comparisons that hold for both kinds of clusters."""
        return int(KAFKA_CODES.get(self.code, self.code))

    def __str__(self) -> str:
        sent = f", sent {self.attempts} times" if self.attempts > 1 else ""
        return f"{self.item or 'the request'}: {self.reason} (error {self.code} {self.name}{sent})"


class UnfinishedChange(AdminError):
    """The change may have been made, or may follow: the cluster ran out of time, or did not respond to a command."""

    MEANING = "the cluster ran out of time: the change may have been made, or may follow"


class NotSupported(KwireError):
    """The cluster has no such operation.

    Attributes:
        operation: the operation that was requested.
        why: the reason.
    """

    def __init__(self, operation: str, why: str) -> None:
        super().__init__(operation, why)
        self.operation = operation
        self.why = why

    def __str__(self) -> str:
        return f"{self.operation} is not supported by this cluster: {self.why}"


class OutcomeUnknown(KwireError):
    """The response to a command was lost: it is unknown if the command took effect.

    The client repeats a command only if a second execution has the same effect. Look at the state of the cluster before
    you repeat any other command.

    Attributes:
        request: the name of the request message.
        fault: the reason why the response was lost.
        attempts: number of times that the request was sent. If it must not be repeated, all tries but the last one had
            no effect.
        is_repeatable: True if a second execution has the same effect.
    """

    def __init__(self, request: str, fault: Exception, attempts: int, is_repeatable: bool = False) -> None:
        super().__init__(request, fault, attempts, is_repeatable)
        self.request = request
        self.fault = fault
        self.attempts = attempts
        self.is_repeatable = is_repeatable

    def __str__(self) -> str:
        sent = f" (sent {self.attempts} times)" if self.attempts > 1 else ""
        advice = "it can be repeated" if self.is_repeatable else "check it before you repeat it"
        return f"the outcome of {self.request} is unknown{sent}, {advice}: {self.fault}"


class BrokerNotFound(KwireError):
    """The cluster does not list a broker.

    Attributes:
        broker_id: the id of the broker.
    """

    def __init__(self, broker_id: int) -> None:
        super().__init__(broker_id)
        self.broker_id = broker_id

    def __str__(self) -> str:
        return f"no live broker has the id {self.broker_id}"


class ControllerNotFound(KwireError):
    """No broker named a controller in time.

    Attributes:
        seconds: the timeout.
        failures: by broker, why it did not name one.
    """

    def __init__(self, seconds: float, failures: Mapping[str, str]) -> None:
        super().__init__(seconds, dict(failures))
        self.seconds = seconds
        self.failures = dict(failures)

    def __str__(self) -> str:
        reasons = "; ".join(f"{broker}: {why}" for broker, why in self.failures.items()) or "no broker responded"
        return f"no controller found within {self.seconds:g} s ({reasons})"


class ChangeTimeout(KwireError):
    """Not every broker reported a change in time.

    Attributes:
        change: the change, in past tense.
        seconds: the timeout.
        missing: by broker, what it lacks.
    """

    def __init__(self, change: str, seconds: float, missing: Mapping[str, Sequence[str]]) -> None:
        super().__init__(change, seconds, {broker: list(items) for broker, items in missing.items()})
        self.change = change
        self.seconds = seconds
        self.missing = {broker: list(items) for broker, items in missing.items()}

    def __str__(self) -> str:
        parts = (
            f"{broker}: {', '.join(items[:3])}{f' and {len(items) - 3} more' if len(items) > 3 else ''}"
            for broker, items in self.missing.items()
        )
        waited = f" within {self.seconds:g} s" if self.seconds > 0 else ""
        return f"not {self.change}{waited}: {'; '.join(parts)}"
