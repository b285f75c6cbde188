"""Clusters as metrics of Prometheus, at the cost of what changed: `kafka exporter`.

| module | contents |
|---|---|
| `metric_table` | every metric, panel, and alert that `metrics.txt` declares, also with the names of other exporters |
| `cluster_requests` | the requests to each broker, and how often each of them is sent |
| `answers` | the kinds of answers, their ages, and the counters of requests |
| `observed_cluster` | what is known about a cluster: checked answers in, values out |
| `topic_table`, `group_table` | its topics and groups, and marks of what changed |
| `topic_record`, `group_record` | the values of a topic, and of a group for a topic |
| `offset_history`, `unread_records` | ends of logs over time, and timestamps of records, for lag in seconds |
| `history_file` | these ends in a file, for the next run of the exporter |
| `cluster_view` | the series of a cluster, rendered when they change |
| `cluster_values` | the values of the cluster, its brokers, and its controller |
| `exposition` | series as text |
| `monitoring_files` | the dashboard, the alert rules, a scrape configuration, and a unit |
| `application` | the routes of the server, and one poller for each cluster |

A poller asks the brokers at its interval. Its responses update what is known, and the series of the topics and groups
that changed are rendered. A scrape joins what is rendered: it changes nothing, neither waits for a broker nor costs one
a request. Values whose answer is stale are dropped, so a scrape never shows what no broker confirms.
"""
