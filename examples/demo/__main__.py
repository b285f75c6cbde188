"""Runs the demo: kwire on captured frames, a recorded cluster, a large cluster, and a live one.

    python -m examples.demo [--only PART] [--pages FOLDER]

Run it from the root of the repository. All numbers are measured in this run. Processes are stopped and temporary
folders are deleted at the end; the HTML reports stay.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from examples.demo.terminal import DemoContext, print_line, print_title

PARTS = {
    "frames": ("captured_frames", "frames captured from real Kafka, and how fast they are decoded"),
    "recording": ("recorded_cluster", "a recorded cluster, analyzed by the Spark pipeline"),
    "polls": ("large_cluster", "the cost of polling 100,000 partitions"),
    "cluster": ("live_cluster", "a cluster on this machine that is changed, broken, polled, and analyzed"),
    "live": ("live_incident", "a live pipeline: a broker is stopped, and its incident arrives in a webhook"),
}
"""The module of each part, and its description."""

PAGES = Path("target/demo")
"""The folder of the reports, which git ignores."""


def main() -> None:
    parts = "\n".join(f"  {name:10} {description}" for name, (_, description) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description=f"Show what kwire does, in parts:\n{parts}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help="run this part; repeatable")
    parser.add_argument(
        "--pages", type=Path, default=PAGES, metavar="FOLDER", help="write reports here [default: %(default)s]"
    )
    given = parser.parse_args()
    given.pages.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with ExitStack() as resources:
        for number, name in enumerate(given.only or PARTS, start=1):
            module, description = PARTS[name]
            print_title(f"Part {number}: {description}")
            import_module(f"examples.demo.{module}").run(DemoContext(given.pages, resources))
    print_line(f"\nThe demo took {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
