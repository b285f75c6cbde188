"""Instructions of a small command by step, from the start of Python to the output of `kafka topics list`.

    python -m benches.start_profile

Each step is a process that ends after it, counted by Valgrind against a fake cluster in another process. The counts
depend on the version of Python, and hardly on other work.
"""

from __future__ import annotations

import sys

from benches.command_start import COMMAND, FAKE_CLUSTER
from benches.instructions import instructions
from benches.program import fake_cluster

END = "import os; os._exit(0)"
STEPS = (
    ("Python itself", "pass"),
    ("kwire and its engine", "import kwire"),
    ("the program, uuid", "import kwire.cli; kwire.cli._import_uuid(); import kwire_admin.cli, kwire.cli.entry"),
    ("the words", "from kwire_admin.cli.plain_words import parse; parse(['-b', '127.0.0.1:1', 'topics', 'list'])"),
    ("the run of a verb", "import kwire_admin.cli.verb_run, kwire_admin.cli.verb_session"),
    ("the client", "import kwire._util.light_loop, kwire.client.admin.admin_client, kwire.client.admin.kafka_backend"),
)


def main() -> None:
    before, program = 0, ""
    for step, added in STEPS:
        program += f"{added}\n"
        count = instructions((sys.executable, "-c", program + END), "")
        print(f"{step:24} {(count - before) / 1e6:6.1f} million")
        before = count
    for topics in (10, 5_000):
        with fake_cluster(FAKE_CLUSTER, topics) as bootstrap:
            command = COMMAND.format(bootstrap=bootstrap, words=["topics", "list"])
            whole = instructions((sys.executable, "-c", command), "")
        print(f"{f'requests, {topics:,} topics':24} {(whole - before) / 1e6:6.1f} million, all {whole / 1e6:.0f}")


if __name__ == "__main__":
    main()
