"""Run every fuzz target for a given time.

Corpora start with every body of the tests and grow in `fuzz/corpus` from run to run. An input that makes a target fail
becomes a file in `fuzz/regressions`, and instructions for adding a test are printed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fuzz.pairing import chunk
from tests import write_rust_cases
from tests.proof.material import exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
CORPORA = HERE / "corpus"
ARTIFACTS = HERE / "artifacts"
REGRESSIONS = HERE / "regressions"

MAX_INPUT = 4096
MEMORY_LIMIT_MB = 1024
"""The memory limit of a target, including its corpus. No input needs a tenth of it."""
TIMEOUT_SECONDS = 10

RUST = ("plan_and_bytes", "known_plans", "index", "record_batches")
RECORDS = ("record_batches", "records_differential")
TARGETS = (*RUST, "differential", "views", "records_differential", "conversation")


REGRESSION_FOLDERS = {
    **dict.fromkeys(RUST, "plans"),
    **dict.fromkeys(("differential", "views"), "messages"),
    "conversation": "conversations",
    **dict.fromkeys(RECORDS, "records"),
}


class Run(NamedTuple):
    """The result of running a target."""

    target: str
    executions: int
    edges: str
    corpus: int
    crashes: list[Path]
    log: Path
    failed: bool


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.run", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--seconds", type=int, default=60, help="run each target for this many seconds [default: 60]")
    parser.add_argument("--target", choices=TARGETS, action="append", help="run only this target; repeatable")
    options = parser.parse_args()

    missing = {target: tools for target in options.target or TARGETS if (tools := missing_tools(target))}
    for target, tools in missing.items():
        print(f"skipping {target}, it requires:", *tools, sep="\n  ", file=sys.stderr)
    targets = [target for target in options.target or TARGETS if target not in missing]
    if not targets:
        return 1

    write_rust_cases.main()
    for target in targets:
        seed(target)
    if any(target in RUST for target in targets):
        subprocess.run(["cargo", "+nightly", "fuzz", "build", "--sanitizer", "none"], cwd=HERE, check=True)
    runs = [run(target, options.seconds) for target in targets]
    report(runs)
    return 1 if any(run.failed for run in runs) else 0


def missing_tools(target: str) -> list[str]:
    """Return the tools that a target requires and that are not installed, with the commands to install them."""
    if target not in RUST:
        return [] if importlib.util.find_spec("atheris") else ["Atheris, which has wheels for Linux on x86-64"]
    found = []
    if shutil.which("rustup") is None or "nightly" not in output_of("rustup", "toolchain", "list"):
        found.append("a nightly Rust: rustup toolchain install nightly --profile minimal")
    if shutil.which("cargo-fuzz") is None:
        found.append("cargo-fuzz: cargo install cargo-fuzz --locked")
    return found


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


# Corpora.


def seed(target: str) -> None:
    folder = CORPORA / target
    folder.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / target).mkdir(parents=True, exist_ok=True)
    for content in seeds(target):
        if len(content) <= MAX_INPUT:
            place = folder / hashlib.sha256(content).hexdigest()[:16]
            if not place.exists():
                place.write_bytes(content)


def seeds(target: str) -> Iterator[bytes]:
    """Yield every valid or damaged body of the tests, and the regressions, in the format of the target."""
    if target in RECORDS:
        yield from (bytes.fromhex(line.rpartition(" ")[2].strip("-")) for line in lines("records"))
        yield from (file.read_bytes() for file in sorted((REGRESSIONS / "records").glob("[!.]*")))
        return
    if target == "conversation":
        for exchange in exchanges():
            frames = ((True, exchange.request), (False, exchange.response))
            yield b"".join(
                chunk(from_client=way, data=len(data).to_bytes(4, "big") + data[:MAX_INPUT]) for way, data in frames
            )
        return
    plans = plans_by_key()
    order = {key: index for index, key in enumerate(plans)}
    for key, body in cases():
        if target == "plan_and_bytes":
            yield plans[key].encode("ascii") + b"\n" + body
        else:
            yield order[key].to_bytes(2, "big") + body
    if target == "plan_and_bytes":
        yield from (file.read_bytes() for file in sorted((REGRESSIONS / "plans").iterdir()))


def cases() -> Iterator[tuple[str, bytes]]:
    """Yield the key of the plan (such as `kafka MetadataResponse v12`) and the body of each test case."""
    for name in ("bodies", "damaged"):
        for line in lines(name):
            dialect, message, version, body, *_ = line.split(" ")
            yield f"{dialect} {message} {version}", bytes.fromhex(body.strip("-"))


def plans_by_key() -> dict[str, str]:
    """Return the plans by key, in the order by which inputs choose them. `agreement.subjects` has the same order."""
    found = {}
    for line in lines("plans"):
        dialect, plan = line.split(" ", 1)
        name, version, _ = plan.split(" ", 2)
        found[f"{dialect} {name} {version}"] = plan
    return found


def lines(name: str) -> list[str]:
    return (write_rust_cases.FOLDER / f"{name}.txt").read_text(encoding="ascii").splitlines()


# Running.


def run(target: str, seconds: int) -> Run:
    print(f"{target}: {seconds} s from {len(list((CORPORA / target).iterdir()))} inputs", flush=True)
    artifacts = ARTIFACTS / target
    before = set(artifacts.iterdir())
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={MAX_INPUT}",
        f"-rss_limit_mb={MEMORY_LIMIT_MB}",
        f"-timeout={TIMEOUT_SECONDS}",
        f"-artifact_prefix={artifacts}/",
        "-print_final_stats=1",
    ]
    if target in RUST:
        if target == "plan_and_bytes":
            options.append(f"-dict={HERE / 'plans.dict'}")
        command = ["cargo", "+nightly", "fuzz", "run", "--sanitizer", "none", target, str(CORPORA / target), "--"]
    else:
        command = [sys.executable, "-m", f"fuzz.{target}", str(CORPORA / target)]
    log = ARTIFACTS / f"{target}.log"
    with log.open("w") as out:
        done = subprocess.run(
            [*command, *options], cwd=HERE if target in RUST else HERE.parent, stderr=out, stdout=out, check=False
        )
    text = log.read_text(errors="replace")
    crashes = sorted(set(artifacts.iterdir()) - before)
    return Run(
        target,
        executions=int(last(text, r"stat::number_of_executed_units: +(\d+)", r"^#(\d+)") or 0),
        edges=last(text, r" cov: (\d+)") or "0",
        corpus=int(last(text, r" corp: (\d+)") or 0),
        crashes=crashes,
        log=log,
        failed=bool(crashes) or done.returncode != 0,
    )


def last(text: str, *patterns: str) -> str | None:
    """Return the last match of the first pattern that matches."""
    for pattern in patterns:
        if found := re.findall(pattern, text, re.MULTILINE):
            return str(found[-1])
    return None


# Reporting.


def report(runs: list[Run]) -> None:
    print(f"\n{'target':<16}{'executions':>12}{'edges':>8}{'corpus':>8}  outcome")
    for fuzzed in runs:
        outcome = "failed" if fuzzed.failed else "no failure"
        print(f"{fuzzed.target:<16}{fuzzed.executions:>12,}{fuzzed.edges:>8}{fuzzed.corpus:>8}  {outcome}")
    for fuzzed in runs:
        if fuzzed.failed and not fuzzed.crashes:
            print(f"\n{fuzzed.target} failed without a failing input, see {fuzzed.log}")
        for crash in fuzzed.crashes:
            explain(fuzzed, crash)


def explain(fuzzed: Run, crash: Path) -> None:
    """Write a failing input to a regression file and print how to add a test for it."""
    folder = REGRESSIONS / REGRESSION_FOLDERS[fuzzed.target]
    folder.mkdir(exist_ok=True)
    kept = folder / f"{fuzzed.target}_{crash.name.rpartition('-')[2][:8]}"
    kept.write_bytes(regression_content(fuzzed.target, crash.read_bytes()))
    file, log = (path.relative_to(HERE.parent) for path in (kept, fuzzed.log))
    print(f"\n{fuzzed.target} failed on {file}. The reason is in {log}.")
    if fuzzed.target in RECORDS:
        print(
            "Rename the file after the defect. rust/kwire-records/tests/vectors.rs and tests/records/test_agreement.py"
        )
        print("replay every file of this folder; add a test that describes the defect.")
        return
    print("Rename the file after the defect and add a test with the same name that describes it:")
    if fuzzed.target in RUST:
        print('  rust/kwire/tests/regressions.rs    #[test] fn the_name() { replay("the_name"); }')
    else:
        print('  tests/test_regressions.py    def test_the_name() -> None: replay("the_name")')


def regression_content(target: str, content: bytes) -> bytes:
    """Return an input as a regression file, with its plan or the name of its message before the body."""
    if target in ("plan_and_bytes", "conversation", *RECORDS):
        return content
    keys = list(plans_by_key().items())
    key, plan = keys[int.from_bytes(content[:2], "big") % len(keys)]
    return (plan if target in RUST else key).encode("ascii") + b"\n" + content[2:]


if __name__ == "__main__":
    sys.exit(main())
