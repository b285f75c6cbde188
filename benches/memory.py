"""Memory of a decoded message: bytes held, peak while decoding, and the time of garbage collections.

Every measurement runs in a process of its own, which holds only the codec, its payload, and one decoded message.

* *Held* is the number of bytes that `tracemalloc` counts: the sizes requested from Python's allocators, including
  garbage collector headers. All codecs build Python objects, so the number is exact and the same on every machine. It
  does not include the rounding of the allocators.
* *Resident* is the growth of the process as reported by the system. *Peak* is its growth while decoding, including
  buffers freed before the end.
* *Cold* is the CPU time of the first decoding into memory that the system has not yet provided. Every page adds to it.
* *Collect* is one full garbage collection while the message is alive, which a program pays repeatedly. *Idle* is the
  same without the message.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import tracemalloc
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING

from benches.peers.peer import load
from benches.workloads import Workload

if TYPE_CHECKING:
    from benches.workloads import Name

SMALLER: dict[Name, Name] = {"b": "a", "kb": "ka"}
"""The workload that warms up a codec, so that plans and imports do not count as memory of the message."""
COLLECTIONS = 9
STATUS = Path("/proc/self/status")
RESET_PEAK = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Memory:
    peer: str
    cold_ns: int
    held_bytes: int
    resident_bytes: int | None
    peak_bytes: int | None
    collect_ns: int
    idle_collect_ns: int


def measure(module: str, workload: Workload, payload: bytes) -> Memory:
    """Measure a codec in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "payload")
        file.write_bytes(payload)
        command = [sys.executable, "-m", "benches.memory", module, json.dumps(asdict(workload)), str(file)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return Memory(**json.loads(output))


def measure_here(module: str, workload: Workload, payload: bytes) -> Memory:
    peer = load(module)
    codec = peer.codec(workload.message, workload.version)
    codec.decode(peer.payload(replace(workload, name=SMALLER.get(workload.name, workload.name))))
    idle = collection()

    before = resident()
    if before is not None:
        RESET_PEAK.write_text("5")
    start = thread_time_ns()
    tree = codec.decode(payload)
    cold = thread_time_ns() - start
    after, peak = resident(), resident("VmHWM")
    collect = collection()

    del tree
    gc.collect()
    tracemalloc.start()
    tree = codec.decode(payload)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del tree

    return Memory(
        peer=peer.name,
        cold_ns=cold,
        held_bytes=held,
        resident_bytes=None if before is None or after is None else after - before,
        peak_bytes=None if before is None or peak is None else peak - before,
        collect_ns=collect,
        idle_collect_ns=idle,
    )


def collection() -> int:
    """Return the CPU nanoseconds of one full collection."""
    gc.collect()
    taken = []
    for _ in range(COLLECTIONS):
        start = thread_time_ns()
        gc.collect()
        taken.append(thread_time_ns() - start)
    return int(median(taken))


def resident(line: str = "VmRSS") -> int | None:
    """Return the resident size of this process in bytes, or its maximum (`VmHWM`). None without /proc."""
    if not STATUS.exists():
        return None
    for status_line in STATUS.read_text().splitlines():
        name, _, value = status_line.partition(":")
        if name == line:
            return int(value.split()[0]) * 1024
    return None


def main() -> None:
    module, workload, file = sys.argv[1:]
    payload = Path(file).read_bytes()
    print(json.dumps(asdict(measure_here(module, Workload(**json.loads(workload)), payload))))


if __name__ == "__main__":
    main()
