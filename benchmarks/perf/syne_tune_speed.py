"""Syne Tune's simulator on the curves of ``speed_curve.py``: seconds of CPU and of wall-clock.

Runs in an environment with Syne Tune 0.16 and nothing of this project's; see
:mod:`benchmarks.perf.virtual_speed`, which starts it. What only costs time is left out: it saves no
state of the tuner, and writes its results once, at the end.

    cd REPOSITORY; SYNE-TUNE-PYTHON -m benchmarks.perf.syne_tune_speed fifo|asha RESULTS
"""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

import numpy as np
from syne_tune import StoppingCriterion, Tuner
from syne_tune.backend.simulator_backend.simulator_callback import SimulatorCallback
from syne_tune.blackbox_repository.blackbox import Blackbox
from syne_tune.blackbox_repository.simulated_tabular_backend import UserBlackboxBackend
from syne_tune.config_space import loguniform, randint, uniform
from syne_tune.optimizer.baselines import ASHA, RandomSearch

from benchmarks.perf import speed_curve as curve

EPOCHS = range(1, curve.MAX_EPOCHS + 1)
NEVER_S = 1e9


class Curves(Blackbox):
    """All epochs of a configuration at once, as Syne Tune's simulator asks for them."""

    def __init__(self) -> None:
        space = {
            "lr": loguniform(*curve.LR_RANGE),
            "dropout": uniform(*curve.DROPOUT_RANGE),
            "momentum": uniform(*curve.MOMENTUM_RANGE),
        }
        super().__init__(space, {"epoch": randint(1, curve.MAX_EPOCHS)}, [curve.METRIC, "elapsed"])
        self._epochs = np.array(EPOCHS)

    @property
    def fidelity_values(self) -> Any:
        return self._epochs

    def _objective_function(
        self, configuration: dict[str, Any], fidelity: Any = None, seed: int | None = None
    ) -> Any:
        seconds = curve.epoch_seconds(configuration["dropout"])
        return [(curve.score(**configuration, epoch=e), e * seconds) for e in EPOCHS]


def make_scheduler(name: str, space: dict[str, Any]) -> Any:
    is_min = curve.MODE == "min"
    if name == "fifo":
        return RandomSearch(
            space, metrics=[curve.METRIC], do_minimize=is_min, random_seed=curve.SEED
        )
    return ASHA(
        space,
        metric=curve.METRIC,
        time_attr="epoch",
        do_minimize=is_min,
        random_seed=curve.SEED,
        max_t=curve.MAX_EPOCHS,
        grace_period=curve.GRACE_EPOCHS,
        reduction_factor=curve.REDUCTION_FACTOR,
    )


def run(scheduler_name: str, results: int) -> int:
    """The real number of results."""
    curves, stored = Curves(), SimulatorCallback()
    tuner = Tuner(
        trial_backend=UserBlackboxBackend(blackbox=curves, elapsed_time_attr="elapsed"),
        scheduler=make_scheduler(scheduler_name, curves.configuration_space),
        stop_criterion=StoppingCriterion(max_num_evaluations=results),
        n_workers=curve.SLOTS,
        sleep_time=0,
        callbacks=[stored],
        results_update_interval=NEVER_S,
        print_update_interval=NEVER_S,
        save_tuner=False,
    )
    tuner.run()
    return len(stored.results)


def main() -> None:
    scheduler, results = sys.argv[1], int(sys.argv[2])
    logging.disable(logging.WARNING)
    run(scheduler, 100)  # late imports and first calls
    wall, cpu = time.perf_counter(), time.process_time()
    done = run(scheduler, results)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"results": done, "cpu_seconds": cpu, "wall_seconds": wall}))


if __name__ == "__main__":
    main()
