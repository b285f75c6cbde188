"""Completion of command lines in bash, zsh, and fish.

A shell runs `kafka __complete` at each Tab. That must take a few milliseconds, so this path imports neither click nor
verbs, and no module of the standard library that Python has not loaded at its start:

| module | contents |
|---|---|
| `completer` | the candidates for a command line |
| `shell_words` | the words of an unfinished line of bash |
| `grammar_file` | commands and options, kept in a file |
| `name_cache` | names of topics and others, kept in a file for each cluster and kind |
| `commands` | commands and options from click; imported when their file is missing |
| `refresh` | names from a cluster; runs in a process of its own in the background |
| `scripts/` | what `kafka completion SHELL` prints |

Completion never asks for anything, prints no errors, and waits for a cluster for at most a second and a half.
"""
