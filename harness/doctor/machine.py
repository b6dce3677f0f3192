"""Memory, disks, sockets and settings of this machine that a run stands or falls with."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.doctor.finding import Finding, note, ok, problem
from harness.provenance import machine

GIB: Final = 2**30
MEMORY_NEEDED: Final = int(4.1 * GIB)
"""Peak of a default run on 2 cores, as ``benchmarks.perf.peak_memory`` measured it."""

SHARED_MEMORY_WANTED: Final = 1 * GIB
DISK_LEAST: Final = GIB // 4
DISK_WANTED: Final = 2 * GIB
RAY_FULL_DISK_SHARE: Final = 0.95
"""Above it Ray makes no objects any more (``local_fs_capacity_threshold``)."""

OPEN_FILES_WANTED: Final = 4096
LONGEST_SOCKET_PATH: Final = 103 if sys.platform == "darwin" else 107
SOCKET_BELOW_TEMP: Final = "/ray/session_2026-12-31_23-59-59_999999_4194304/sockets/plasma_store"


def check_python() -> Iterator[Finding]:
    yield ok("python", f"{platform.python_version()} ({sys.executable})")


def check_devices() -> Iterator[Finding]:
    """CPU cores; GPUs are torch's to find."""
    here = machine()
    yield ok("cores", f"{here['cpu_cores']} × {here['cpu']}, {platform.platform()}")


def check_memory() -> Iterator[Finding]:
    limit = Path("/sys/fs/cgroup/memory.max")
    sizes = {"memory": machine()["memory_bytes"]}
    if limit.exists() and (text := limit.read_text().strip()).isdigit():
        sizes["the limit of this container"] = int(text)
    name, size = min(
        ((name, size) for name, size in sizes.items() if isinstance(size, int)),
        key=lambda item: item[1],
        default=("memory", None),
    )
    if size is None:
        yield note("memory", "its size is not known")
    elif size < MEMORY_NEEDED:
        to_do = "use a machine with more, or fewer --workers-per-trial and --max-concurrent"
        need = f"a default run on 2 cores took {MEMORY_NEEDED / GIB:.1f} GiB"
        yield note("memory", f"{name}: {size / GIB:.1f} GiB; {need}", to_do)
    else:
        yield ok("memory", f"{size / GIB:.1f} GiB" + ("" if name == "memory" else f" ({name})"))


def check_shared_memory(place: Path = Path("/dev/shm")) -> Iterator[Finding]:
    """Ray's object store lies there; where it is too small, Ray uses a disk instead."""
    if not place.is_dir():
        yield note("shared memory", f"there is no {place}; Ray's object store lies on disk")
        return
    free = shutil.disk_usage(place).free
    if free < SHARED_MEMORY_WANTED:
        to_do = "empty it, or give the container more: docker run --shm-size=2g"
        yield note("shared memory", f"{place}: {free / GIB:.2f} GiB free, little for Ray", to_do)
    else:
        yield ok("shared memory", f"{place}: {free / GIB:.1f} GiB free")


def ray_temp_folder() -> Path:
    """Where Ray keeps its sessions, by its own rule."""
    linux = os.environ.get("TMPDIR") if sys.platform.startswith("linux") else None
    return Path(os.environ.get("RAY_TMPDIR") or linux or "/tmp")


def check_disks() -> Iterator[Finding]:
    yield from _check_disk("run folders", Path.cwd(), "go to another folder, or give --out")
    temp = ray_temp_folder()
    yield from _check_disk("Ray's files", temp, "set RAY_TMPDIR to a folder with room")
    # Ray adds this below its folder, and a socket's path has a limit.
    length = len(os.fsencode(temp)) + len(SOCKET_BELOW_TEMP)
    if length > LONGEST_SOCKET_PATH:
        longest = LONGEST_SOCKET_PATH - len(SOCKET_BELOW_TEMP)
        yield problem(
            "Ray's files",
            f"{temp} is too long a path for Ray's sockets: at most {longest} characters",
            "set RAY_TMPDIR to a shorter one, e.g. /tmp",
        )


def _check_disk(topic: str, folder: Path, to_do: str) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        usage = shutil.disk_usage(folder)
    except OSError as error:
        yield problem(topic, f"{folder} cannot be written: {error.strerror}", to_do)
        return
    said = f"{folder}: {usage.free / GIB:.1f} GiB free"
    if usage.free < DISK_LEAST:
        yield problem(topic, said, f"make room there, or {to_do}")
    elif usage.free < DISK_WANTED or usage.used > RAY_FULL_DISK_SHARE * usage.total:
        yield note(topic, f"{said}; above {RAY_FULL_DISK_SHARE:.0%} full Ray refuses work", to_do)
    else:
        yield ok(topic, said)


def check_sockets() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = server.getsockname()
            with socket.create_connection(address, timeout=5):
                pass
    except OSError as error:
        yield problem(
            "ports",
            f"no connection to 127.0.0.1: {error.strerror or error}",
            "allow connections on the loopback interface, over which Ray's processes talk",
        )
    else:
        yield ok("ports", "processes can talk over 127.0.0.1")


def check_open_files() -> Iterator[Finding]:
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= OPEN_FILES_WANTED:
        yield ok("open files", "no limit" if soft == resource.RLIM_INFINITY else f"up to {soft}")
    else:
        to_do = f"ulimit -n {OPEN_FILES_WANTED}"
        yield note("open files", f"at most {soft} per process, little for Ray", to_do)


def check_ray_settings() -> Iterator[Finding]:
    """Which cluster Ray would take, and whether it asks for a token. No token is ever shown."""
    if os.environ.get("RAY_ADDRESS"):
        yield note(
            "Ray cluster",
            "RAY_ADDRESS is set; a run without --address still starts Ray on this machine",
            "give --address auto for a run on that cluster",
        )
    mode = os.environ.get("RAY_AUTH_MODE", "token")
    if mode.lower() != "token":
        yield note(
            "Ray authentication",
            f"RAY_AUTH_MODE={mode}: whoever reaches the cluster can run code on it",
            "unset RAY_AUTH_MODE",
        )
        return
    if os.environ.get("RAY_AUTH_TOKEN"):
        yield ok("Ray authentication", "on, by RAY_AUTH_TOKEN")
        return
    given = os.environ.get("RAY_AUTH_TOKEN_PATH")
    file = Path(given).expanduser() if given else Path.home() / ".ray" / "auth_token"
    if file.is_file() and os.access(file, os.R_OK):
        yield ok("Ray authentication", f"on, by the file {file}")
    elif given:
        to_do = "unset RAY_AUTH_TOKEN_PATH, or put a token there: ray get-auth-token --generate"
        yield problem(
            "Ray authentication", f"{file}, which RAY_AUTH_TOKEN_PATH names, cannot be read", to_do
        )
    elif _can_be_made(file):
        yield ok("Ray authentication", f"on; Ray makes the file {file}")
    else:
        to_do = "set HOME to a folder that can be written, or RAY_AUTH_TOKEN"
        yield problem("Ray authentication", f"{file} cannot be read or made", to_do)


def _can_be_made(file: Path) -> bool:
    if file.exists():
        return False
    there = next(parent for parent in file.parents if parent.exists())
    return there.is_dir() and os.access(there, os.W_OK)
