"""`kafka exporter`: serve the metrics of clusters to Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.terminal.cluster import cluster_names
from kwire.terminal.cluster_options import choose_checked, cluster_options
from kwire.terminal.options import interval_option, require
from kwire.terminal.parameter_types import Named
from kwire_admin.cli.server_options import gold_option, http_options, past_incidents, run_server, server_options

if TYPE_CHECKING:
    from kwire.terminal.cluster import ClusterChoice
    from kwire_admin.exporter.observed_cluster import Selection

LEVELS = ("cluster", "topic", "partition", "replica")


@click.command(params=[option for option in cluster_options() if option.name not in ("output", "debug", "cluster")])
@click.option(
    "-c",
    "--cluster",
    "clusters",
    multiple=True,
    type=Named("clusters"),
    metavar="NAME",
    help="A cluster of the configuration file. Can be given several times.",
)
@click.option("--all-clusters", is_flag=True, help="Export every cluster of the configuration file.")
@server_options("127.0.0.1:9308")
@interval_option(description="Time between two requests for metadata, groups, and ends of logs.", least=1, default=15.0)
@interval_option(
    "--long-interval",
    description="Time between two requests for first offsets, sizes, configs, members, transactions, quorum, tokens.",
    least=1,
    default=60.0,
)
@click.option(
    "--names",
    type=click.Choice(["kwire", "kafka_exporter", "kminion"]),
    default="kwire",
    show_default=True,
    help="Names of metrics: kwire's own, or the names of another exporter, for its dashboards.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="partition",
    show_default=True,
    help="Series of the cluster with its groups only, of topics, of partitions, or of their replicas as well.",
)
@click.option("--topics", metavar="REGEX", default=".*", help="Only topics whose whole name matches.")
@click.option("--exclude-topics", metavar="REGEX", help="No topics whose whole name matches.")
@click.option("--groups", metavar="REGEX", default=".*", help="Only groups whose whole id matches.")
@click.option("--exclude-groups", metavar="REGEX", help="No groups whose whole id matches.")
@click.option(
    "--max-series",
    type=click.IntRange(min=100),
    metavar="N",
    default=1_000_000,
    show_default=True,
    help="Maximum number of series of a cluster; kwire_exporter_omitted_series counts the others.",
)
@gold_option
@click.option(
    "--history",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep the ends of logs over time in this folder, so that lags in seconds continue after a restart.",
)
@click.option(
    "--print",
    "printed",
    type=click.Choice(["dashboard", "rules", "scrape", "unit"]),
    help="Print a file for another program and exit: the dashboard of Grafana, the alert rules or the scrape "
    "configuration of Prometheus, or a unit of systemd.",
)
def exporter(
    clusters: tuple[str, ...],
    all_clusters: bool,
    interval: float,
    long_interval: float,
    names: str,
    gold: str | None,
    history: Path | None,
    printed: str | None,
    **options: Any,
) -> int:
    """Serve the metrics of clusters to Prometheus at /metrics.

    Requests are sent to brokers at the interval, never because of a scrape. A scrape shows the latest known values;
    kwire_exporter_answer_timestamp_seconds has its time.

    \b
    Examples:
      kafka exporter -b localhost:9092
      kafka exporter -c prod -c staging --topics 'orders.*' --exclude-groups 'console-consumer-.*'
      kafka exporter -b localhost:9092 --names kafka_exporter
      kafka exporter --print rules > kafka-rules.yml
      kafka exporter --all-clusters --listen 0.0.0.0:9308 --tokens tokens.toml --certificate node.pem

    `kafka http --new-token` makes the tokens of --tokens.

    Exit codes: 0 stopped by a signal, 1 cannot listen, 2 wrong usage.
    """
    if printed is not None:
        from kwire_admin.exporter.monitoring_files import MONITORING_FILES

        print(MONITORING_FILES[printed](), end="")
        return 0
    require("prometheus_client", "exporter")
    selection = _selection(options)
    chosen = _clusters(tuple(cluster_names()) if all_clusters else clusters, all_clusters, options)
    of_clusters = {option.name for option in cluster_options()}
    checked = http_options(extra="exporter", **{name: options[name] for name in options.keys() - of_clusters})
    from kwire_admin.exporter.application import MonitoredCluster, application
    from kwire_admin.exporter.cluster_view import ClusterView
    from kwire_admin.exporter.metric_table import metric_table

    monitored = [
        MonitoredCluster(
            ClusterView(cluster.name or "", metric_table().names[names], selection, names_cluster=len(chosen) > 1),
            cluster,
            interval,
            long_interval,
            past_incidents(gold),
            history,
        )
        for cluster in chosen
    ]
    subject = "metrics of " + ", ".join(cluster.name or cluster.bootstrap for cluster in chosen)
    run_server(lambda _: application(monitored, checked.tokens), checked, subject)
    return 0


def _clusters(names: tuple[str, ...], all_clusters: bool, options: dict[str, Any]) -> list[ClusterChoice]:
    """Return the clusters of these names, each once; without names, the cluster of the other options.

    Raises:
        click.UsageError: all clusters are wanted, and the configuration file has none.
    """
    if all_clusters and not names:
        raise click.UsageError("--all-clusters: the configuration file has no clusters")
    return [choose_checked(dict(options), "kwire-exporter", name) for name in dict.fromkeys(names) or [None]]


def _selection(options: dict[str, Any]) -> Selection:
    """Return the selection of topics, groups, and series, and remove its options.

    Raises:
        click.UsageError: a regular expression is invalid.
    """
    from kwire_admin.exporter.observed_cluster import Selection

    level = LEVELS.index(options.pop("level"))
    names = ("topics", "groups", "exclude_topics", "exclude_groups", "max_series")
    try:
        return Selection(level, *(options.pop(name) for name in names))
    except re.error as error:
        raise click.UsageError(f"{error.pattern!r} is not a regular expression: {error}") from None
