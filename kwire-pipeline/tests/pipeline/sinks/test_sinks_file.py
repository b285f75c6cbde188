"""The file of sinks: its sinks and filters, and each mistake with its line before anything starts."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import click
import pytest
from click.testing import CliRunner

from kwire_pipeline.cli.pipeline_streams import SinkOptions
from kwire_pipeline.commands.pipeline import pipeline
from kwire_pipeline.sinks import IncidentFilter, IncidentNotice, NoticeStatus, SinkFailed
from kwire_pipeline.sinks.sinks_file import InvalidSinksFile, read_sinks
from kwire_pipeline.sinks.subscription import TROUBLE
from tests.paths import ROOT
from tests.pipeline.sinks.alerts import incident
from tests.pipeline.webhook import Webhook

PAGE = ROOT / "docs" / "live.md"
FIRING = IncidentNotice(NoticeStatus.FIRING, incident(10))


def file_of(folder: Path, content: str) -> Path:
    path = folder / "sinks.yaml"
    path.write_text(dedent(content))
    return path


def test_sinks_have_names_and_filters(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        """
        sinks:
          - type: webhook
            name: pager
            url: http://alerts.example.com:8080/kafka
            severities: [critical]
            clusters: ["prod-*"]
          - {type: webhook, url: "http://alerts.example.com:8080/kafka"}
          - {type: python, function: "builtins:print", kinds: [topic_created, topic_deleted], topics: ["pay*"]}
        """,
    )
    [shorthand] = SinkOptions(None, ("http://alerts.example.com:8080/kafka",), (), None, None).subscriptions()

    pager, webhook, function = read_sinks(path)

    assert (pager.sink.name, pager.filter) == ("pager", IncidentFilter((), ("critical",), ("prod-*",)))
    assert (webhook.sink.name, webhook.filter) == (shorthand.sink.name, shorthand.filter)
    assert webhook.filter.accepts(incident(0)) is TROUBLE.accepts(incident(0)) is True
    assert (function.sink.name, function.filter.topics) == ("builtins.print", ("pay*",))
    assert function.filter.accepts(incident(0, kind="topic_created") | {"topics": ["payments"]})


TOPIC = "sinks:\n  - type: topic\n    topic: alerts\n    bootstrap: host:9093\n    settings:"

MISTAKES = [
    ("", "1: expected sinks, found nothing"),
    ("sinks: []", "1: expected a list with at least one item"),
    ("sinks: 5", "1: expected a list with at least one item"),
    ("sinks:\n  - type: webhook\n    url: [http://s3cret", "3: not valid YAML"),
    ("sinks:\n  - *s3cret", "2: not valid YAML"),
    ("sink:\n  - 1", "1: unknown key 'sink': expected one of sinks"),
    ("sinks:\n  - pager", "2: expected keys with values"),
    ("sinks:\n  - url: http://host/", "2: expected the key 'type'"),
    ("sinks:\n  - type: pager", "2: unknown value 'pager': expected one of webhook"),
    ("sinks:\n  - type: webhook", "2: expected the key 'url'"),
    ("sinks:\n  - type: webhook\n    url:", "3: expected a text"),
    ("sinks:\n  - type: webhook\n    url: http://user:s3cret@ho st/", "3: expected the URL of a webhook"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    url: http://host/", "4: the key 'url' appears twice"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    kind: [x]", "4: unknown key 'kind'"),
    (
        "sinks:\n  - type: webhook\n    url: http://host/\n    kinds:\n    - broker_died",
        "5: unknown value 'broker_died'",
    ),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    severities: [page]", "4: unknown value 'page'"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    topics: []", "4: expected a list with at least one item"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    name: ../up", "4: expected letters, digits"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    name: metrics", "4: expected letters, digits"),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    token_file: absent", "4: cannot read "),
    (
        "sinks:\n  - type: webhook\n    url: http://host/\n    token_file: sinks.yaml",
        "4: {folder}/sinks.yaml has no bearer",
    ),
    (
        "sinks:\n  - type: webhook\n    url: http://host/\n    headers:\n      Host: s3cret",
        "5: the header Host cannot be set",
    ),
    (
        'sinks:\n  - type: webhook\n    url: http://host/\n    headers:\n      A: "s3cret\\n"',
        "5: the value of the header A",
    ),
    (
        "sinks:\n  - type: webhook\n    url: http://a:s3cret@host/\n    headers:\n      Authorization: x",
        "5: expected one of",
    ),
    ("sinks:\n  - type: alertmanager\n    url: http://host?s3cret", "2: expected the URL of Alertmanager"),
    (
        "sinks:\n  - type: alertmanager\n    url: http://host\n    resolve_timeout: 0m",
        "4: expected a duration such as 5m",
    ),
    ("sinks:\n  - type: webhook\n    url: http://host/\n    resolve_timeout: 5m", "4: unknown key 'resolve_timeout'"),
    (
        "sinks:\n  - type: slack\n    url: http://host/\n    template: $cause",
        "4: unknown placeholder $cause: expected one of",
    ),
    ("sinks:\n  - type: slack\n    url: http://host/\n    template: 5 $", "4: malformed placeholder"),
    ("sinks:\n  - type: topic\n    topic: alerts\n    bootstrap: host:port", "4: "),
    (f"{TOPIC}\n      security.protocl: ssl", "6: No such configuration property"),
    (f"{TOPIC}\n      security.protocol: s3cret", "6: Invalid value for configuration property"),
    (f"{TOPIC}\n      security.protocol: ssl\n      ssl.ca.location: absent", "7: Failed to create producer: ssl.ca"),
    (f"{TOPIC}\n      security.protocol: sasl_ssl\n      sasl.mechanism: PLAIN", "6: Failed to create producer: sasl"),
    (f"{TOPIC}\n      error_cb: s3cret", "6: librdkafka does not accept error_cb"),
    ("sinks:\n  - type: python\n    function: nowhere:at_all", "3: expected module:function"),
    (
        "sinks:\n  - {type: webhook, url: http://host/}\n  - {type: webhook, url: http://u@host/}",
        "3: expected another receiver or name than the sink in line 2",
    ),
]


@pytest.mark.parametrize(("content", "mistake"), MISTAKES)
def test_mistake_is_refused_with_its_line_and_without_secrets(tmp_path: Path, content: str, mistake: str) -> None:
    path = file_of(tmp_path, content)

    with pytest.raises(InvalidSinksFile) as error:
        read_sinks(path)

    assert str(error.value).startswith(f"{path}:{mistake.format(folder=tmp_path)}")
    assert "s3cret" not in repr(error.value)
    assert error.value.__cause__ is None


def test_all_sinks_with_mistakes_are_named_before_anything_starts(tmp_path: Path) -> None:
    path = file_of(tmp_path, "sinks:\n  - {type: pager}\n  - {type: webhook}\n")
    (tmp_path / "capture").mkdir()
    options = ["--capture", str(tmp_path / "capture"), "--out", str(tmp_path / "out"), "--stream", "--gold-every", "1m"]

    result = CliRunner().invoke(pipeline, ["ingest", *options, "--sinks", str(path)])

    assert result.exit_code == 2
    assert f"{path}:2: " in result.output
    assert f"{path}:3: " in result.output
    assert not (tmp_path / "out").exists()


def test_password_in_an_argument_is_refused_without_showing_it() -> None:
    with pytest.raises(click.UsageError, match="arguments of processes are public") as error:
        SinkOptions(None, ("http://user:s3cret@host/",), (), None, None).subscriptions()
    assert "s3cret" not in str(error.value)


def test_headers_and_a_replaced_token_reach_the_receiver_and_nothing_else(
    tmp_path: Path, webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret-1\n")
    path = file_of(
        tmp_path,
        f"""
        sinks:
          - type: webhook
            url: {webhook.url}
            token_file: token
            headers:
              X-Scope-OrgID: s3cret-tenant
        """,
    )
    [subscription] = read_sinks(path)

    subscription.sink.send(FIRING)
    token.write_text("s3cret-2\n")
    subscription.sink.send(FIRING)
    token.write_text("s3cret 3\n")
    with pytest.raises(SinkFailed, match="has no bearer token") as invalid:
        subscription.sink.send(FIRING)
    token.write_text("s3cret-4\n")
    webhook.status = 401
    with pytest.raises(SinkFailed) as refused:
        subscription.sink.send(FIRING)

    sent = [headers["Authorization"] for _, headers in webhook.requests]
    assert sent == ["Bearer s3cret-1", "Bearer s3cret-2", "Bearer s3cret-4"]
    assert {headers["X-Scope-OrgID"] for _, headers in webhook.requests} == {"s3cret-tenant"}
    assert (invalid.value.is_final, invalid.value.may_have_arrived) == (False, False)
    shown = f"{invalid.value!r} {refused.value!r} {vars(subscription.sink)} {caplog.text}"
    assert "s3cret" not in shown


def test_slack_gets_messages_of_a_template(tmp_path: Path, webhook: Webhook) -> None:
    path = file_of(
        tmp_path,
        f"""
        sinks:
          - {{type: slack, name: default, url: "{webhook.url}"}}
          - type: slack
            url: {webhook.url}
            template: "$$ ${{status}} $kind of ${{cluster_id}}/$broker_id since $began_at until [$ended_at]: $topics"
        """,
    )
    # Names that Slack would read as a mention and as markup.
    row = incident(10) | {"cluster_id": "<!channel>", "topics": ["a&b", "$kind"]}

    for subscription in read_sinks(path):
        subscription.sink.send(IncidentNotice(NoticeStatus.FIRING, row))

    assert [body["text"] for body in webhook.bodies] == [
        "*firing* Kafka cluster &lt;!channel&gt;: broker killed (broker 2) (critical)\nits process ended",
        "$ firing broker_killed of &lt;!channel&gt;/2 since 2026-11-21T14:00:10Z until []: a&amp;b, $kind",
    ]


def test_file_of_the_page_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [content] = re.findall(r"```yaml\n(sinks:\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "pager.token").write_text("token")
    (tmp_path / "my_alerts.py").write_text("page_someone = print\n")
    monkeypatch.syspath_prepend(tmp_path)

    subscriptions = read_sinks(file_of(tmp_path, content))

    assert [type(subscription.sink).__name__ for subscription in subscriptions] == [
        "WebhookSink",
        "WebhookSink",
        "AlertmanagerSink",
        "WebhookSink",
        "KafkaTopicSink",
        "CallableSink",
    ]
