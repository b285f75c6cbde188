"""The `kafka>` shell.

| module | contents |
|---|---|
| `parser` | statements with positions, and the words of a statement |
| `statement_group`, `statements` | the verbs of the registry, and what only a shell has, as click commands |
| `session` | the cluster, its connection, and what is in use |
| `runner`, `error_position` | runs statements and scripts; errors below the word that they are about |
| `prompt`, `completer` | what a person types, and its history; they import prompt_toolkit, and nothing else does |
| `live_names` | names of the cluster, fetched in the background |
| `lag_monitor`, `lag_history`, `lag_picture` | `stats`: what it reads, the trend, and its picture |
| `screen` | pictures that are drawn again |
"""
