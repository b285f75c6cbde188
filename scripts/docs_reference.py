"""Reference pages of the documentation site: messages and settings from their declarations, commands from their
options, and the operations of `AdminClient` from the modules that define them.

MkDocs calls `on_files` when it builds the site (`hooks` in mkdocs.yml). The pages exist only in the built site, so
that nothing has to be edited when a message or a command is added.
"""

from __future__ import annotations

import html
import re
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from mkdocs.structure.files import File, InclusionLevel

from kwire.cli.field_documentation import documented_fields
from kwire.client.admin import AdminClient
from kwire.client.admin.blocking_admin_client import OPERATIONS
from kwire.declare.documentation import docstring
from kwire.declare.introspect import describe
from kwire.messages import FAMILIES, every
from kwire_admin.cli.program import program
from kwire_admin.operations import registry
from kwire_cluster.config.node_settings import node_settings
from kwire_cluster.config.topic_settings import TOPIC_SETTINGS
from kwire_cluster.node.requests.apis import served_requests
from scripts.docs_znodes import znodes_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

    from kwire.cli.field_documentation import DocumentedField
    from kwire.declare import Message
    from kwire_cluster.config.setting import Setting


ROOT = Path(__file__).parent.parent
REPOSITORY = "https://github.com/kwire/kwire/blob/main/"

NEWCOMERS_BOOST, REFERENCE_BOOST = 4, 0.1
"""Factors in the search. A word in a title counts a thousand times as much as in a text, so that the message `Produce`
would come before the page that says that kwire does not produce."""
BOOSTS = {"how-to/kafka.md": 20, "deployment.md": 20, "performance.md": 0.05, "how-to/confluent-kafka.md": 0.5}
"""Factors of single pages: most questions are about the command, and none of them is about the rows of benchmarks."""
NODES_BOOST = 0.3
"""Factor of the pages of a KIP-4 cluster: `controller` is asked of Kafka's."""

API = "reference/api.md"

PROJECT = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "DESIGN.md": "project/design.md",
    "SECURITY.md": "project/security.md",
}
"""Documents at the top of the repository, and their pages."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site, and divide the page of the API, which would load for seconds."""
    files.remove(files.src_uris[API])
    for path, content in pages():
        listed = path.count("/") == 1  # the indexes are in the navigation, the pages of single APIs are linked there
        inclusion = InclusionLevel.UNDEFINED if listed else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, path, content=content, inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let the search rank the pages for newcomers first, and the reference last."""
    section = next((outermost.title for outermost in reversed([*page.ancestors])), None)
    is_reference = page.file.src_uri.startswith("reference/")
    boosts = {"Start": NEWCOMERS_BOOST, "Run a KIP-4 cluster": NODES_BOOST}
    boost = BOOSTS.get(page.file.src_uri, REFERENCE_BOOST if is_reference else boosts.get(section or "", 1))
    page.meta["search"] = {"boost": boost}
    return markdown


def pages() -> Iterator[tuple[str, str]]:
    """Return the path and the Markdown text of each generated page."""
    yield from _api_pages((ROOT / "docs" / API).read_text(encoding="utf-8"))
    yield "reference/messages.md", "\n".join(_message_index())
    for family in FAMILIES:
        for module, classes in _modules(family).items():
            yield f"reference/messages/{family}/{module}.md", "\n".join(_message_page(classes))
    yield "reference/commands.md", "\n".join(_command_page())
    yield "reference/settings.md", "\n".join(_settings_page())
    yield "reference/permissions.md", "\n".join(_permissions_page())
    yield "reference/znodes.md", "\n".join(znodes_page())
    yield "reference/admin.md", "\n".join(_admin_index())
    for noun, (noun_module, operations) in admin_nouns().items():
        yield f"reference/admin/{noun}.md", "\n".join(_admin_page(noun_module, operations))
    for document, page in PROJECT.items():
        yield page, _project_page((ROOT / document).read_text(encoding="utf-8"))


def _api_pages(text: str) -> Iterator[tuple[str, str]]:
    """Yield a page for each section of the API, and an index with the modules of each."""
    introduction, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    index = [introduction, "| part | modules |\n|---|---|"]
    for section in sections:
        title, _, content = section.partition("\n")
        path = f"reference/api/{re.sub(r'[^a-z]+', '-', title.lower()).strip('-')}.md"
        deeper = re.sub(r"\]\((?!https?:|#)", "](../", content)
        yield path, f"# {title}\n{deeper}"
        modules = ", ".join(f"`{module}`" for module in re.findall(r"^::: (\S+)", content, re.MULTILINE))
        index.append(f"| [{title}](api/{path.rpartition('/')[2]}) | {modules} |")
    yield API, "\n".join(index)


def _project_page(text: str) -> str:
    """Return a document with its relative links changed to pages of the site, or else to files of the repository."""

    def link(match: re.Match[str]) -> str:
        path, anchor = match["path"], match["anchor"] or ""
        if path in PROJECT:
            return f"](../{PROJECT[path]}{anchor})"
        if path.startswith("docs/") and path.endswith(".md"):
            return f"](../{path.removeprefix('docs/')}{anchor})"
        return f"]({REPOSITORY}{path}{anchor})"

    return re.sub(r"\]\((?!https?:)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?\)", link, text)


def _modules(family: str) -> dict[str, list[type[Message]]]:
    """Return the messages of one package of declarations, by the module that declares them."""
    modules: dict[str, list[type[Message]]] = {}
    for cls in every():
        package, _, module = cls.__module__.rpartition(".")
        if package == f"kwire.messages.{family}":
            modules.setdefault(module, []).append(cls)
    return dict(sorted(modules.items()))


# Settings


def _settings_page() -> Iterator[str]:
    yield "# Settings\n"
    yield "The settings of [nodes](../node.md) of a KIP-4 cluster, in `server.properties` and `--set`. A running"
    yield "node applies changes of settings that are live.\n"
    yield "| setting | default | type | level | live | meaning |\n|---|---|---|---|---|---|"
    for node_setting in node_settings().values():
        yield f"| `{node_setting.name}` {_setting_facts(node_setting)} {node_setting.help} |"
    yield "\n## Topics\n"
    yield "Nodes check and store the settings of topics, which have the same meaning as in Kafka.\n"
    yield "| setting | type |\n|---|---|"
    for setting in TOPIC_SETTINGS.values():
        yield f"| `{setting.name}` | {setting.type.expected} |"


def _setting_facts(setting: Setting) -> str:
    default = setting.default_text
    shown = f"`{default}`" if default else ""
    return f"| {shown} | {setting.type.expected} | {setting.level} | {'yes' if setting.is_live else 'no'} |"


# Permissions


def _permissions_page() -> Iterator[str]:
    yield "# Permissions\n"
    yield "The permissions that [nodes](../how-to/secure-nodes.md) of a KIP-4 cluster check before they process a"
    yield "request, if they have an authorizer.\n"
    yield "| API key | request | permissions |\n|---|---|---|"
    for cls, module in served_requests().items():
        permissions = import_module(f"kwire_cluster.node.requests.apis.{module}").PERMISSIONS
        yield f"| {cls.api_key} | {cls.__name__} | {', '.join(map(str, permissions)) or 'none'} |"


# Operations of AdminClient


def admin_nouns() -> dict[str, tuple[ModuleType, list[str]]]:
    """Return the modules of operations by the name of their pages, with the operations in the order of `AdminClient`.

    The methods of the class itself, such as `describe_cluster`, are on the page of the API.
    """
    nouns: dict[str, tuple[ModuleType, list[str]]] = {}
    for name in OPERATIONS:
        operation = getattr(AdminClient, name)
        if operation.__qualname__ == name:
            module = import_module(operation.__module__)
            noun = module.__name__.rpartition(".")[2].replace("_", "-")
            nouns.setdefault(noun, (module, []))[1].append(name)
    return nouns


def _admin_index() -> Iterator[str]:
    yield "# AdminClient by noun\n"
    yield "[`AdminClient`](api/administration.md#kwire.client.admin.AdminClient) has these operations as coroutines,"
    yield "`BlockingAdminClient` has them as ordinary methods. [Administer clusters from a program](../admin.md)"
    yield "explains results, errors, and waiting. The examples run on a cluster of Kafka 4.4 with one broker:\n"
    yield "```py\nfrom kwire.client import BlockingAdminClient\n"
    yield 'admin = BlockingAdminClient("localhost:9092")\n```\n'
    yield "| noun | operations |\n|---|---|"
    for noun, (module, operations) in admin_nouns().items():
        links = ", ".join(f"[`{name}`](admin/{noun}.md#{module.__name__}.{name})" for name in operations)
        yield f"| [{_noun_title(module)}](admin/{noun}.md) | {links} |"


def _admin_page(module: ModuleType, operations: list[str]) -> Iterator[str]:
    yield f"# {_noun_title(module)}\n"
    yield f"::: {module.__name__}\n    options:\n      show_root_heading: false\n      show_root_toc_entry: false"
    yield f"      members: [{', '.join(operations)}]"


def _noun_title(module: ModuleType) -> str:
    """Return the words of a docstring before its first colon, comma, period, or parenthesis."""
    title = re.split(r"[:,.]| \(", (module.__doc__ or "").removeprefix("The "))[0]
    return title[0].upper() + title[1:]


# Messages


def _message_index() -> Iterator[str]:
    yield "# Messages\n"
    yield "Every message that kwire can decode and encode. A message is *flexible* in versions with compact types"
    yield "and tagged fields (KIP-482). `kwire messages NAME` shows the same in a terminal.\n"
    for family in FAMILIES:
        package = import_module(f"kwire.messages.{family}")
        yield f"## {family}\n\n{cleandoc(package.__doc__ or '')}\n"
        yield "| API key | message | versions | flexible |\n|---|---|---|---|"
        for module, classes in _modules(family).items():
            for cls in classes:
                flexible = describe(cls).flexible
                link = f"[{cls.__name__}](messages/{family}/{module}.md#{cls.__name__.lower()})"
                yield f"| {cls.api_key} | {link} | {cls.versions} | {'' if flexible is None else flexible} |"
        yield ""


def _message_page(classes: list[type[Message]]) -> Iterator[str]:
    yield f"# {_kafka_name(classes)}\n"
    for cls in classes:
        yield f"## {cls.__name__}\n"
        yield f"{docstring(cls)}\n"
        yield f"API key {cls.api_key}, versions {cls.versions}, `{cls.__module__}`\n"
        yield "| field | type | versions | default | |\n|---|---|---|---|---|"
        yield from _field_rows(documented_fields(cls), depth=0)
        yield ""


def _kafka_name(classes: list[type[Message]]) -> str:
    """Return the name that Kafka's protocol guide has for an API, such as `AddOffsetsToTxn`."""
    names = {re.sub(r"(Request|Response|Key|Value)?(_V\d+)?$", "", cls.__name__): None for cls in classes}
    return ", ".join(names)


def _field_rows(entries: list[DocumentedField], depth: int) -> Iterator[str]:
    for entry in entries:
        indent = "&nbsp;" * 4 * depth
        text = " ".join([entry.text.replace("\n", " "), *(f"({remark})" for remark in entry.remarks)]).replace(
            "|", "\\|"
        )
        default = f"`{entry.default}`" if entry.default else ""
        yield f"| {indent}`{entry.field.name}` | `{entry.type}` | {entry.versions} | {default} | {_cell(text)} |"
        yield from _field_rows(entry.inner, depth + 1)


# Commands

OPTION_TITLES = ("| option | meaning |", "|---|---|")


def _command_page() -> Iterator[str]:
    yield "# Commands\n"
    yield "All commands with their options; `pip install 'kwire[cli]'` installs them. [Use the command"
    yield "`kafka`](../how-to/kafka.md) and [Use the command `kwire`](../cli.md) have examples.\n"
    yield from _verb_table()
    context = click.Context(program, info_name="kwire")
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        assert command is not None
        yield from _command(command, f"kwire {name}", context)


def _verb_table() -> Iterator[str]:
    """Say which verbs each kind of cluster has. Older versions of Kafka lack some of them."""
    yield "## Administration by kind of cluster\n"
    yield "| verb | Apache Kafka | kwire's nodes | |\n|---|---|---|---|"
    for noun in registry.nouns():
        for name in registry.verb_names(noun):
            verb = registry.find_verb(noun, name)
            assert verb is not None
            works = " | ".join("yes" if dialect in verb.dialects else "no" for dialect in ("kafka", "kip4"))
            yield f"| `kafka {noun} {name}` | {works} | {verb.summary} |"
    yield ""


def _command(command: click.Command, path: str, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    yield f"## `{path}`\n"
    yield _text(command.help) + "\n"
    yield f"```console\n$ {path} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    if rows := list(option_rows(command, context)):
        yield "\n".join((*OPTION_TITLES, *rows, ""))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _command(inner, f"{path} {name}", context)


def option_rows(command: click.Command, context: click.Context) -> Iterator[str]:
    """Return a row of Markdown for each option that `--help` lists."""
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and not option.is_eager:
            names, text = option.get_help_record(context) or ("", "")
            yield f"| {_names(option, names)} | {_cell(text)} |"


def _text(help_text: str | None) -> str:
    """Turn click's help into Markdown. A paragraph that click must not wrap becomes a block of code."""
    paragraphs = cleandoc(help_text or "").split("\n\n")
    return "\n\n".join(
        f"```\n{cleandoc(paragraph[1:])}\n```" if paragraph.startswith("\b") else paragraph for paragraph in paragraphs
    )


def _names(option: click.Option, names: str) -> str:
    """Return the names of an option, the long one first, with its placeholder or choices."""
    long = max(option.opts, key=len)
    placeholder = names.partition(f"{long} ")[2]
    if "|" in placeholder:  # Python-Markdown and GitHub disagree on pipes between backquotes
        shown = f"`{long}` <code>{html.escape(placeholder).replace('|', '&#124;')}</code>"
    else:
        shown = f"`{f'{long} {placeholder}'.strip()}`"
    return ", ".join((shown, *(f"`{name}`" for name in option.opts if name != long)))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[")
