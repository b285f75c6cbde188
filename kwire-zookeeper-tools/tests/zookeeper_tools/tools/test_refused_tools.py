"""A tool that cannot work says why."""

from __future__ import annotations

import pytest

from tests.zookeeper_tools.tools.running import run


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["jmx-tool", "--object-name", "kafka.server:*"], "start the broker with the Jolokia agent"),
        (["jmx-tool", "--jmx-url", "service:jmx:rmi:///jndi/rmi://:9999/jmxrmi"], "JMX over RMI needs Java"),
        (
            ["jmx-tool", "--jmx-url", "http://127.0.0.1:1/jolokia", "--object-name", "x:y=z"],
            "no Jolokia agent answers at",
        ),
    ],
)
async def test_reason_is_one_sentence(words: list[str], reason: str) -> None:
    result = await run(*words)
    assert result.exit_status == 1
    assert reason in str(result.error)
    assert "\n" not in str(result.error)


@pytest.mark.parametrize("option", ["--message.handler", "--rebalance.listener.args"])
async def test_option_about_a_java_class_says_so(option: str) -> None:
    result = await run("mirror-maker", "--source", "east:1", "--target", "west:1", option, "org.example.Handler")
    assert f"no such option: {option}: it is about a Java class" in str(result.error)
