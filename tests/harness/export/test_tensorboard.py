"""TensorBoard's own reader on what was written."""

from __future__ import annotations

import math
from pathlib import Path

from tensorboard.plugins.hparams import api_pb2, metadata

from harness.export.export import export_run
from harness.export.targets import parse_target
from tests.harness.export.conftest import ASHA_EVENTS, PBT_EVENTS, SGD, trial_count
from tests.harness.export.readers import read_tensorboard


def test_trials_cells_and_the_report(run_folder: Path, tmp_path: Path) -> None:
    target = parse_target(f"tensorboard:{tmp_path / 'tb'}")
    count = 3 + trial_count(ASHA_EVENTS) + trial_count(PBT_EVENTS)
    for _ in range(2):  # the second time changes nothing
        assert export_run(run_folder, target).startswith(f"{count} runs")
    (study,) = (tmp_path / "tb").iterdir()
    assert study.name.startswith("mine-")
    assert (study / "report.html").read_text() == "<p>the report</p>"
    found = read_tensorboard(study)
    assert len(found.Runs()) == count - 1, "the study itself has no events"
    name = "random-asha--seed-0/trial-00000"
    points = found.Scalars(name, "validation_accuracy")
    assert [(p.step, round(p.value, 6)) for p in points] == [(1, 0.5), (2, 0.7), (3, 0.6)]
    assert points[1].wall_time - points[0].wall_time == 2.0
    (diverged,) = found.Scalars("random-asha--seed-0/trial-00003", "validation_accuracy")
    assert math.isnan(diverged.value)
    assert [round(p.value, 6) for p in found.Scalars("pbt--seed-0/trial-00001", "config/lr")] == [
        0.5, 1.2, 1.2,
    ]  # fmt: skip
    assert found.Scalars("random-asha--seed-0", "incumbent/epoch")[0].value == 2.0


def test_hyperparameters_and_how_a_trial_ended(run_folder: Path, tmp_path: Path) -> None:
    export_run(run_folder, parse_target(f"tensorboard:{tmp_path / 'tb'}"))
    (study,) = (tmp_path / "tb").iterdir()
    found = read_tensorboard(study)

    def of(trial: int) -> tuple[dict[str, object], int]:
        run = f"random-asha--seed-0/trial-{trial:05d}"
        start, end = (
            found.SummaryMetadata(run, tag).plugin_data.content
            for tag in (metadata.SESSION_START_INFO_TAG, metadata.SESSION_END_INFO_TAG)
        )
        hparams = metadata.parse_session_start_info_plugin_data(start).hparams
        values = {name: getattr(v, str(v.WhichOneof("kind"))) for name, v in hparams.items()}
        return values, metadata.parse_session_end_info_plugin_data(end).status

    values, status = of(0)
    facts = {"strategy": "random/asha", "seed": "0", "cell": "random-asha--seed-0", "study": "mine"}
    assert values == SGD | facts
    assert status == api_pb2.STATUS_SUCCESS
    assert of(2)[1] == api_pb2.STATUS_FAILURE
