"""Errors of real Kafka clusters for tests."""

from __future__ import annotations

from kwire.errors import KwireError


class KafkaTestingError(KwireError, RuntimeError):
    """The base class of these errors."""


class MissingTools(KafkaTestingError):
    """Required programs are not installed.

    Attributes:
        tools: each program with its purpose and how to install it.
    """

    def __init__(self, tools: tuple[str, ...]) -> None:
        super().__init__(tools)
        self.tools = tools

    def __str__(self) -> str:
        return "real Kafka cannot be started, because these programs are missing:" + "".join(
            f"\n  - {tool}" for tool in self.tools
        )


class JarDownloadFailed(KafkaTestingError):
    """Maven could not download Kafka.

    Attributes:
        pom: the name of the pom file.
        output: the output of Maven.
    """

    def __init__(self, pom: str, output: str) -> None:
        super().__init__(pom, output)
        self.pom = pom
        self.output = output

    def __str__(self) -> str:
        return f"Maven could not download the dependencies of {self.pom}:\n{self.output}"


class StartFailed(KafkaTestingError):
    """A server exited or was not ready in time.

    Attributes:
        server: such as `broker 1 (3.9.1)`.
        exit_code: its exit code; None if it is running.
        output: the end of its log and output.
    """

    def __init__(self, server: str, exit_code: int | None, output: str) -> None:
        super().__init__(server, exit_code, output)
        self.server = server
        self.exit_code = exit_code
        self.output = output

    def __str__(self) -> str:
        state = "is not ready" if self.exit_code is None else f"ended with exit code {self.exit_code}"
        return f"{self.server} {state}; the end of its output:\n{self.output}"
