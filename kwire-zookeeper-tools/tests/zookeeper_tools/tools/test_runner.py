"""A tool ends with an exit status and one sentence, whatever it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire_zookeeper_tools import Environment, run_tool, run_tool_words
from tests.zookeeper_tools.tools import scripted


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ([], ["hello world"]),
        (["--name", "Ann", "Bo", "--who", "Cy"], ["hello Ann and Bo and Cy"]),
        (["--times=2", "--loud"], ["hello world!", "hello world!"]),
    ],
)
async def test_words_become_values(words: list[str], lines: list[str]) -> None:
    result = await run_tool_words(scripted.greeting, words)
    assert (result.exit_status, result.output.splitlines(), result.error) == (0, lines, None)


async def test_a_program_gives_values() -> None:
    assert (await run_tool(scripted.greeting, {"name": ["Ann"]})).output == "hello Ann\n"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (["--times", "0"], 2, "greeting: --times: expected at least 1, found 0"),
        (["--times", "many"], 2, "greeting: invalid value for '--times': 'many' is not a valid integer"),
        (["--time", "1"], 2, "greeting: no such option: --time; did you mean --name or --time-limit or --times?"),
        (["--name", "Echo"], 1, "greeting: cannot greet an empty room"),
    ],
)
async def test_failure_is_one_sentence(words: list[str], status: int, sentence: str) -> None:
    result = await run_tool_words(scripted.greeting, words)
    assert (result.exit_status, result.output, result.error) == (status, "", sentence)


async def test_unknown_value_is_one_sentence() -> None:
    result = await run_tool(scripted.greeting, {"nam": []})
    assert result.exit_status == 2
    assert result.error is not None
    assert result.error.startswith("greeting: unknown parameter nam: the parameters are name, times, loud")


async def test_help_describes_every_parameter() -> None:
    result = await run_tool_words(scripted.greeting, ["--help"])
    assert result.exit_status == 0
    for text in ("Greet.", "--name, --who NAME", "How often.", "--time-limit SECONDS", "-h, --help"):
        assert text in result.output


async def test_tool_that_raises_keeps_its_output() -> None:
    result = await run_tool(scripted.raising, {})
    assert (result.exit_status, result.error) == (1, "raising: LookupError: no such thing")
    assert result.output == "the first part is done\n"


async def test_tool_that_never_ends_keeps_its_output(tmp_path: Path) -> None:
    """Also one that never waits for anything."""
    ended = tmp_path / "ended"
    words = ["--started", f"{tmp_path}/started", "--ended", str(ended), "--time-limit", "0.2"]
    waiting = await run_tool_words(scripted.waiting, words)
    assert (waiting.exit_status, waiting.output) == (3, "started\n")
    assert waiting.error == "waiting: it did not finish within 0.2 s and was ended"
    assert ended.exists()
    flooding = await run_tool_words(scripted.flooding, ["--time-limit", "0.01"])
    assert (flooding.exit_status, flooding.error) == (3, "flooding: it did not finish within 0.01 s and was ended")
    assert flooding.output.startswith("x" * 10_000)


async def test_timeout_within_a_tool_is_not_its_time_limit() -> None:
    result = await run_tool(scripted.impatient, {})
    assert (result.exit_status, result.output, result.error) == (1, "waiting\n", "impatient: TimeoutError")


async def test_tool_without_a_cluster_says_what_to_name() -> None:
    from tests.zookeeper_tools.tools.running import run

    offsets = await run("get-offset-shell", "--topic", "orders")
    assert (offsets.exit_status, offsets.error) == (
        2,
        "get-offset-shell: name some brokers of the cluster: --bootstrap-server HOST:PORT",
    )
    exported = await run("export-zk-offsets")
    assert exported.error == "export-zk-offsets: name the ZooKeeper of the cluster: --zookeeper HOST:PORT"


async def test_files_outside_of_the_folders_are_refused(tmp_path: Path) -> None:
    from tests.zookeeper_tools.tools.running import run

    (tmp_path / "inside").mkdir()
    (tmp_path / "secret.log").write_bytes(b"")
    (tmp_path / "inside" / "link.log").symlink_to(tmp_path / "secret.log")
    environment = Environment(folders=(tmp_path / "inside",))
    for path in (tmp_path / "secret.log", tmp_path / "inside" / "link.log", tmp_path / "inside/../secret.log"):
        result = await run("dump-log-segments", "--files", path, environment=environment)
        assert result.exit_status == 1
        assert "is outside of the folders that tools may use" in str(result.error)


async def test_options_of_kafkas_tool_without_effect_are_accepted() -> None:
    from tests.zookeeper_tools.tools.running import run

    words = ("--offsets", "1", "--max-wait-ms", "1000", "--topic", "app")
    accepted = await run("get-offset-shell", "--bootstrap-server", "127.0.0.1:1", *words)
    assert "cannot connect" in str(accepted.error)
    helped = await run("get-offset-shell", "--help")
    assert "--max-wait-ms MS" in helped.output
    assert "Accepted for the sake of old scripts, without effect." in helped.output
