"""Decoding of record batches into an Arrow record batch, without Python objects for records.

Each record is a row. The columns are:

`frame`
    The index of the input that holds the record, starting at 0.
`batch`
    The index of its batch in that input.
`base_offset`, `partition_leader_epoch`, `producer_id`, `producer_epoch`, `is_transactional`, `is_control`
    Fields of the batch.
`offset`, `timestamp`, `key`, `value`, `headers`
    Fields of the record. Header keys that are not UTF-8 have replacement characters, as Kafka reads them.
`error_kind`, `error_offset`, `error_path`
    Null for valid inputs. An invalid input has one row with the facts of the RecordsDecodeError; all other columns
    except `frame` are null. A missing input (None, or null in an Arrow array) has the kind `"null_frame"`, and neither
    offset nor path.
"""

from __future__ import annotations

from kwire.records.codec import DEFAULT_MAX_RATIO, DEFAULT_MAX_SIZE, _limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire._kwire import Batch, Records, Schema
    from kwire.columnar import Frames


def columns(
    frames: Frames,
    *,
    check_crc: bool = True,
    max_size: int | None = DEFAULT_MAX_SIZE,
    max_ratio: int | None = DEFAULT_MAX_RATIO,
) -> Batch:
    """Decode many inputs, such as the records of several partitions, into an Arrow record batch.

    Args:
        frames: the inputs, as bytes-like objects or None, or as a binary Arrow array, which is not copied.
        check_crc: compare the checksums.
        max_size: maximum memory of all inputs together in bytes, counted as in `decode`; None for no limit.
        max_ratio: as in `decode`.

    Raises:
        BatchTooLarge: keys, values, or headers have more than 2 GiB in total.
        ImportError: the compiled module of kwire is not installed.
        TypeError: an input is not bytes-like.
    """
    if isinstance(frames, (bytes, bytearray, memoryview)):
        actual = type(frames).__name__
        raise TypeError(f"frames: expected several inputs, found one of type {actual}: put it into a list")
    return _engine().columns(frames, check_crc, _limit("max_size", max_size), _limit("max_ratio", max_ratio))


def columns_schema() -> Schema:
    """Return the schema of the batches that `columns` returns, for example for `pyarrow.schema`."""
    return _engine().schema()


def _engine() -> type[Records]:
    try:
        from kwire._kwire import Records
    except ImportError as error:
        reason = f"kwire.records.columns needs the compiled module kwire._kwire, and it cannot be imported: {error}"
        raise ImportError(reason, name="kwire._kwire") from error
    return Records
