"""The training loop of a warm worker group: it serves trial after trial until the cell ends.

Every rank asks the pool for its next command and hands over the outcome of the one before in the
same call. A session's error is an outcome, not the end of the worker.
"""

from __future__ import annotations

import traceback
from typing import Any

import ray

from harness.clock import Clock, MonotonicClock
from harness.cluster.messages import EpochCommand, EpochOutcome
from harness.contract import Session, Worker
from harness.contract.records import Kind
from harness.tuning.states import pack_state, unpack_state


def serve(loop_config: dict[str, Any]) -> None:
    """``train_loop_per_worker``: build the session (data is loaded here, once), then serve."""
    # Here, because who starts the workers names this function, and needs no torch.
    import ray.train.torch
    import torch
    from ray import train

    context = train.get_context()
    device = ray.train.torch.get_device()
    if device.type == "cpu":
        torch.set_num_threads(loop_config["threads_per_worker"])
    worker = Worker(context.get_world_rank(), context.get_world_size(), str(device))
    session = loop_config["benchmark"].session(
        worker, loop_config["dataset"], loop_config["data_seed"]
    )
    pool, slot, generation = (loop_config[key] for key in ("pool", "slot", "generation"))
    handle = ray.get_runtime_context().current_actor
    ray.get(pool.hello.remote(slot, generation, worker.rank, [handle]))
    outcome: EpochOutcome | None = None
    while True:
        command = ray.get(pool.exchange.remote(slot, generation, worker.rank, outcome))
        if command is None:
            return
        outcome = _execute(session, command, is_first=worker.rank == 0, clock=MonotonicClock())


def _execute(session: Session, command: EpochCommand, is_first: bool, clock: Clock) -> EpochOutcome:
    spans: list[tuple[Kind, float]] = []
    mark = clock.now()

    def lap(kind: Kind) -> None:
        nonlocal mark
        now = clock.now()
        spans.append((kind, now - mark))
        mark = now

    try:
        if command.start:
            session.start(dict(command.config), command.seed)
            if command.state_ref:
                session.load(unpack_state(ray.get(command.state_ref[0])))
            lap("restore")
        metrics = dict(session.train_epoch())
        lap("train")
        metrics |= session.evaluate()
        lap("evaluate")
        state = session.state()
        state_ref = [ray.put(pack_state(state))] if is_first else []
        lap("checkpoint")
    except Exception as error:
        lap("train")
        reason = f"{type(error).__name__}: {error}"
        return EpochOutcome(spans=spans, error=reason, error_log=traceback.format_exc())
    numbers = {name: float(value) for name, value in metrics.items()}
    return EpochOutcome(metrics=numbers, spans=spans, state_ref=state_ref)
