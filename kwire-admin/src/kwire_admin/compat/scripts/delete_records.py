"""`kafka-delete-records`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire._util.json_document import MalformedJson, parse_json_document
from kwire.client.admin import AdminError, TopicPartition
from kwire_admin.compat.options import ScriptOption
from kwire_admin.compat.script import BOOTSTRAP, COMMAND_CONFIG, Script, ScriptFailed, java_error

if TYPE_CHECKING:
    from kwire_admin.compat.script import ScriptRun


async def run(run: ScriptRun) -> None:
    """Delete the records of partitions before the offsets of a file.

    Raises:
        ScriptUsageError: an option is missing.
        ScriptFailed: the file cannot be read, or is invalid.
    """
    run.values.need("bootstrap-server", "offset-json-file")
    offsets = _read_offsets(Path(run.values.get("offset-json-file") or ""))
    run.print("Executing records delete operation")
    results = await (await run.admin()).delete_records(offsets)
    run.print("Records delete operation completed:")
    for partition, result in results.items():
        outcome = f"error: {java_error(result)}" if isinstance(result, AdminError) else f"low_watermark: {result}"
        run.print(f"partition: {partition}\t{outcome}")


def _read_offsets(file: Path) -> dict[TopicPartition, int]:
    """Return the first offset to keep of each partition in a JSON file."""
    from kwire._util.text_files import EncodingError, read_text

    try:
        text = read_text(file)
    except OSError:
        raise ScriptFailed(f"Unable to read file {file}") from None
    except EncodingError as error:
        raise ScriptFailed(f"Unable to read file {file}: {error}") from None
    try:
        document = parse_json_document(text)
    except MalformedJson:
        raise ScriptFailed("The input string is not a valid JSON") from None
    if not isinstance(document, dict):
        raise ScriptFailed("The input string is not a valid JSON")
    if document.get("version", 1) != 1:
        raise ScriptFailed(f"Not supported version field value {document['version']}")
    partitions = document.get("partitions")
    if not isinstance(partitions, list):
        raise ScriptFailed("Missing partitions field")
    offsets: dict[TopicPartition, int] = {}
    duplicates: dict[TopicPartition, None] = {}
    for entry in partitions:
        topic, index, offset = (_field(entry, name, type) for name, type in FIELDS.items())
        partition = TopicPartition(topic, index)
        if partition in offsets:
            duplicates[partition] = None
        offsets.setdefault(partition, offset)
    if duplicates:
        raise ScriptFailed(f"Offset json file contains duplicate topic partitions: {','.join(map(str, duplicates))}")
    return offsets


FIELDS: dict[str, type] = {"topic": str, "partition": int, "offset": int}
"""The fields of a partition in the file, in the order in which they are read."""


def _field(entry: Any, name: str, type: type) -> Any:
    if not isinstance(entry, dict) or name not in entry:
        raise ScriptFailed(f"No such field exists: `{name}`")
    value = entry[name]
    if not isinstance(value, type) or isinstance(value, bool):
        raise ScriptFailed(f"the field {name} is {value!r}: expected {'a text' if type is str else 'an integer'}")
    return value


delete_records = Script(
    "kafka-delete-records",
    ("org.apache.kafka.tools.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand"),
    (
        BOOTSTRAP,
        COMMAND_CONFIG,
        ScriptOption(
            "offset-json-file",
            'REQUIRED: {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}]}.',
            "JSON file",
        ),
    ),
    run,
    "",
    fails_on_stdout=False,
    names_exceptions=True,
    banner="This tool helps to delete records of the given partitions down to the specified offset.",
)
