"""Why there is no Kafka to test with.

Rules of this file: each error says what somebody has to do, or shows what the other program said.
"""

from __future__ import annotations

from kwire.errors import KwireError


class KafkaTestingError(KwireError, RuntimeError):
    """The base of what is raised here."""


class MissingTools(KafkaTestingError):
    """Programs that this machine lacks. ``tools``: each with what it is wanted for and where to get it."""

    def __init__(self, tools: tuple[str, ...]) -> None:
        super().__init__(tools)
        self.tools = tools

    def __str__(self) -> str:
        return "real Kafka cannot be started here, and nothing was tested with it:" + "".join(
            f"\n  - {tool}" for tool in self.tools
        )


class JarDownloadFailed(KafkaTestingError):
    """Maven could not fetch Kafka. ``coordinates``: the pom that says what was wanted; ``output``: what Maven said."""

    def __init__(self, coordinates: str, output: str) -> None:
        super().__init__(coordinates, output)
        self.coordinates = coordinates
        self.output = output

    def __str__(self) -> str:
        return f"Maven could not fetch what {self.coordinates} names:\n{self.output}"


class StartFailed(KafkaTestingError):
    """A server that ended, or was not ready in time.

    ``server``: such as ``broker 1 (3.9.1)``; ``exit_code``: None while it runs; ``output``: the end of what it wrote.
    """

    def __init__(self, server: str, exit_code: int | None, output: str) -> None:
        super().__init__(server, exit_code, output)
        self.server = server
        self.exit_code = exit_code
        self.output = output

    def __str__(self) -> str:
        how = "is not ready" if self.exit_code is None else f"ended with exit code {self.exit_code}"
        return f"{self.server} {how}; it wrote last:\n{self.output}"
