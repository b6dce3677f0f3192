"""The surrogate on a table made from a formula: near the truth, as noisy, and always the same."""

from __future__ import annotations

import dataclasses
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessRegressor

from benchmarks.recorded.surrogate import Surrogate, gaussian_process
from benchmarks.recorded.surrogate.accuracy import Accuracy, measure_accuracy
from benchmarks.recorded.surrogate.active_subspace import SubspaceProcess
from benchmarks.recorded.surrogate.features import Features
from benchmarks.recorded.surrogate.gaussian_process import GaussianProcess
from benchmarks.recorded.surrogate.groups import as_arrays
from benchmarks.recorded.surrogate.model import HEADROOM
from benchmarks.recorded.surrogate.seed_noise import deviations
from benchmarks.recorded.surrogate.warp import Warp
from benchmarks.recorded.table import RecordedTable
from benchmarks.space import make_space
from harness.contract import UsageError
from harness.contract.records import ParameterRecord
from tests.benchmarks.make_table import (
    EPOCHS,
    SD_ABOVE,
    SD_BELOW,
    SPACE,
    final_score,
    make_table,
    record,
    train_seconds,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def table() -> RecordedTable:
    return make_table(configs=128, repeat_configs=40, diverging=True)


@pytest.fixture(scope="module")
def surrogate(table: RecordedTable) -> Surrogate:
    return Surrogate(table)


def drawn(count: int) -> list[dict[str, Any]]:
    random_state = np.random.RandomState(7)
    space: dict[str, Any] = make_space(SPACE)
    return [
        {name: domain.sample(random_state=random_state) for name, domain in space.items()}
        for _ in range(count)
    ]


def sound(count: int) -> list[dict[str, Any]]:
    """Far from where training diverges."""
    return [config for config in drawn(3 * count) if config["lr"] < 0.1][:count]


# What it predicts


def test_scores_are_near_the_truth(surrogate: Surrogate) -> None:
    configs = sound(200)
    predicted = [surrogate.mean_curves(config)["validation_score"][-1] for config in configs]
    truth = [0.1 + (final_score(config) - 0.1) * (1 - 0.4**EPOCHS) for config in configs]
    assert spearmanr(predicted, truth)[0] > 0.98
    assert np.square(np.subtract(predicted, truth)).mean() < 0.02 * np.var(truth)


def test_seconds_are_near_the_truth(surrogate: Surrogate) -> None:
    for config in sound(50):
        track = surrogate.predict(config, 0)
        assert track["train_seconds"] == pytest.approx([train_seconds(config)] * EPOCHS, rel=0.15)
        assert track["evaluate_seconds"] == pytest.approx([0.2] * EPOCHS)
        assert track["checkpoint_seconds"] == pytest.approx([0.01] * EPOCHS)
        assert track["start_seconds"][0] == pytest.approx(0.5)
        assert track["start_seconds"][1:] == pytest.approx([0.0] * (EPOCHS - 1), abs=1e-6)


def test_noise_is_as_large_as_recorded_at_such_a_score() -> None:
    # Who lends is a sample, too: a larger one than of the other tests' table.
    surrogate = Surrogate(make_table(configs=128, repeat_configs=64, diverging=True))
    sds: dict[float, list[float]] = {SD_ABOVE: [], SD_BELOW: []}
    for config in drawn(300):
        if config["lr"] > 0.3 or abs(final_score(config) - 0.7) < 0.05:
            continue
        scores = [surrogate.predict(config, s)["validation_score"][-1] for s in range(60)]
        sds[SD_ABOVE if final_score(config) > 0.7 else SD_BELOW].append(float(np.nanstd(scores)))
    for sd, found in sds.items():
        assert np.sqrt(np.square(found).mean()) == pytest.approx(sd, rel=0.25)


def test_noise_keeps_its_shape_over_the_epochs_and_columns(surrogate: Surrogate) -> None:
    """In this table a seed moves a whole curve, all of its scores the same way, which stays so."""
    for config in sound(5):
        mean = surrogate.mean_curves(config)
        track = surrogate.predict(config, 3)
        moved = np.subtract(track["validation_score"], mean["validation_score"])
        moved_loss = np.subtract(track["validation_loss"], mean["validation_loss"])
        assert (np.sign(moved) == np.sign(moved[0])).all()
        assert (np.sign(moved_loss) == -np.sign(moved[0])).all()
        np.testing.assert_allclose(
            np.subtract(track["test_score"], track["validation_score"]), -0.01, atol=1e-9
        )


def test_noise_is_bounded_where_seeds_decide_between_a_good_run_and_one_that_collapsed() -> None:
    table = make_table(configs=64, repeat_configs=64)
    curves = tuple(
        dataclasses.replace(
            curve, epochs=tuple(dataclasses.replace(e, validation_score=0.1) for e in curve.epochs)
        )
        if curve.seed == 2 and final_score(curve.config) < 0.75
        else curve
        for curve in table.curves
    )
    surrogate = Surrogate(RecordedTable(record(), curves))
    recorded = [epoch.validation_score for curve in curves for epoch in curve.epochs]
    tracks = [surrogate.predict(config, seed) for config in drawn(100) for seed in range(5)]
    scores = [score for track in tracks for score in track["validation_score"]]
    assert max(scores) < max(recorded) + 0.02
    assert min(scores) > min(recorded) - 0.02


def test_no_noise_takes_a_score_far_beyond_what_was_recorded(
    surrogate: Surrogate, table: RecordedTable
) -> None:
    scores = [
        epoch.validation_score
        for curve in table.curves
        for epoch in curve.epochs
        if math.isfinite(epoch.validation_score)
    ]
    beyond = HEADROOM * (max(scores) - min(scores))
    for config in drawn(100):
        predicted = surrogate.predict(config, 5)["validation_score"]
        finite = [score for score in predicted if math.isfinite(score)]
        assert min(scores) - beyond <= min(finite) and max(finite) <= max(scores) + beyond


def test_what_diverged_nearby_diverges_as_early(surrogate: Surrogate) -> None:
    right = 0
    for config in drawn(200):
        scores = surrogate.predict(config, 0)["validation_score"]
        diverges = math.isnan(scores[-1])
        assert len(scores) == (3 if diverges else EPOCHS)
        assert all(map(math.isfinite, scores[:-1]))
        right += diverges == (config["lr"] > 0.3)
    assert right > 190


def test_without_repeated_seeds_there_is_no_noise_to_lend() -> None:
    surrogate = Surrogate(make_table(configs=32, repeat_configs=0))
    for config in sound(5):
        tracks = [surrogate.predict(config, seed) for seed in range(3)]
        assert tracks[0] == tracks[1] == tracks[2]
        mean = surrogate.mean_curves(config)["validation_score"]
        assert tracks[0]["validation_score"] == pytest.approx(mean.tolist())
        np.testing.assert_allclose(np.subtract(tracks[0]["test_score"], mean), -0.01, atol=1e-7)


@pytest.mark.parametrize("configs", [2, 3])
def test_a_tiny_table_will_do(configs: int) -> None:
    track = Surrogate(make_table(configs=configs, repeat_configs=1)).predict(sound(1)[0], 0)
    assert all(len(values) == EPOCHS for values in track.values())
    assert np.isfinite(track["validation_score"]).all()


def test_a_table_that_is_nothing_but_divergence(table: RecordedTable) -> None:
    only = [c for c in table.curves if c.diverged]
    at_once = tuple(type(c)(c.config, c.seed, 0, c.epochs[-1:]) for c in only)
    with pytest.raises(UsageError, match="every curve of the table diverged in its first epoch"):
        Surrogate(RecordedTable(record(), at_once))


def test_some_that_diverged_in_their_first_epoch(table: RecordedTable) -> None:
    at_once = tuple(
        type(c)(c.config, c.seed, 0, c.epochs[-1:]) if c.diverged else c for c in table.curves
    )
    surrogate = Surrogate(RecordedTable(record(), at_once))
    track = surrogate.predict({"lr": 0.95, "batch_size": 64, "depth": 2, "kind": "a"}, 0)
    assert len(track["validation_score"]) == 1 and math.isnan(track["validation_score"][0])
    assert track["train_seconds"] == pytest.approx([2.0], rel=0.2)


# It is always the same


def test_seeds_and_configurations_have_their_own_noise_in_any_order(surrogate: Surrogate) -> None:
    asked = [(config, seed) for config in sound(4) for seed in range(6)]
    forward = [surrogate.predict(config, seed) for config, seed in asked]
    backward = [surrogate.predict(config, seed) for config, seed in reversed(asked)]
    assert repr(forward) == repr(backward[::-1])
    assert len({track["validation_score"][-1] for track in forward}) > 12


SCRIPT = """
import hashlib
from benchmarks.recorded.surrogate import Surrogate
from tests.benchmarks.make_table import make_table
surrogate = Surrogate(make_table(configs=128, repeat_configs=8))
config = {"batch_size": 64, "depth": 2, "kind": "b"}
tracks = [surrogate.predict(config | {"lr": 0.001 * lr}, 0) for lr in range(1, 30)]
print(hashlib.sha256(repr(tracks).encode()).hexdigest())
"""


def test_the_same_bits_with_any_number_of_threads() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "5")
    }
    assert len(printed) == 1


# Its parts


def test_features_are_scaled() -> None:
    features = Features(SPACE)
    assert features.names == ["lr", "batch_size", "depth", "kind = 'a'", "kind = 'b'"]
    corner = features({"lr": 1.0, "batch_size": 32, "depth": 4, "kind": "b"})
    assert corner == pytest.approx([1, 0, 1, 0, 1])
    middle = features({"lr": 1e-2, "batch_size": 64, "depth": 1, "kind": "a"})
    assert middle == pytest.approx([0.5, 0.5, 0, 1, 0])


@pytest.mark.parametrize(
    ("choices", "count"), [([1, 2, 4], 1), ([0, 1], 2), ([True, False], 2), (["a"], 1), ([3], 1)]
)
def test_a_choice_of_positive_numbers_is_a_number(choices: list[Any], count: int) -> None:
    features = Features({"x": ParameterRecord(type="categorical", choices=choices)})
    assert all(len(features({"x": choice})) == count for choice in choices)


@settings(deadline=None)
@given(arrays(int, st.integers(2, 400), elements=st.integers(-(10**9), 10**9)))
def test_the_warp_is_monotone_and_keeps_the_range(whole: Any) -> None:
    values = whole / 1000
    warp = Warp(values)
    order = np.sort(values)
    warped = warp.to_warped(order)
    assert (np.diff(warped) >= 0).all() and np.isfinite(warped).all()
    back = warp.from_warped(warped)
    np.testing.assert_allclose(back, order, atol=1e-6)
    # It goes on beyond the ends, and comes back from there.
    beyond = np.array([order[0] - np.ptp(order), order[-1] + np.ptp(order)])
    np.testing.assert_allclose(warp.from_warped(warp.to_warped(beyond)), beyond, atol=1e-6)


def test_a_gaussian_process_finds_what_matters() -> None:
    generator = np.random.default_rng(0)
    features = generator.random((120, 4))
    targets = np.stack([np.sin(6 * features[:, 0]), np.full(120, 3.0), features[:, 1]], axis=1)
    process = GaussianProcess(features, targets)
    for row in generator.random((50, 4)):
        expected = [np.sin(6 * row[0]), 3.0, row[1]]
        assert process(row) == pytest.approx(expected, abs=0.05)


def test_the_quick_prediction_is_scikit_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    models: list[GaussianProcessRegressor] = []

    def noting(*args: Any, **settings: Any) -> GaussianProcessRegressor:
        models.append(GaussianProcessRegressor(*args, **settings))
        return models[-1]

    monkeypatch.setattr(gaussian_process, "GaussianProcessRegressor", noting)
    generator = np.random.default_rng(1)
    features = generator.random((40, 3))
    slopes = generator.normal(size=(3, 5))
    targets = np.sin(3 * features @ slopes) + 0.05 * generator.normal(size=(40, 5))
    process = GaussianProcess(features, targets)
    components = PCA(gaussian_process.KEPT_VARIANCE, svd_solver="full").fit(targets)
    for row in generator.random((20, 3)):
        predicted = models[0].predict(row[None]).reshape(1, -1) * targets.std()
        expected = components.inverse_transform(predicted)[0]
        np.testing.assert_allclose(process(row), expected, rtol=1e-10)


def test_gradients_are_those_of_the_means() -> None:
    generator = np.random.default_rng(3)
    features = generator.random((40, 3))
    targets = np.sin(3 * features @ generator.normal(size=(3, 4)))
    process = GaussianProcess(features, targets)
    points, step = generator.random((5, 3)), 1e-6
    numeric = [
        [(process(p + step * axis) - process(p - step * axis)) / (2 * step) for axis in np.eye(3)]
        for p in points
    ]
    expected = np.swapaxes(numeric, 1, 2)
    np.testing.assert_allclose(process.gradients(points), expected, rtol=1e-5, atol=1e-5)


def test_an_edge_aslant_between_features_is_sharp_across_it() -> None:
    """What a length scale per feature cannot say, the direction across it can."""
    generator = np.random.default_rng(4)
    across = np.array([3.0, -2.0, 2.0, 0.0, 1.0]) / math.sqrt(18)
    features, unseen = generator.random((150, 5)), generator.random((200, 5))

    def truth(points: Any) -> Any:
        return np.tanh(12 * (points - 0.5) @ across)[:, None]

    def error(process: GaussianProcess | SubspaceProcess) -> float:
        predicted = np.array([process(row) for row in unseen])
        return float(np.square(predicted - truth(unseen)).mean())

    aslant = SubspaceProcess(features, truth(features))
    assert error(aslant) < 0.5 * error(GaussianProcess(features, truth(features)))
    assert abs(aslant.directions[:, 0] @ across) > 0.95


@pytest.mark.parametrize("width", [1, 2])
def test_fewer_features_than_directions(width: int) -> None:
    features = np.random.default_rng(5).random((30, width))
    process = SubspaceProcess(features, np.sin(3 * features))
    assert process(features[3]) == pytest.approx(np.sin(3 * features[3]), abs=0.05)


@pytest.mark.parametrize("kind", [GaussianProcess, SubspaceProcess])
def test_targets_that_never_vary_are_their_mean(
    kind: type[GaussianProcess] | type[SubspaceProcess],
) -> None:
    process = kind(np.random.default_rng(2).random((10, 2)), np.full((10, 3), 0.5))
    assert process(np.array([0.3, 0.3])).tolist() == [0.5, 0.5, 0.5]


class Unwarped:
    def to_warped(self, values: Any) -> Any:
        return values


def test_deviations_are_as_large_as_another_seeds(table: RecordedTable) -> None:
    curves = as_arrays([c for c in table.curves if not c.diverged], EPOCHS)
    found = deviations(curves, {"validation_score": Unwarped()})["validation_score"][:, -1]  # type: ignore[dict-item]
    above = np.array(
        [final_score(curves.configs[o]) > 0.7 and curves.counts[o] > 1 for o in curves.owner]
    )
    assert np.sqrt(np.square(found[above]).mean()) == pytest.approx(SD_ABOVE, rel=0.2)
    alone = curves.counts[curves.owner] == 1
    assert (found[alone] == 0).all()


# Its accuracy


@pytest.fixture(scope="module")
def accuracy(table: RecordedTable) -> Accuracy:
    return measure_accuracy(table)


def test_accuracy_is_of_configurations_that_were_held_out(accuracy: Accuracy) -> None:
    assert (accuracy.configs, accuracy.curves) == (128, 208)
    assert accuracy.final_score == accuracy.score_by_epoch[-1]
    assert len(accuracy.score_by_epoch) == EPOCHS
    assert accuracy.epoch_seconds.r2 > 0.95
    assert accuracy.recorded_seed_sd is not None and accuracy.reproduced_seed_sd is not None
    ratio = accuracy.reproduced_seed_sd.median / accuracy.recorded_seed_sd.median
    assert 0.5 < ratio < 2
    assert accuracy.between_seeds is not None and accuracy.between_seeds.spearman > 0.95


def test_accuracy_needs_configurations() -> None:
    with pytest.raises(UsageError, match="at least 20: record more"):
        measure_accuracy(make_table(configs=19))


def test_accuracy_without_repeated_seeds() -> None:
    accuracy = measure_accuracy(make_table(configs=32, repeat_configs=0))
    assert accuracy.recorded_seed_sd is accuracy.reproduced_seed_sd is None
    assert accuracy.between_seeds is None
