"""What a decoded message costs while it is held: bytes, the collector's time, and the peak on the way there.

Every measurement is a process of its own, which holds nothing but the codec, its payload and then one tree.

* *Held* is what `tracemalloc` counts: the sizes that were asked of Python's allocators, headers for the collector
  included. All codecs here build Python objects, so it sees all of what they keep, to the byte and on any machine.
  What the allocator adds by rounding up, it does not see.
* *Resident* is the growth of the process, rounding and all, as far as the system reports it; *peak* is how far the
  process grew while it decoded, which includes buffers that were given back before the end.
* *Cold* is the time of that first decoding, into memory that the system has yet to hand out. Every page costs: a codec
  that holds less is spared as much.
* *Collect* is one full collection with the tree alive. Programs pay it again and again for as long as they hold the
  tree. *Idle* is the same without the tree.
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
"""What a codec is warmed up with, so that its plans and imports do not count as the message's."""
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
    """In a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "payload")
        file.write_bytes(payload)
        command = [sys.executable, "-m", "benches.memory", module, json.dumps(asdict(workload)), str(file)]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return Memory(**json.loads(answer))


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
    """CPU nanoseconds of one full collection."""
    gc.collect()
    taken = []
    for _ in range(COLLECTIONS):
        start = thread_time_ns()
        gc.collect()
        taken.append(thread_time_ns() - start)
    return int(median(taken))


def resident(line: str = "VmRSS") -> int | None:
    """Bytes of this process in memory, now or (VmHWM) at most; None where there is no /proc."""
    if not STATUS.exists():
        return None
    for each in STATUS.read_text().splitlines():
        name, _, value = each.partition(":")
        if name == line:
            return int(value.split()[0]) * 1024
    return None


def main() -> None:
    module, workload, file = sys.argv[1:]
    payload = Path(file).read_bytes()
    print(json.dumps(asdict(measure_here(module, Workload(**json.loads(workload)), payload))))


if __name__ == "__main__":
    main()
