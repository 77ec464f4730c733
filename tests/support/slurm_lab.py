"""A real Slurm on this machine: two pretended nodes of four CPUs, three accounts, first in, first
out.

It needs Debian's slurm-wlm, slurmdbd, slurm-wlm-mysql-plugin, mariadb-server and munge, to be root,
and, as it replaces /etc/slurm/slurmdbd.conf (slurmdbd reads nothing else) while it runs,
COTENANT_SLURM_LAB=1 to say so.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ACCOUNTS = {"bio": 1, "phy": 2, "chem": 1}
NODES = ("n1", "n2")
CPUS = 4
GPUS = {"n1": "a100:4", "n2": "v100:2"}
"""Pretended GPUs of each node: files that nobody opens."""
_PROGRAMS = (
    "slurmctld slurmd slurmdbd sacctmgr sbatch sacct scontrol sshare munged mariadbd "
    "mariadb-install-db mariadb"
).split()
_CONF = Path("/etc/slurm/slurmdbd.conf")


def why_not() -> str:
    """Why no Slurm can be started here; "" where one can."""
    if os.environ.get("COTENANT_SLURM_LAB") != "1":
        return "COTENANT_SLURM_LAB=1 lets the tests start a Slurm of their own on this machine"
    if os.geteuid() != 0:
        return "a Slurm of its own needs root"
    if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    running = subprocess.run(["pgrep", "-x", "slurmdbd"], capture_output=True).returncode == 0
    return "another slurmdbd runs here" if running else ""


Command = Callable[..., str]


@contextmanager
def lab(folder: Path) -> Iterator[Command]:
    """Start everything as root, whose folder it is, and stop what was started; gives a function that runs a command of it."""
    started: list[subprocess.Popen[bytes]] = []
    before = _CONF.read_bytes() if _CONF.exists() else None
    env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "TZ": "UTC"}

    def command(*words: str) -> str:
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def start(*words: str) -> None:
        with (folder / f"{words[0]}.log").open("ab") as log:
            started.append(
                subprocess.Popen(words, env=env, stdout=log, stderr=log, start_new_session=True)
            )

    for name in ("state", "run", "mysql", *NODES):
        (folder / name).mkdir()
    try:
        ports = _configure(folder)
        _munge(start)
        _database(folder, ports[0], start, command)
        _CONF.parent.mkdir(exist_ok=True)
        shutil.copy(folder / "slurmdbd.conf", _CONF)
        _CONF.chmod(0o600)
        start("slurmdbd", "-D")
        _until(lambda: command("sacctmgr", "-n", "show", "cluster") or True)
        command("sacctmgr", "-i", "add", "cluster", "lab")
        for account, share in ACCOUNTS.items():
            command("sacctmgr", "-i", "add", "account", account, f"Fairshare={share}")
            command("sacctmgr", "-i", "add", "user", "root", f"account={account}")
        start("slurmctld", "-D")
        _until(lambda: "UP" in command("scontrol", "ping"))
        for name in NODES:
            start("slurmd", "-D", "-N", name)
        _until(lambda: command("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(NODES)))
        yield command
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if before is not None:
            _CONF.write_bytes(before)
        else:
            _CONF.unlink(missing_ok=True)


def _configure(folder: Path) -> list[int]:
    """Write slurm.conf and slurmdbd.conf; the first port is the database's."""
    host, ports = socket.gethostname().partition(".")[0], _free_ports(3 + len(NODES))
    database, dbd, control, *nodes = ports
    lines = [
        "ClusterName=lab", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
        "AuthType=auth/munge", f"SlurmctldPort={control}",
        f"SlurmctldPidFile={folder}/run/ctld.pid", f"SlurmdPidFile={folder}/run/%n.pid",
        f"SlurmdSpoolDir={folder}/%n", f"StateSaveLocation={folder}/state",
        "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none",
        "ReturnToService=2", "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core",
        "PriorityType=priority/basic", "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStoragePort={dbd}", "AccountingStorageHost=localhost",
        "AccountingStorageEnforce=associations", "SlurmdParameters=config_overrides",
        "GresTypes=gpu", "AccountingStorageTRES=gres/gpu,gres/gpu:a100,gres/gpu:v100",
        f"PartitionName=batch Nodes={','.join(NODES)} Default=YES MaxTime=60 State=UP",
        *(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CPUS} "
            f"CoresPerSocket={CPUS} RealMemory=1000 Gres=gpu:{GPUS[name]}"
            for name, port in zip(NODES, nodes, strict=True)
        ),
    ]  # fmt: skip
    # nodes come before the partition that names them
    (folder / "slurm.conf").write_text("\n".join([*lines[:-3], *lines[-2:], lines[-3]]) + "\n")
    lines = []
    for name, gpus in GPUS.items():
        kind, _, number = gpus.partition(":")
        for place in range(int(number)):
            (folder / f"{name}-gpu{place}").touch()
        files = f"{folder}/{name}-gpu[0-{int(number) - 1}]"
        lines.append(f"NodeName={name} Name=gpu Type={kind} File={files}")
    (folder / "gres.conf").write_text("\n".join(lines) + "\n")
    (folder / "slurmdbd.conf").write_text(
        f"AuthType=auth/munge\nDbdHost=localhost\nDbdPort={dbd}\nSlurmUser=root\n"
        f"LogFile={folder}/dbd.log\nPidFile={folder}/run/dbd.pid\n"
        "StorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\n"
        f"StoragePort={database}\nStorageUser=slurm\nStoragePass=lab\nStorageLoc=slurm_acct_db\n"
    )
    (folder / "slurmdbd.conf").chmod(0o600)
    return ports


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _munge(start: Callable[..., None]) -> None:
    """A running munged serves everybody; else one is started as its own user."""
    if subprocess.run(["munge", "-n"], capture_output=True).returncode == 0:
        return
    Path("/run/munge").mkdir(exist_ok=True)
    shutil.chown("/run/munge", "munge", "munge")
    start("runuser", "-u", "munge", "--", "munged", "--foreground", "--force")
    _until(lambda: subprocess.run(["munge", "-n"], capture_output=True).returncode == 0)


def _database(folder: Path, port: int, start: Callable[..., None], command: Command) -> None:
    command(
        "mariadb-install-db", "--user=root", f"--datadir={folder}/mysql",
        "--auth-root-authentication-method=socket",
    )  # fmt: skip
    where = f"--socket={folder}/run/db.sock"
    start(
        "mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/mysql", where,
        f"--port={port}", "--bind-address=127.0.0.1",
    )  # fmt: skip
    _until(lambda: command("mariadb", where, "-e", "select 1"))
    command(
        "mariadb", where, "-e",
        "create database slurm_acct_db; create user 'slurm'@'127.0.0.1' identified by 'lab'; "
        "grant all on slurm_acct_db.* to 'slurm'@'127.0.0.1';",
    )  # fmt: skip


def _until(true: Callable[[], object], seconds: float = 90.0) -> None:
    """Wait for something to come true; what it raises in the meantime does not count."""
    over = time.monotonic() + seconds
    while True:
        try:
            if true():
                return
        except (AssertionError, OSError):
            pass
        assert time.monotonic() < over, "the Slurm of the test did not come up"
        time.sleep(0.5)
