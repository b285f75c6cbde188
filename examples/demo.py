"""What ``make demo`` prints: what kwire does, on real bytes, a recorded cluster, a large one, and a live one.

    python -m examples.demo [--only PART] [--pages FOLDER]

Run it from the top of the repository. Every number was measured there and then. What is started is stopped, and
temporary folders are deleted; the pages of the reports stay.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from examples.stage import Stage, say, title

PARTS = {
    "frames": ("captured_frames", "frames captured from real Kafka, and how fast they are read"),
    "tape": ("recorded_cluster", "a recorded cluster through the Spark pipeline: what happened to it"),
    "polls": ("large_cluster", "what polling 100,000 partitions costs"),
    "cluster": ("live_cluster", "a cluster of ours that is administered, broken, watched and reported"),
}
"""By name: the module beside this one that shows it, and what it is."""


PAGES = Path("target/demo")
"""Where git does not look."""


def main() -> None:
    told = "\n".join(f"  {name:8} {what}" for name, (_, what) in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo",
        description=f"Show what kwire does, in parts:\n{told}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help="this part; may be given again")
    parser.add_argument("--pages", type=Path, default=PAGES, metavar="FOLDER", help=f"where reports go ({PAGES})")
    given = parser.parse_args()
    given.pages.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    with ExitStack() as until_the_end:
        for number, name in enumerate(given.only or PARTS, start=1):
            module, what = PARTS[name]
            title(f"Part {number}: {what}")
            import_module(f"examples.{module}").show(Stage(given.pages, until_the_end))
    say(f"\nThe demo took {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
