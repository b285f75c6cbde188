"""A Kerberos realm with the key distribution center of MIT Kerberos, as a process."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from kwire._util.child_process import ChildProcess
from tests.eventually import eventually_sync
from tests.free_ports import free_ports

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "krb5-config")


class KerberosRealm:
    """The realm KWIRE.TEST. Use it as a context manager.

    Args:
        folder: the folder of its database, keys, and settings.

    Attributes:
        settings: `krb5.conf`, for clients and services.
    """

    name = "KWIRE.TEST"

    def __init__(self, folder: Path) -> None:
        missing = [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]
        assert not missing, f"no {', '.join(missing)}: apt install krb5-kdc krb5-admin-server libkrb5-dev"
        self._folder = folder
        (self._port,) = free_ports(1)
        self.settings = folder / "krb5.conf"
        self.settings.write_text(
            f"""[libdefaults]
default_realm = {self.name}
dns_lookup_realm = false
dns_lookup_kdc = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{self.name} = {{
    kdc = 127.0.0.1:{self._port}
}}
[domain_realm]
127.0.0.1 = {self.name}
""",
            encoding="ascii",
        )
        (folder / "kdc.conf").write_text(
            f"""[kdcdefaults]
kdc_listen = ""
kdc_tcp_listen = 127.0.0.1:{self._port}
[realms]
{self.name} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
}}
""",
            encoding="ascii",
        )
        self._environment = os.environ | {
            "PATH": _path(),
            "KRB5_CONFIG": str(self.settings),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
        }
        self._process: ChildProcess | None = None

    def __enter__(self) -> Self:
        self._run("kdb5_util", "create", "-s", "-r", self.name, "-P", "of-the-database")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the key distribution center."""
        self._process = ChildProcess(["krb5kdc", "-n"], self._folder / "krb5kdc.log", self._environment)
        eventually_sync(self._accepts, "the key distribution center accepts connections")

    def stop(self) -> None:
        """Kill the key distribution center."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def keytab(self, principal: str) -> Path:
        """Create a principal with a random key, and return the file with that key."""
        path = self._folder / f"{principal.replace('/', '_')}.keytab"
        self._run("kadmin.local", "addprinc", "-randkey", principal)
        self._run("kadmin.local", "ktadd", "-k", str(path), principal)
        return path

    def ticket_cache(self, principal: str, keytab: Path) -> Path:
        """Return a new ticket cache with the ticket of a principal, as `kinit` makes it."""
        path = self._folder / f"{principal}.tickets"
        self._run("kinit", "-k", "-t", str(keytab), "-c", f"FILE:{path}", principal)
        return path

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"

    def _accepts(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False


def _path() -> str:
    """Return the search path with the folders of system programs, where Debian keeps servers."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
