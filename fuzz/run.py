"""Runs every fuzz target for a while: ``make fuzz SECONDS=60``.

Corpora begin with every body that the tests know and grow in ``fuzz/corpus`` from run to run. Prints executions and
edges; turns an input that breaks a target into a file of ``fuzz/regressions`` and says how to make a test of it.
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

from tests import write_rust_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
CORPORA = HERE / "corpus"
ARTIFACTS = HERE / "artifacts"
REGRESSIONS = HERE / "regressions"

LONGEST_INPUT = 4096
MEGABYTES = 1024
"""What a target may hold at once, the corpus included. Nothing that it does needs a tenth of that."""
SECONDS_AN_INPUT = 10

RUST = ("plan_and_bytes", "known_plans")
TARGETS = (*RUST, "differential")


class Run(NamedTuple):
    """What a target did."""

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
    parser.add_argument("--seconds", type=int, default=60, help="how long each target runs")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one; may be given again")
    options = parser.parse_args()

    missing = {target: complaints for target in options.target or TARGETS if (complaints := lacks(target))}
    for target, complaints in missing.items():
        print(f"{target} is left out, it needs:", *complaints, sep="\n  ", file=sys.stderr)
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


def lacks(target: str) -> list[str]:
    """What this machine lacks for a target, each with the way to get it."""
    if target not in RUST:
        return [] if importlib.util.find_spec("atheris") else ["Atheris, which has wheels for Linux on x86-64"]
    found = []
    if shutil.which("rustup") is None or "nightly" not in said("rustup", "toolchain", "list"):
        found.append("a nightly Rust: rustup toolchain install nightly --profile minimal")
    if shutil.which("cargo-fuzz") is None:
        found.append("cargo-fuzz: cargo install cargo-fuzz --locked")
    return found


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


# Corpora.


def seed(target: str) -> None:
    folder = CORPORA / target
    folder.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / target).mkdir(parents=True, exist_ok=True)
    for content in seeds(target):
        if len(content) <= LONGEST_INPUT:
            place = folder / hashlib.sha256(content).hexdigest()[:16]
            if not place.exists():
                place.write_bytes(content)


def seeds(target: str) -> Iterator[bytes]:
    """Every known body, whole or damaged, in the form that the target reads, and what broke it before."""
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
    """Key of the plan (``kafka MetadataResponse v12``) and body."""
    for name in ("bodies", "damaged"):
        for line in lines(name):
            dialect, message, version, body, *_ = line.split(" ")
            yield f"{dialect} {message} {version}", bytes.fromhex(body.strip("-"))


def plans_by_key() -> dict[str, str]:
    """The plans in the order that chooses them, which is that of ``agreement.subjects`` too."""
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
        f"-max_len={LONGEST_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-timeout={SECONDS_AN_INPUT}",
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
    """The last find of the first pattern that finds anything."""
    for pattern in patterns:
        if found := re.findall(pattern, text, re.MULTILINE):
            return str(found[-1])
    return None


# What came of it.


def report(runs: list[Run]) -> None:
    print(f"\n{'target':<16}{'executions':>12}{'edges':>8}{'corpus':>8}  outcome")
    for each in runs:
        outcome = "failed" if each.failed else "no failure"
        print(f"{each.target:<16}{each.executions:>12,}{each.edges:>8}{each.corpus:>8}  {outcome}")
    for each in runs:
        if each.failed and not each.crashes:
            print(f"\n{each.target} ended without an input to blame: see {each.log}")
        for crash in each.crashes:
            explain(each, crash)


def explain(each: Run, crash: Path) -> None:
    """Keep what broke a target in a form that needs no list of messages, and say what to do with it."""
    folder = REGRESSIONS / ("plans" if each.target in RUST else "messages")
    folder.mkdir(exist_ok=True)
    kept = folder / f"{each.target}_{crash.name.rpartition('-')[2][:8]}"
    kept.write_bytes(standing_alone(each.target, crash.read_bytes()))
    print(
        f"\n{each.target} was broken by {kept.relative_to(HERE.parent)}; why, says {each.log.relative_to(HERE.parent)}."
    )
    print("Rename it after what is wrong, and give it a test of that name that tells its story:")
    if each.target in RUST:
        print('  rust/kwire/tests/regressions.rs    #[test] fn the_name() { replay("the_name"); }')
    else:
        print('  tests/test_regressions.py    def test_the_name() -> None: replay("the_name")')


def standing_alone(target: str, content: bytes) -> bytes:
    """An input of a target as a regression: with its plan, or the name of its message, before the body."""
    if target == "plan_and_bytes":
        return content
    keys = list(plans_by_key().items())
    key, plan = keys[int.from_bytes(content[:2], "big") % len(keys)]
    return (plan if target in RUST else key).encode("ascii") + b"\n" + content[2:]


if __name__ == "__main__":
    sys.exit(main())
