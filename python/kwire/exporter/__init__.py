"""Clusters as metrics of Prometheus, at the cost of what changed: `kafka exporter`.

| module | contents |
|---|---|
| `metric_table` | every metric, panel, and alert that `metrics.txt` declares, also with the names of other exporters |
| `cluster_requests` | the requests to each broker, and which of them are sent how often |
| `cluster_view` | what is known about a cluster: responses in, changed metrics out |
| `cluster_values` | the values of the cluster, its brokers, and its controller |
| `selection` | the topics and groups that have series, and the level of detail |
| `topic_record`, `group_record` | the values of a topic, and of a group for a topic |
| `offset_history` | ends of logs over time, from which lag in seconds follows |
| `exposition` | series as text, rendered when they change |
| `application` | the routes of the server, and one poller for each cluster |

A poller asks the brokers at its interval. Its responses update a view, and the view renders the series of the topics
and groups that changed. A scrape joins what is rendered, so it neither waits for a broker nor costs one a request.
"""
