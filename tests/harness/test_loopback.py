"""Nothing of a local run listens where other machines could reach it."""

from __future__ import annotations

import psutil
import pytest

from harness.cell import CellProgress
from harness.cluster.loopback import is_loopback
from tests.harness.conftest import RunCell


def listening() -> set[tuple[str, str, int]]:
    """(program, IP, port) of every TCP socket that this process's family listens on."""
    me = psutil.Process()
    found = set()
    for process in [me, *me.children(recursive=True)]:
        try:
            for socket in process.net_connections(kind="tcp"):
                if socket.status == psutil.CONN_LISTEN:
                    name = " ".join(process.cmdline())[:80]
                    ip = socket.laddr.ip.removeprefix("::ffff:")
                    found.add((name, ip, socket.laddr.port))
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.mark.cluster
def test_a_local_run_listens_on_loopback_alone(run_cell: RunCell) -> None:
    seen: set[tuple[str, str, int]] = set()

    def look(progress: CellProgress) -> None:
        if progress.phase == "running":
            seen.update(listening())

    cell = run_cell(slots=2, workers=2, seconds=4, on_progress=look)
    assert {report.slot for report in cell.reports} == {0, 1}, (
        "half a core for each of four workers"
    )
    assert len(seen) > 5, "Ray's own servers were not seen"
    assert any(name.startswith("ray::RayTrainWorker") for name, _, _ in seen)
    assert {found for found in seen if not is_loopback(f"{found[1]}:0")} == set()
