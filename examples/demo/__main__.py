"""Runs the demo: incidents of a recorded cluster, a cluster on this machine, an alert, frames, and a large cluster.

    python -m examples.demo [--only PART] [--pages FOLDER]

Run it from the root of the repository; `make demo` installs what it needs. All numbers are measured in this run.
Processes are stopped and temporary folders are deleted at the end; the HTML reports stay.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from examples.demo.terminal import DemoContext, print_line, print_title

PARTS = {
    "recording": ("recorded_cluster", 5, "a recorded cluster, analyzed by the pipeline without Java"),
    "cluster": ("live_cluster", 60, "a cluster on this machine that is changed, broken, polled, and analyzed"),
    "live": ("live_incident", 15, "a live pipeline: a broker is stopped, and its incident arrives in a webhook"),
    "frames": ("captured_frames", 2, "frames captured from real Kafka"),
    "speed": ("codec_speed", 5, "how fast these frames are decoded"),
    "polls": ("large_cluster", 15, "the cost of polling 100,000 partitions"),
}
"""The module of each part, its duration in seconds on two processors, and its description."""

NEXT = """
To try next:
  .venv/bin/kafka shell -b HOST:9092        a shell on a cluster
  .venv/bin/kafka topics list -b HOST:9092  its topics
  .venv/bin/kafka pipeline ingest --help    its history, as tables with incidents"""

PAGES = Path("target/demo")
"""The folder of the reports, which git ignores."""


def main() -> None:
    parts = "\n".join(f"  {name:10} {description}" for name, (_, _, description) in PARTS.items())
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
        for name in given.only or PARTS:
            module, seconds, description = PARTS[name]
            print_title(f"Part {name}: {description} (about {seconds} s)")
            import_module(f"examples.demo.{module}").run(DemoContext(given.pages, resources))
    if not given.only:
        print_line(f"\nThis took {time.perf_counter() - began:.0f} s.")
        print_line(NEXT)


if __name__ == "__main__":
    main()
