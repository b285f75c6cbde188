"""The values of metrics of a cluster, its brokers, and its controller, by the key that `metrics.txt` has for them.

A value is a number, None without one, or a list of pairs: values of labels, and a number. A value that no fresh answer
supports is None or has no pair.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import kwire
from kwire.messages import UnknownMessage, api_name, find

if TYPE_CHECKING:
    from typing import TypeAlias

    from kwire_admin.exporter.observed_cluster import ObservedCluster

    Pairs: TypeAlias = list[tuple[tuple[object, ...], float]]
    Values: TypeAlias = dict[str, float | Pairs | None]

__all__ = ["cluster_values"]


def cluster_values(state: ObservedCluster) -> Values:
    """Return the values of a cluster, as far as they are known."""
    answers = state.answers
    up = int(state.is_up)
    failures = [((broker, _api(key), error), count) for (broker, key, error), count in answers.failures.items()]
    return {
        # The exporter
        "up": up,
        "peer_up": [((kwire.__version__,), int(state.is_complete))],
        "build": [((kwire.__version__,), 1)],
        "restarts": state.restarts,
        "answer_times": [((broker, _api(key)), round(at, 1)) for (broker, key), at in answers.answered.items()],
        "oldest_answers": [((source.value,), round(at, 1)) for source, at in answers.oldest().items()],
        "failures": list(failures),
        "api_requests": [((broker, _api(key)), count) for (broker, key), count in answers.requests.items()],
        "api_seconds": [((broker, _api(key)), round(time, 6)) for (broker, key), time in answers.seconds.items()],
        "requests_sent": answers.sent.frames,
        "sent_bytes": answers.sent.size,
        "requests_received": answers.received.frames,
        "received_bytes": answers.received.size,
        # Counters and reports of others
        "incidents": [((kind,), count) for kind, count in state.incidents.items()],
        "events": [((name,), count) for name, count in state.events.items()],
        "certificate_expiries": [((broker,), end) for broker, end in state.certificate_ends.items()],
        **_topic_values(state),
        **_group_values(state),
        **_broker_values(state),
        **_log_dir_values(state),
        **_quorum_values(state),
        **_metadata_values(state),
    }


def _topic_values(state: ObservedCluster) -> Values:
    """Return numbers of topics and partitions. Nothing is counted against a `min.insync.replicas` that is not known."""
    if state.metadata is None:
        return {}
    counts = state.topics.counts._asdict()
    records = state.topics.records.values()
    if records and all(record.min_isr < 0 for record in records):
        counts["under_min_isr"] = counts["at_min_isr"] = None
    unknown = [((topic,), count) for topic, count in state.unknown_coordinators().items()]
    return {"topics": len(records), "partitions": counts.pop("all"), **counts, "unknown_coordinators": unknown}


def _group_values(state: ObservedCluster) -> Values:
    groups = state.groups.records.values()
    transactions = [transaction for values in state.brokers.values() for transaction in values.transactions]
    return {
        "group_counts": list(Counter((group.kind or "", group.state) for group in groups).items()),
        "group_count": len(groups) if state.metadata is not None else None,
        "empty_groups": sum(group.state == "Empty" for group in groups) if state.metadata is not None else None,
        "transactions": list(Counter((transaction.transaction_state,) for transaction in transactions).items()),
        "hanging_transactions": [pair for values in state.brokers.values() for pair in values.hanging.items()],
        "token_expiries": [
            ((token.token_id, f"{token.principal_type}:{token.principal_name}"), token.expiry_timestamp / 1000)
            for token in state.tokens
        ],
        "feature_levels": [
            ((finalized_feature.name,), finalized_feature.max_version_level)
            for finalized_feature in (state.features.finalized_features if state.features else ())
        ],
    }


def _broker_values(state: ObservedCluster) -> Values:
    """Return which brokers answer. A broker that the metadata does not list any more is down while it is polled."""
    listed = () if state.metadata is None else state.metadata.brokers
    down, answered = state.answers.down, {broker for broker, _ in state.answers.answered}
    ids = sorted({broker.node_id for broker in listed} | answered | down)
    return {
        # A broker that is only listed was not asked yet.
        "broker_up": [((id,), int(id not in down)) for id in ids if id >= 0 and (id in answered or id in down)],
        "live_brokers": len({broker.node_id for broker in listed}) if state.is_up else 0,
    }


def _metadata_values(state: ObservedCluster) -> Values:
    if state.metadata is None:
        return {}
    cluster_id, controller = state.metadata.cluster_id or "", state.controller_id
    # A broker that is listed twice has the last of its addresses.
    brokers = list({broker.node_id: broker for broker in state.metadata.brokers}.values())
    infos = [(broker.node_id, broker.host, broker.port, broker.rack or "") for broker in brokers]
    sizes = {broker: sum(log_dir.size for log_dir in values.log_dirs) for broker, values in state.brokers.items()}
    reported = {broker for broker, values in state.brokers.items() if values.log_dirs}
    leaders = state.topics.leaders
    shown = -1 if controller is None else controller
    return {
        "cluster_info": [((cluster_id,), 1)],
        "brokers": len(brokers),
        "broker_info": [(labels, 1) for labels in infos],
        "broker_addresses": [((broker.node_id, f"{broker.host}:{broker.port}"), 1) for broker in brokers],
        "broker_sizes": [(labels, sizes[labels[0]]) for labels in infos if labels[0] in reported],
        "peer_broker_info": [((*labels, str(labels[0] == controller).lower()), 1) for labels in infos],
        "peer_cluster_info": [((state.release, len(brokers), shown, cluster_id), 1)],
        "leader_partitions": [((broker.node_id,), leaders[broker.node_id]) for broker in brokers],
        "controller_id": controller,
    }


def _log_dir_values(state: ObservedCluster) -> Values:
    dirs = [
        ((broker, log_dir.path), log_dir) for broker, values in state.brokers.items() for log_dir in values.log_dirs
    ]
    return {
        "log_dir_sizes": [(labels, log_dir.size) for labels, log_dir in dirs],
        "log_dir_volumes": [(labels, log_dir.volume) for labels, log_dir in dirs if log_dir.volume >= 0],
        "log_dir_usable": [(labels, log_dir.usable) for labels, log_dir in dirs if log_dir.usable >= 0],
        "log_dir_online": [(labels, int(log_dir.is_online)) for labels, log_dir in dirs],
    }


def _quorum_values(state: ObservedCluster) -> Values:
    quorum = state.quorum
    if quorum is None:
        return {}
    replicas = [(replica, "voter") for replica in quorum.current_voters]
    replicas += [(replica, "observer") for replica in quorum.observers]
    end = max((replica.log_end_offset for replica, _ in replicas), default=0)
    lags: Pairs = [
        ((replica.replica_id, role), end - replica.log_end_offset)
        for replica, role in replicas
        if replica.log_end_offset >= 0
    ]
    return {
        "quorum_epoch": quorum.leader_epoch if quorum.leader_epoch >= 0 else None,
        "quorum_high_watermark": quorum.high_watermark if quorum.high_watermark >= 0 else None,
        "quorum_lags": lags,
    }


@cache
def _api(key: int) -> str:
    """Return the name of an API, such as `Metadata` for 3."""
    try:
        return api_name(find("kafka", api_key=key, kind="request"))
    except UnknownMessage:
        return str(key)
