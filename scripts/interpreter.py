"""Find Python interpreters on this machine, and fetch the missing ones.

    scripts/interpreter.py VERSION...        for example: scripts/interpreter.py 3.11 3.15-dbg pypy3.11

Prints the path of one interpreter a line; `-dbg` names a debug build of CPython, `pypy` PyPy. An interpreter is looked
for on PATH (`python3.15`, `python3.15-dbg`, `pypy3.11`), then among the versions of pyenv, then in the cache. A missing
one comes from Debian's packages (stable, testing, or unstable) and goes into the cache:
`$XDG_CACHE_HOME/kwire/cpython` or `~/.cache/kwire/cpython`. Nothing is installed into the system.

To fetch, the script needs apt, dpkg-deb, Debian's keyring, and a source of Debian's main archive in apt's
configuration: it uses that mirror. apt resolves against an empty state, so the packages come with the C
library that they were built for. patchelf, which comes with them, makes the interpreter use that library, which may be
newer than the system's.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = ("stable", "testing", "unstable")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kwire" / "cpython"

LISTS_VALID_S = 3600
"""Time in seconds for which the lists of packages are used again; the archives change four times a day."""

DESCRIBE = (
    "import platform, sys, sysconfig;"
    "print(platform.python_implementation(), '%d.%d' % sys.version_info[:2], sys.version_info.releaselevel,"
    " sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sysconfig.get_config_var('Py_DEBUG') or 0)"
)


class NotAvailable(Exception):
    """No interpreter of a version was found, and it could not be fetched."""


def main() -> None:
    if not sys.argv[1:] or not all(re.fullmatch(r"(pypy)?3\.\d+|3\.\d+-dbg", version) for version in sys.argv[1:]):
        sys.exit("usage: scripts/interpreter.py VERSION...   with versions such as 3.15, 3.15-dbg, or pypy3.11")
    for version in sys.argv[1:]:
        try:
            sys.stdout.write(f"{find(version) or fetch(version)}\n")
        except NotAvailable as error:
            sys.exit(
                f"there is no {described(version)} on PATH or in pyenv, and it cannot be fetched: {error}\n"
                f"install it (for example: pyenv install {version.removesuffix('-dbg')}"
                f"{' --debug' if version.endswith('-dbg') else ''}), or put {program(version)} on PATH"
            )


def is_pypy(version: str) -> bool:
    return version.startswith("pypy")


def described(version: str) -> str:
    return version.replace("pypy", "PyPy ") if is_pypy(version) else f"CPython {version}"


def program(version: str) -> str:
    return version if is_pypy(version) else f"python{version}"


def find(version: str) -> Path | None:
    """Return an interpreter of this machine or of the cache."""
    names = [program(version)]
    if version.endswith("-dbg"):
        names.append(f"python{version.removesuffix('-dbg')}d")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    candidates = [folder / name for folder in folders for name in names]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates += sorted(pyenv.glob("versions/*/bin/python3"))
    if (CACHE / version / "complete").exists():
        candidates.append(executable(version))
    return next((python for python in candidates if is_version(python, version)), None)


def is_version(python: Path, version: str) -> bool:
    """Return whether a file is a released interpreter of this version, with the GIL, in the right build."""
    if not python.is_file():
        return False
    # A shim of pyenv ends with an error if its version is not selected.
    answer = subprocess.run([python, "-I", "-c", DESCRIBE], capture_output=True, text=True, check=False)
    is_debug = version.endswith("-dbg")
    name, _, number = described(version.removesuffix("-dbg")).partition(" ")
    return answer.stdout.split() == [name, number, "final", "0", str(int(is_debug))]


def executable(version: str) -> Path:
    return CACHE / version / "usr" / "bin" / program(version)


def fetch(version: str) -> Path:
    """Download and unpack an interpreter with all its libraries."""
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise NotAvailable(f"this needs {program}")
    root = CACHE / version
    root.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second process waits, and then finds what the first one fetched
        if not (root / "complete").exists():
            shutil.rmtree(root)
            for archive in download(version, root / "archives"):
                unpack(archive, root)
                archive.unlink()
            use_own_libraries(executable(version), root)
            if not is_version(executable(version), version):
                raise NotAvailable(f"{executable(version)} is not a released {described(version)}")
            (root / "complete").touch()
    return executable(version)


def download(version: str, archives: Path) -> list[Path]:
    """Download the packages of an interpreter and all that they depend on into a new folder."""
    apt = CACHE / "apt"
    for folder in (apt / "lists/partial", apt / "none", archives / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    mirror = debian_mirror()
    sources = [f"deb [signed-by={KEYRING}] {mirror} {suite} main\n" for suite in SUITES]
    (apt / "sources.list").write_text("".join(sources), "utf-8")
    settings = {
        "Dir::Etc::SourceList": apt / "sources.list",
        "Dir::Etc::SourceParts": apt / "none",
        "Dir::Etc::PreferencesParts": apt / "none",
        "Dir::State": apt,
        "Dir::State::Lists": apt / "lists",
        "Dir::State::Status": apt / "status",
        "Dir::Cache": apt,
        "Dir::Cache::Archives": archives,
        "Acquire::Languages": "none",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",  # the folder is not readable for apt's own user
        "APT::Update::Post-Invoke": "",
        "APT::Update::Post-Invoke-Success": "",
        "Debug::NoLocking": "true",
    }
    command = ["apt-get", "--quiet=2", *(f"--option={name}={value}" for name, value in settings.items())]
    # Resolving takes seconds, updating half a minute of a processor, and several versions are fetched in a row.
    lists = apt / "updated"
    if not lists.exists() or time.time() - lists.stat().st_mtime > LISTS_VALID_S:
        run(*command, "update")
        lists.touch()
    # Debian has one PyPy at a time; `fetch` checks its version.
    packages = ("pypy3" if is_pypy(version) else program(version), "patchelf", "ca-certificates")
    run(*command, "--yes", "--download-only", "install", *packages)
    return sorted(archives.glob("*.deb"))


def debian_mirror() -> str:
    """Return the mirror of Debian's main archive that this machine uses."""
    if not KEYRING.exists():
        raise NotAvailable(f"this needs {KEYRING} (package debian-archive-keyring)")
    targets = run("apt-get", "indextargets", "--format", "$(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    for line in targets.splitlines():
        component, _, uri = line.partition(" ")
        if component == "main" and uri.rstrip("/").endswith("/debian"):
            return uri
    raise NotAvailable("apt's configuration has no source of Debian's main archive")


def unpack(archive: Path, root: Path) -> None:
    """Unpack a package into a root in which /bin, /lib, and so on are links into /usr, as the packages expect."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        if not (root / name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")
    content = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
    with content:
        unpacked = subprocess.run(
            ["tar", "--extract", "--keep-directory-symlink", "--no-same-owner", "--directory", root],
            stdin=content.stdout,
            check=False,
        )
    if content.returncode or unpacked.returncode:
        raise NotAvailable(f"{archive} cannot be unpacked")


def use_own_libraries(python: Path, root: Path) -> None:
    """Make an interpreter use the loader and the libraries of its root."""
    [loader] = root.glob("usr/lib*/ld-linux*.so.*")
    [libraries] = {library.parent for library in root.glob("usr/lib/*/libc.so.6")}
    # Also patchelf needs the C library of the root.
    patchelf = (loader, "--library-path", libraries, root / "usr/bin/patchelf")
    patched = python.with_suffix(".patched")
    shutil.copy2(python.resolve(), patched)
    # RPATH and not RUNPATH, because it holds for extension modules, too. Debian's interpreters are not position
    # independent: patchelf breaks them if it sorts their program headers.
    options = ("--no-sort", "--force-rpath", "--set-rpath", libraries, "--set-interpreter", loader.resolve())
    run(*patchelf, *options, patched)
    patched.replace(python)


def run(*command: str | Path) -> str:
    """Run a command and return its output. Raises `NotAvailable` with what it said if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NotAvailable(said[-1] if said else f"{command[0]} failed")
    return done.stdout


if __name__ == "__main__":
    main()
