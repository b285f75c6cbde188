"""Options that choose where a command of `kwire pipeline` computes: in this process, or on Spark."""

from __future__ import annotations

import re
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import click

from kwire.terminal.options import gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from kwire_pipeline.engine import SparkSource

IN_PROCESS_ROWS = 100_000
"""The default of `kwire_pipeline.engine.IN_PROCESS_ROWS`, which is not imported for help; a test compares them."""


class EngineOptions(NamedTuple):
    """The values of `engine_options`: Spark's master if one is named, and the limit of this process in rows."""

    master: str | None
    in_process_rows: int

    @contextmanager
    def spark(self, *, at_once: bool = False) -> Iterator[SparkSource]:
        """Yield a session, or a function that starts one on demand; a started session is stopped at the end.

        The session starts at once with `at_once`, or if a master is named (`kwire_pipeline.session.names_master`).
        """
        from kwire_pipeline.session import names_master

        with ExitStack() as started:

            def start() -> SparkSession:
                return started.enter_context(spark_session(self.master))

            yield start() if at_once or self.master or names_master() else start


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets their values as `engine`."""
    rows = click.option(
        "--in-process-rows",
        type=click.IntRange(min=0),
        default=IN_PROCESS_ROWS,
        show_default=True,
        metavar="ROWS",
        help="Work on up to this number of rows in this process, and start Spark for more.",
    )
    master = click.option(
        "--master", metavar="URL", help="Run everything on this master of Spark, such as local[4] or yarn."
    )
    return master(rows(gathered(engine=EngineOptions)(command)))


@contextmanager
def spark_session(master: str | None = None) -> Iterator[SparkSession]:
    """Run a session of Spark, which is stopped at the end.

    Raises:
        OSError: an executor cannot read or write a file.
    """
    from pyspark.errors import PySparkException

    from kwire_pipeline.session import get_session

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # pandas is not used
    spark = get_session(master)
    try:
        yield spark
    except PySparkException as error:
        if reason := file_error(str(error)):
            raise OSError(reason) from error
        raise
    finally:
        spark.stop()


def file_error(text: str) -> str:
    """Return the error of a file in the traceback of an executor, such as a full disk; empty if there is none."""
    reasons = re.findall(r"^\s*\w+Error: (\[Errno \d+\] .*)$", text, re.MULTILINE)
    return str(reasons[-1]) if reasons else ""
