"""The values of metrics of a cluster, its brokers, and its controller, by the key that `metrics.txt` has for them.

A value is a number, None without one, or a list of pairs: values of labels, and a number.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import kwire
from kwire.messages import UnknownMessage, api_name, find

# Views are Any here: their module imports this one, and imports for types would close a circle.

__all__ = ["cluster_values"]

METADATA = 3


def cluster_values(view: Any) -> dict[str, Any]:
    """Return the values of a cluster, as far as they are known."""
    metadata, quorum, features = view.metadata, view.quorum, view.features
    has_metadata = metadata is not None
    up = int(any(key == METADATA and broker not in view.down for broker, key in view.answered))
    counts = dict.fromkeys(view.counts._fields) if metadata is None else view.counts._asdict()
    omitted = [((family.metric.name,), family.series - family.included) for family in view.families]
    return {
        # The exporter
        "up": up,
        "version": [((kwire.__version__,), up)],
        "answer_times": [((broker, _api(key)), round(at, 1)) for (broker, key), at in view.answered.items()],
        "failures": [((broker, _api(key), error), count) for (broker, key, error), count in view.failed.items()],
        "series": sum(family.series for family in view.families),
        "omitted_series": [(name, count) for name, count in omitted if count],
        "render_seconds": round(view.render_seconds, 6),
        "api_requests": [((broker, _api(key)), count) for (broker, key), (count, _) in view.latency.items()],
        "api_seconds": [((broker, _api(key)), round(total, 6)) for (broker, key), (_, total) in view.latency.items()],
        # Topics and groups
        "topics": len(view.records) if has_metadata else None,
        "partitions": counts.pop("all"),
        **counts,
        "incidents": [((kind,), count) for kind, count in view.incidents.items()],
        "events": [((name,), count) for name, count in view.events.items()],
        "group_counts": list(Counter((group.kind or "", group.state) for group in view.groups.values()).items()),
        "transactions": list(
            Counter(
                (transaction.transaction_state,) for listed in view.transactions.values() for transaction in listed
            ).items()
        ),
        "hanging_transactions": [pair for hanging in view.hanging.values() for pair in hanging.items()],
        # Security
        "certificate_expiries": [((broker,), end) for broker, end in view.certificate_ends.items()],
        "token_expiries": [
            ((token.token_id, f"{token.principal_type}:{token.principal_name}"), token.expiry_timestamp / 1000)
            for token in view.tokens
        ],
        "feature_levels": [
            ((finalized_feature.name,), finalized_feature.max_version_level)
            for finalized_feature in (features.finalized_features if features else ())
        ],
        **_broker_values(view),
        **_log_dir_values(view),
        **({} if quorum is None else _quorum_values(quorum)),
        **({} if metadata is None else _metadata_values(view)),
    }


def _broker_values(view: Any) -> dict[str, Any]:
    """Return which brokers answer. A broker that the metadata does not list any more is down while it is polled."""
    listed = () if view.metadata is None else view.metadata.brokers
    ids = {broker.node_id for broker in listed} | {broker for broker, _ in view.answered} | view.down
    return {
        "broker_up": [((broker_id,), int(broker_id not in view.down)) for broker_id in sorted(ids) if broker_id >= 0]
    }


def _metadata_values(view: Any) -> dict[str, Any]:
    brokers, cluster_id = view.metadata.brokers, view.metadata.cluster_id or ""
    # Under KRaft, Metadata names any live broker as the controller; the quorum knows.
    controller = view.controller if view.quorum is None else view.quorum.leader_id
    infos = [(broker.node_id, broker.host, broker.port, broker.rack or "") for broker in brokers]
    sizes = {broker: sum(size for _, size in dirs) for broker, dirs in view.log_dirs.items()}
    return {
        "cluster_info": [((cluster_id,), 1)],
        "brokers": len(brokers),
        "broker_info": [(labels, 1) for labels in infos],
        "broker_addresses": [((broker.node_id, f"{broker.host}:{broker.port}"), 1) for broker in brokers],
        "broker_sizes": [(labels, sizes[labels[0]]) for labels in infos if labels[0] in sizes],
        "peer_broker_info": [((*labels, str(labels[0] == controller).lower()), 1) for labels in infos],
        "peer_cluster_info": [((view.release, len(brokers), controller, cluster_id), 1)],
        "leader_partitions": [((broker.node_id,), view.leaders[broker.node_id]) for broker in brokers],
        "controller_id": controller,
    }


def _log_dir_values(view: Any) -> dict[str, Any]:
    dirs = [
        ((broker, log_dir.log_dir), log_dir, size) for broker, dirs in view.log_dirs.items() for log_dir, size in dirs
    ]
    return {
        "log_dir_sizes": [(labels, size) for labels, _, size in dirs],
        "log_dir_volumes": [(labels, log_dir.total_bytes) for labels, log_dir, _ in dirs if log_dir.total_bytes >= 0],
        "log_dir_usable": [(labels, log_dir.usable_bytes) for labels, log_dir, _ in dirs if log_dir.usable_bytes >= 0],
        "log_dir_online": [(labels, int(not log_dir.error_code)) for labels, log_dir, _ in dirs],
    }


def _quorum_values(quorum: Any) -> dict[str, Any]:
    replicas = [(replica, role) for role in ("voter", "observer") for replica in getattr(quorum, _REPLICAS[role])]
    end = max((replica.log_end_offset for replica, _ in replicas), default=0)
    lags = [
        ((replica.replica_id, role), end - replica.log_end_offset)
        for replica, role in replicas
        if replica.log_end_offset >= 0
    ]
    return {
        "quorum_epoch": quorum.leader_epoch,
        "quorum_high_watermark": quorum.high_watermark,
        "quorum_lags": lags,
    }


_REPLICAS = {"voter": "current_voters", "observer": "observers"}


@cache
def _api(key: int) -> str:
    """Return the name of an API, such as `Metadata` for 3."""
    try:
        return api_name(find("kafka", api_key=key, kind="request"))
    except UnknownMessage:
        return str(key)
