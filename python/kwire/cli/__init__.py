"""The `kwire` command.

* Results go to stdout, everything else to stderr. Output for programs is JSON.
* Large input is read piece by piece.
* `import kwire` imports neither click nor rich. A module of `commands` is imported when its command runs, rich when a
  table is printed to a terminal.

| module | contents |
|---|---|
| `program` | the list of subcommands, exit codes |
| `options` | options that several subcommands share |
| `input_sources`, `frame_input` | arguments, files, and stdin; their frames |
| `frames`, `frame_json`, `summary` | headers and bodies of frames; frames as JSON; counts of frames |
| `sniffer`, `sniffed_text` | exchanges between the relay and the output; their text |
| `recorded_rows` | rows of captures and of Parquet files of frames |
| `message_names` | lookup of messages by name |
| `hexdump`, `value_labels`, `error_rendering` | annotated hex dumps, names of values, errors |
| `tables`, `field_tables`, `colors` | output on terminals |
| `field_documentation`, `plan_tree` | declarations and plans of messages |

Exit codes: 0 success, 1 some of the input is invalid, 2 wrong usage, 130 interrupted, 141 stdout was closed.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command and exit the process."""
    try:
        from kwire.cli.program import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(f"Error: the command line needs {error.name}: pip install 'kwire[cli]'", file=sys.stderr)
        code = 2
    sys.exit(code)
