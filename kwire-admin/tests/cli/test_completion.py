"""Completion at Tab: commands, options, and names of a cluster, in the shells that are installed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from kwire_admin.cli.completion.name_cache import MAX_FILES, SHOWN, USABLE, NameFile, choice_of
from kwire_admin.cli.completion.shell_words import escape, split
from tests.cli.running import environment, kwire
from tests.cli.scripted_broker import raw_server
from tests.cli.shells import Shell, installed_shells
from tests.eventually import eventually_sync
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

BREAKS = " \t\n\"'><=;|&(:"
"""The usual COMP_WORDBREAKS."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["orders.eu", "orders.us", "audit"]) as cluster:
        yield cluster


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a configuration of its own for this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "cache" / "kwire" / "completion"


@pytest.fixture(scope="module")
def file_of_commands(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that the first Tab makes, which takes a second."""
    folder = tmp_path_factory.mktemp("cache")
    assert kwire("__complete", "zsh", "top", XDG_CACHE_HOME=str(folder)).out
    return (folder / "kwire" / "completion" / "commands").read_bytes()


@pytest.fixture
def cache(empty_cache: Path, file_of_commands: bytes) -> Path:
    """A cache and a configuration of its own for this test, after a Tab."""
    empty_cache.mkdir(parents=True)
    (empty_cache / "commands").write_bytes(file_of_commands)
    return empty_cache


def completed(line: str, shell: str = "zsh") -> list[str]:
    """Return the candidates for a line, the first line being how they are completed."""
    words = [BREAKS, line] if shell == "bash" else line.split(" ")[1:]
    done = kwire("__complete", shell, *words)
    assert (done.code, done.err) == (0, "")
    return [line.partition("\t")[0] for line in done.out.split("\n")[:-1]]


def wait_completed(line: str, candidates: list[str]) -> None:
    """Press Tab until names have arrived: it waits for them only for a moment, and they are fetched meanwhile."""
    eventually_sync(lambda: completed(line) == candidates, f"{line!r} is completed with {candidates}")


@pytest.mark.parametrize("name", installed_shells)
def test_tab_completes_commands_options_and_live_names(name: str, tmp_path: Path, cluster: FakeCluster) -> None:
    with Shell(name, tmp_path, KWIRE_BOOTSTRAP=cluster.bootstrap) as shell:
        assert shell.complete("kafka top") == "kafka topics "
        assert shell.complete("kafka topics desc") == "kafka topics describe "
        assert shell.complete("kafka topics describe --on") == "kafka topics describe --only "
        assert shell.complete("kafka topics describe --only off") == "kafka topics describe --only offline "
        audit = "kafka topics describe audit "
        eventually_sync(lambda: shell.complete("kafka topics describe au") == audit, "the names are fetched")
        assert shell.complete("kafka topic describe or") == "kafka topic describe orders."
        assert {"orders.eu", "orders.us"} <= set(shell.candidates("kafka topics delete or"))
        assert shell.complete("kafka configs get top") == "kafka configs get topic/"
        assert shell.complete("kafka configs get topic/a") == "kafka configs get topic/audit "
        assert shell.complete("kafka acls list top") == "kafka acls list topic:"
        assert shell.complete("kafka acls list topic:a") == "kafka acls list topic:audit "


@pytest.mark.parametrize("name", installed_shells)
def test_names_from_a_cluster_are_never_run_by_the_shell(name: str, tmp_path: Path) -> None:
    names = ["a$(touch touched)", "b`touch touched`", "c;touch touched", "d touch"]
    hostile = choice_of("topics", {"bootstrap": "hostile:1"})
    assert hostile is not None
    with Shell(name, tmp_path) as shell:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
            NameFile(hostile, "topics").write(names)
        for prefix in "abcd":
            shell.candidates(f"kafka -b hostile:1 topics describe {prefix}")
        assert shell.complete("kafka -b hostile:1 topics describe d") in {
            "kafka -b hostile:1 topics describe d\\ touch ",
            "kafka -b hostile:1 topics describe 'd touch' ",
        }
    assert not (tmp_path / "touched").exists()


def test_first_tab_fetches_names_and_later_ones_read_them(empty_cache: Path) -> None:
    with FakeCluster(1, topics=["orders"]) as cluster:
        wait_completed(f"kafka -b {cluster.bootstrap} topics describe ", ["", "orders"])
        bootstrap = cluster.bootstrap
    assert completed(f"kafka -b {bootstrap} topics describe o") == ["", "orders"], "the cluster is gone"
    [file] = empty_cache.glob("*-topics")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(empty_cache.stat().st_mode) == 0o700


def test_old_names_are_used_and_fetched_in_the_background(cache: Path, cluster: FakeCluster) -> None:
    line = f"kafka -b {cluster.bootstrap} topics describe "
    wait_completed(line, ["", "audit", "orders.eu", "orders.us"])
    [path] = cache.glob("*-topics")
    head, *_ = path.read_bytes().partition(b"\n")
    path.write_bytes(head + b"\nformer\n")
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    assert completed(line) == ["", "former"]
    wait_completed(line, ["", "audit", "orders.eu", "orders.us"])


@pytest.mark.usefixtures("cache")
def test_change_by_a_verb_is_completed_at_the_next_tab(cluster: FakeCluster) -> None:
    choice = choice_of("topics", {"bootstrap": cluster.bootstrap})
    assert choice is not None
    file = NameFile(choice, "topics")
    file.write(["orders"])
    file.expire()
    assert file.age() > USABLE
    wait_completed(f"kafka -b {cluster.bootstrap} topics describe a", ["", "audit"])


@pytest.mark.usefixtures("cache")
def test_list_that_a_verb_prints_is_completed_without_a_request() -> None:
    with FakeCluster(1, topics=["orders"]) as cluster:
        bootstrap = cluster.bootstrap
        assert kwire("-b", bootstrap, "topics", "list").code == 0
    assert completed(f"kafka -b {bootstrap} topics describe ") == ["", "orders"]


def test_filtered_list_is_not_completed(empty_cache: Path, cluster: FakeCluster) -> None:
    assert kwire("-b", cluster.bootstrap, "topics", "list", "orders*").code == 0
    assert not list(empty_cache.glob("*-topics"))


@pytest.mark.usefixtures("cache")
def test_cluster_equals_the_cluster_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KWIRE_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("KWIRE_CLUSTER", "prod")
    with FakeCluster(1, topics=["orders"]) as cluster:
        bootstrap = cluster.bootstrap
        assert kwire("topics", "list", "-b", bootstrap).code == 0
    assert completed(f"kafka -b {bootstrap} topics describe ") == ["", "orders"]


@pytest.mark.usefixtures("cache")
def test_clusters_do_not_share_names(cluster: FakeCluster) -> None:
    with FakeCluster(1, topics=["other"]) as other:
        wait_completed(f"kafka -b {other.bootstrap} topics describe ", ["", "other"])
        wait_completed(f"kafka -b {cluster.bootstrap} topics describe a", ["", "audit"])


def test_unreachable_cluster_completes_nothing_and_is_not_asked_again_at_once(cache: Path) -> None:
    line = "kafka -b 127.0.0.1:1 topics describe "
    assert completed(line) == [""]
    [marker] = cache.glob("*-topics.fetching")
    eventually_sync(lambda: b"Connection refused" in marker.read_bytes(), "the reason is kept")
    before = marker.stat().st_mtime_ns
    assert completed(line) == [""]
    assert marker.stat().st_mtime_ns == before


@pytest.mark.usefixtures("cache")
def test_cluster_that_never_answers_delays_the_first_tab_only(tmp_path: Path) -> None:
    class Silent:
        def __init__(self, request: object, *_: object) -> None:
            del request
            released.wait()

    import threading

    released = threading.Event()
    with raw_server(Silent) as address:
        try:
            assert completed(f"kafka -b {address} topics describe ") == [""]
        finally:
            released.set()
    del tmp_path


@pytest.mark.usefixtures("cache")
def test_password_command_is_never_run_for_completion(tmp_path: Path) -> None:
    config = tmp_path / "config" / "kwire"
    config.mkdir(parents=True)
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username='a';"
    (config / "config.toml").write_text(
        f"""[clusters.prod]
bootstrap = "127.0.0.1:1"
password_command = "touch {tmp_path / "asked"}"
properties = {{ "security.protocol" = "SASL_PLAINTEXT", "sasl.mechanism" = "PLAIN", "sasl.jaas.config" = "{jaas}" }}
""",
        encoding="utf-8",
    )
    assert completed("kafka -c pr") == ["", "prod"]
    assert completed("kafka -c prod topics describe ") == [""]
    assert not (tmp_path / "asked").exists()
    assert kwire("-c", "prod", "topics", "list").code != 0
    assert (tmp_path / "asked").exists()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("kafka rep", ["replay", "report"]),
        ("kafka topics l", ["list"]),
        ("kafka -b h:1 -o json topics d", ["delete", "describe"]),
        ("kafka decode --re", ["--request", "--response"]),
        ("kafka -o js", ["json", "jsonl"]),
        ("kafka --output=js", ["--output=json", "--output=jsonl"]),
        ("kafka cluster h", ["health"]),
        ("kafka cluster u", ["up"]),
        ("kafka plan MetadataRe", ["MetadataRequest", "MetadataResponse"]),
        ("kafka decode --message=MetadataReq", ["--message=MetadataRequest"]),
        ("kafka completion ", ["bash", "fish", "zsh"]),
        ("kafka nosuch x", []),
        ("kafka topics list --nosuch x", []),
        ("kafka configs get client-metrics/", []),
        ("kafka topics describe --only offline --only under-r", ["under-replicated"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_commands_options_and_choices(line: str, candidates: list[str]) -> None:
    """Names of messages are fetched in the background at the first Tab, like those of a cluster."""
    eventually_sync(lambda: completed(line)[1:] == candidates, f"{line!r} is completed with {candidates}")


@pytest.mark.usefixtures("cache")
def test_option_that_was_given_is_not_offered_again() -> None:
    offered = completed("kafka topics create --partitions 3 --config a=b --")
    assert "--partitions" not in offered
    assert {"--config", "--replication-factor"} <= set(offered)


@pytest.mark.usefixtures("cache")
def test_files_are_left_to_the_shell() -> None:
    assert completed("kafka --command-config ") == ["files"]
    assert completed("kafka decode ") == ["files"]
    assert completed("kafka capture ") == ["directories"]


@pytest.mark.usefixtures("cache")
def test_many_candidates_keep_their_common_prefix() -> None:
    choice = choice_of("topics", {"bootstrap": "h:1"})
    assert choice is not None
    file = NameFile(choice, "topics")
    file.write(f"t-{index:05}" for index in range(50_000))
    found = file.matches("t-")
    assert len(found) <= SHOWN + 1
    assert (found[0], found[-1]) == ("t-00000", "t-49999"), "so the common prefix is the prefix of all"
    assert file.matches("t-0123") == [f"t-0123{digit}" for digit in range(10)]
    assert file.matches("u") == file.matches("t-00001x") == []


@pytest.mark.usefixtures("cache")
def test_file_of_another_cluster_with_the_same_checksum_is_not_read() -> None:
    file = NameFile("one", "topics")
    file.write(["orders"])
    other = NameFile("two", "topics")
    other.path = file.path
    assert other.matches("") == []


@pytest.mark.usefixtures("cache")
def test_name_that_would_disturb_a_terminal_is_left_out() -> None:
    file = NameFile("one", "groups")
    file.write(["a\x1b[2J", "b\nc", "", "grün"])
    assert file.matches("") == ["grün"]


def test_cache_is_bounded(empty_cache: Path) -> None:
    for index in range(MAX_FILES + 20):
        NameFile(f"cluster {index}", "topics").write(["orders"])
    assert len(list(empty_cache.iterdir())) <= MAX_FILES


def test_commands_complete_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert completed("kafka top") == ["", "topics"]
    assert completed("kafka -b 127.0.0.1:1 topics describe ") == [""]


def test_damaged_file_of_commands_is_replaced(empty_cache: Path) -> None:
    assert completed("kafka top") == ["", "topics"]
    for content in (b"", b"damaged", b"\xff" * 100):
        (empty_cache / "commands").write_bytes(content)
        assert completed("kafka top") == ["", "topics"]


@pytest.mark.usefixtures("cache")
def test_completion_imports_neither_click_nor_verbs(cluster: FakeCluster) -> None:
    line = f"kafka -b {cluster.bootstrap} topics describe a"
    wait_completed(line, ["", "audit"])
    program = """
import sys
from kwire_admin.cli import main
sys.argv[1:] = ["__complete", "bash", " ", sys.argv[1]]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, line], capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.split() == ["audit"]
    slow = {
        "click",
        "asyncio",
        "typing",
        "dataclasses",
        "re",
        "json",
        "pathlib",
        "subprocess",
        "kwire_admin.operations.verbs",
    }
    assert not slow & set(done.stderr.split())


@for_rows(
    ("line", "words", "text", "kept"),
    [
        ("kafka topics ", ["kafka", "topics"], "", ""),
        ("kafka  topics desc", ["kafka", "topics"], "desc", ""),
        ("kafka 'a b' c", ["kafka", "a b"], "c", ""),
        ("kafka a\\ b", ["kafka"], "a b", ""),
        ('kafka "a\\"b', ["kafka"], 'a"b', ""),
        ("kafka topic:or", ["kafka"], "topic:or", "topic:"),
        ("kafka 'topic:or", ["kafka"], "topic:or", ""),
        ("kafka --only=off", ["kafka"], "--only=off", "--only="),
        ("kafka ''", ["kafka"], "", ""),
    ],
)
def test_unfinished_line_of_bash_is_split(line: str, words: list[str], text: str, kept: str) -> None:
    found, last = split(line, BREAKS)
    assert (found, last.text, last.kept) == (words, text, kept)


def test_candidate_is_escaped_unless_a_quote_is_open() -> None:
    assert escape("a b$(c)", split("kafka a", BREAKS)[1]) == "a\\ b\\$\\(c\\)"
    assert escape("a b", split("kafka 'a", BREAKS)[1]) == "a b"
    assert escape("topic:orders", split("kafka topic:o", BREAKS)[1]) == "orders"


@for_rows("shell", ["bash", "zsh", "fish"])
def test_script_is_printed(shell: str) -> None:
    run = kwire("completion", shell)
    assert run.code == 0
    assert "kafka" in run.out
    assert f"kafka completion {shell}" in run.out
