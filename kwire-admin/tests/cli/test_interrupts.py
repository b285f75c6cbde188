"""Ctrl-C at any moment, and answers to questions: the command says what was done, and exits with 130."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kwire.messages.kafka.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from kwire.messages.kafka.metadata import MetadataRequest
from kwire.testing import FakeCluster
from tests.cli.running import COMMAND, INTERRUPTIBLE, ON_ITS_TERMINAL, environment, read_terminal
from tests.client.admin.scripted_broker import KeepSilent, scripted_broker
from tests.client.admin.test_cluster_router import Script
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kwire.declare import Message

CREATE = ("topics", "create", "orders", "-p", "1", "-r", "1")
CREATED = CreateTopicsResponse(topics=(CreatableTopicResult(name="orders", error_code=0, error_message=None),))


IN_BACKGROUND = tuple(word.replace("SIGINT, signal.SIG_DFL", "SIGINT, signal.SIG_IGN") for word in INTERRUPTIBLE)
"""The beginning of a command that ignores Ctrl-C, as shells start jobs in the background."""


class NeverAnswers(Script):
    """A broker that keeps every request."""

    def __call__(self, request: Any) -> Message:
        del request
        raise KeepSilent


async def interrupted(
    script: Script,
    when: Callable[[Message], bool],
    *arguments: str,
    number: signal.Signals = signal.SIGINT,
    in_background: bool = False,
) -> tuple[int, str, str]:
    """Run the command, send it a signal when the broker has received a request, and return code, stdout, and stderr."""
    async with scripted_broker("kafka", script) as broker:
        script.broker = broker
        process = await asyncio.create_subprocess_exec(
            *(IN_BACKGROUND if in_background else INTERRUPTIBLE),
            *COMMAND,
            *("-b", f"127.0.0.1:{broker.port}", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        try:
            await eventually(lambda: any(map(when, broker.received)), "the request arrives")
            process.send_signal(number)
            out, err = await asyncio.wait_for(process.communicate(), 60)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_interrupt_before_a_command_is_sent_says_that_nothing_was_changed() -> None:
    found = await interrupted(NeverAnswers(), lambda request: isinstance(request, MetadataRequest), *CREATE)
    assert found == (130, "", "Interrupted: nothing was changed.\n")


async def test_interrupt_before_the_response_says_that_the_outcome_is_unknown() -> None:
    script = Script(CreateTopicsRequest=[KeepSilent])
    found = await interrupted(script, lambda request: isinstance(request, CreateTopicsRequest), *CREATE)
    sentence = "the outcome of CreateTopicsRequest is unknown. Check the cluster before you repeat the command."
    assert found == (130, "", f"Interrupted: {sentence}\n")


async def test_interrupt_while_waiting_says_that_the_cluster_has_answered() -> None:
    script = Script(CreateTopicsRequest=[CREATED])
    found = await interrupted(
        script, lambda request: isinstance(request, MetadataRequest) and bool(request.topics), *CREATE
    )
    assert found == (
        130,
        "",
        "Interrupted: the cluster has answered CreateTopicsRequest, and may still be applying the change.\n",
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("in_background", [False, True])
async def test_signal_that_ends_a_command_is_an_interrupt(number: signal.Signals, in_background: bool) -> None:
    """Pods and jobs that are stopped, and closed terminals, must not hide that a change was sent."""
    script = Script(CreateTopicsRequest=[KeepSilent])
    found = await interrupted(
        script,
        lambda request: isinstance(request, CreateTopicsRequest),
        *CREATE,
        number=number,
        in_background=in_background,
    )
    sentence = "the outcome of CreateTopicsRequest is unknown. Check the cluster before you repeat the command."
    assert found == (128 + number, "", f"Interrupted: {sentence}\n")


def answered(
    answer: bytes, *arguments: str, command: tuple[str, ...] = COMMAND, end: bytes = b":", **variables: str
) -> tuple[int, str]:
    """Run a command on a terminal, type an answer to its question, and return the exit code and what was shown.

    Args:
        end: the last characters of the question but white space.
    """
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*ON_ITS_TERMINAL, *command, *arguments],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env=environment(**variables),
        start_new_session=True,
    )
    os.close(terminal)
    shown = b""
    try:
        while not shown.rstrip().endswith(end):
            shown += os.read(controller, 1024)
        os.write(controller, answer)
        while chunk := read_terminal(controller):
            shown += chunk
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(controller)
    return code, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"\x03", "Interrupted: nothing was changed."),
        (b"\x04", "Interrupted: nothing was changed."),
        (b"n\n", "Not confirmed: nothing was changed."),
        (b"\n", "Not confirmed: nothing was changed."),
    ],
    ids=["Ctrl-C", "Ctrl-D", "no", "nothing"],
)
def test_question_that_is_not_confirmed_changes_nothing(answer: bytes, sentence: str) -> None:
    with FakeCluster(1, topics=["orders"]) as cluster:
        code, shown = answered(answer, "-b", cluster.bootstrap, "topics", "delete", "orders")
    assert code == 130
    assert "Delete orders and all records? [y/N]: " in shown
    assert sentence in shown


def test_question_of_a_script_ends_with_an_interrupt() -> None:
    """While an event loop runs, Ctrl-C only cancels a task, which would leave the question open."""
    script = (sys.executable, "-m", "kwire_admin.compat", "kafka-acls")
    with FakeCluster(1, topics=["orders"]) as cluster:
        words = ("--bootstrap-server", cluster.bootstrap, "--remove", "--topic", "orders")
        code, shown = answered(b"\x03", *words, command=script, end=b"(y/n)")
    assert code == 130
    assert "Current ACLs" not in shown


@pytest.mark.parametrize("answer", [b" Yes \n", b"perhaps\ny\n"])
def test_question_that_is_confirmed_is_carried_out(answer: bytes) -> None:
    with FakeCluster(1, topics=["orders"]) as cluster:
        code, shown = answered(answer, "-b", cluster.bootstrap, "topics", "delete", "orders")
        assert not cluster.state.topics
    assert code == 0
    assert shown.count("[y/N]: ") == answer.count(b"\n")


def test_name_of_another_cluster_changes_nothing(tmp_path: Path) -> None:
    with FakeCluster(1, topics=["orders"]) as cluster:
        config = tmp_path / "config.toml"
        config.write_text(
            f'[clusters.prod]\nbootstrap = "{cluster.bootstrap}"\nconfirm = "type-name"\n', encoding="utf-8"
        )
        code, shown = answered(b"prd\n", "-c", "prod", "topics", "delete", "orders", KWIRE_CONFIG=str(config))
    assert code == 130
    assert "Type prod to confirm: " in shown
    assert "Not confirmed: nothing was changed." in shown
