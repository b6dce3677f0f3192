"""A small recorded table from a formula, so that what is recorded and what is true are known."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from benchmarks.noise import Noise
from benchmarks.recorded.table import Curve, Epoch, RecordedTable, Recording, TableRecord
from harness.contract.records import BenchmarkRecord, ConfigValue, ParameterRecord
from harness.recording.design import design

EPOCHS = 6
SPACE = {
    "lr": ParameterRecord(type="float", low=1e-4, high=1.0, log=True, mutable=True),
    "batch_size": ParameterRecord(type="categorical", choices=[32, 64, 128], mutable=True),
    "depth": ParameterRecord(type="integer", low=1, high=4),
    "kind": ParameterRecord(type="categorical", choices=["a", "b"]),
}
SD_ABOVE, SD_BELOW = 0.002, 0.02
"""The noise of seeds where the final score is above 0.7, and below."""

Config = dict[str, ConfigValue]


def record(**changes: object) -> TableRecord:
    benchmark = BenchmarkRecord(
        name="toy", options={}, metric="accuracy", mode="max", test_metric="test_accuracy",
        max_epochs=EPOCHS, space=SPACE, dataset_source="generated", dataset_sha256="", data_seed=0,
    )  # fmt: skip
    recording = Recording(
        source="a formula", device_kind="CPU", workers=1, seconds="cpu", versions={}, machine={},
        git_commit=None, recorded_at="",
    )  # fmt: skip
    benchmark = benchmark.model_copy(update=changes)
    return TableRecord(benchmark=benchmark, recordings=[recording])


def final_score(config: Config) -> float:
    lr, batch, depth, kind = (config[name] for name in SPACE)
    assert isinstance(lr, float) and isinstance(batch, int) and isinstance(depth, int)
    off = math.log10(lr / 1e-2) - 0.5 * math.log10(batch / 64)
    return 0.9 - 0.1 * off * off - 0.01 * (depth - 3) ** 2 - 0.03 * (kind == "b")


def train_seconds(config: Config) -> float:
    depth, batch = config["depth"], config["batch_size"]
    assert isinstance(depth, int) and isinstance(batch, int)
    return depth * 64 / batch


def make_table(
    configs: int = 64, repeat_configs: int = 16, repeat_seeds: int = 3, diverging: bool = False
) -> RecordedTable:
    """``diverging``: above a learning rate of 0.3 every curve ends in NaN at its third epoch."""
    points = design(SPACE, configs, seed=0)
    curves = [
        _curve(config, seed, diverging)
        for number, config in enumerate(points)
        for seed in range(repeat_seeds if number < repeat_configs else 1)
    ]
    return RecordedTable(record(), tuple(curves))


def _curve(config: Config, seed: int, diverging: bool) -> Curve:
    generator = np.random.default_rng(Noise(config, seed).integer())
    return Curve(config, seed, 0, tuple(_epochs(config, generator, diverging)))


def _epochs(config: Config, generator: np.random.Generator, diverging: bool) -> Iterator[Epoch]:
    final = final_score(config)
    sd = SD_ABOVE if final > 0.7 else SD_BELOW
    luck = sd * generator.standard_normal()
    lr = config["lr"]
    assert isinstance(lr, float)
    for number in range(1, EPOCHS + 1):
        score = 0.1 + (final - 0.1) * (1 - 0.4**number) + luck
        ends = diverging and lr > 0.3 and number == 3
        yield Epoch(
            validation_score=math.nan if ends else score,
            validation_loss=math.nan if ends else 1 - score,
            train_loss=math.nan if ends else 0.9 - score,
            test_score=math.nan if ends else score - 0.01,
            start_seconds=0.5 if number == 1 else 0.0,
            train_seconds=train_seconds(config),
            evaluate_seconds=0.2,
            checkpoint_seconds=0.01,
        )
        if ends:
            return
