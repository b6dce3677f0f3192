"""A recorded table as a benchmark; what it tunes and how it is scored is the table's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from benchmarks.fashion_mnist import TARGETS
from harness.contract import Benchmark, Dataset, DeviceKind, Session, UsageError, Worker

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

    from benchmarks.recorded.replay import Replay
    from benchmarks.recorded.table import Curve, RecordedTable, Recording, TableRecord

SHIPPED_TABLE = Path(__file__).parent / "tables" / "fashion_mnist.parquet"
LOSS_METRIC = "validation_loss"

PositiveSeconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]

CAVEATS = (
    "Scores and costs of configurations that were not recorded are predicted from the recorded "
    "ones, with the recorded noise of seeds; `python -m harness surrogate` shows how well.",
    "A table cannot know what changing a configuration in the middle of a trial does: such a trial "
    "goes on along the new configuration's curve, as if it had been trained so from its start, "
    "which strategies that change configurations (PBT) must not be judged by.",
)


class TableBenchmark(Benchmark):
    """Where the table is, is the subclass's to say; the rest is read from it.

    ``epoch_seconds``: what is declared as the cost of an epoch, in device-seconds, where the
    table's own mean is not wanted. Strategies size populations by it, the clock does not go by it.
    """

    epoch_seconds: float | None

    light_sessions = True
    caveats = CAVEATS

    @abstractmethod
    def table_path(self) -> Path:
        """The Parquet file."""

    def _take_over(self, record: TableRecord, max_epochs: int | None) -> None:
        """Set what the table decides. The dataclass is frozen, as all benchmarks are."""
        recorded = record.benchmark
        if max_epochs is not None and max_epochs > recorded.max_epochs:
            raise UsageError(
                f"benchmark {self.name!r}: max_epochs must be at most {recorded.max_epochs}, what "
                f"{self.table_path()} was recorded to, not {max_epochs}"
            )
        decided = {
            "metric": recorded.metric,
            "mode": recorded.mode,
            "test_metric": recorded.test_metric,
            "loss_metric": LOSS_METRIC if recorded.metric != LOSS_METRIC else None,
            "mutable": frozenset(name for name, p in recorded.space.items() if p.mutable),
            "max_epochs": max_epochs or recorded.max_epochs,
            "caveats": (*CAVEATS, *_cost_caveats(record.recordings)),
        }
        for name, value in decided.items():
            object.__setattr__(self, name, value)

    def space(self) -> dict[str, Domain]:
        from benchmarks.recorded.table import read_record
        from benchmarks.space import make_space

        record = self._brought.table.record if self._brought else read_record(self.table_path())
        return make_space(record.benchmark.space)

    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        """The mean over the table's configurations, of the device that it was recorded on, or the
        option's."""
        if self.epoch_seconds is not None:
            return self.epoch_seconds
        from benchmarks.recorded.replay import whole_table

        table = self._brought.table if self._brought else whole_table(self.table_path())[0]

        def mean_of(curves: list[Curve]) -> float:
            return fmean(
                epoch.train_seconds + epoch.evaluate_seconds + epoch.checkpoint_seconds
                for curve in curves
                for epoch in curve.epochs[: self.max_epochs]
            )

        return fmean(map(mean_of, table.by_config().values()))

    def find_data(self, data_dir: Path | None) -> Dataset:
        """The table; it is read and checked as a whole here, before anything runs."""
        from benchmarks.recorded.replay import whole_table

        table, sha256 = whole_table(self.table_path())
        self._check(table)
        return Dataset(
            path=self.table_path(),
            source=f"{len(table.curves)} learning curves of {table.record.benchmark.name}",
            sha256=sha256,
        )

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        from benchmarks.recorded.replay import replay_of
        from benchmarks.recorded.session import TableSession

        replay = self._brought
        if replay is None:
            replay = replay_of(self.table_path(), dataset.sha256)
            replay.prepare()
            object.__setattr__(self, "_replay", replay)
        return TableSession(self, replay)

    @property
    def _brought(self) -> Replay | None:
        """What was read and fitted for the first session: a benchmark that is sent to another
        process or node, which may not have the file, brings it along."""
        replay: Replay | None = self.__dict__.get("_replay")
        return replay

    def _check(self, table: RecordedTable) -> None:
        """What a subclass knows better than the table."""


def _cost_caveats(recordings: Sequence[Recording]) -> Iterator[str]:
    first, *others = recordings
    time = "processor time" if first.seconds == "cpu" else "wall-clock time"
    yield (
        f"Epochs cost the {time} that they took where they were recorded ({_place(first)}), "
        "whatever devices the study declares."
    )
    elsewhere = [place for place in dict.fromkeys(map(_place, others)) if place != _place(first)]
    if elsewhere:
        yield (
            f"A part of the table was recorded elsewhere ({'; '.join(elsewhere)}): its seconds are "
            "converted by what the configurations recorded in both places took, where there are "
            "such."
        )


def _place(recording: Recording) -> str:
    return f"{recording.machine.get('cpu', 'an unknown machine')}, {recording.workers} worker(s)"


@dataclass(frozen=True)
class RecordedTableBenchmark(TableBenchmark):
    """Options: ``table``, a file that ``python -m harness record`` made; ``max_epochs``, a cap that
    is lower than the table's; ``epoch_seconds``, as :class:`TableBenchmark` says.

    Its targets are what some of the recorded configurations reach: see
    :func:`benchmarks.recorded.targets.recorded_targets`."""

    name = "recorded_table"
    summary = "Your own table of learning curves, from `python -m harness record`"
    requires = ("pyarrow",)

    table: str | None = None
    max_epochs: Annotated[int, Field(ge=1)] | None = None  # type: ignore[assignment]
    epoch_seconds: PositiveSeconds | None = None

    def __post_init__(self) -> None:
        if self.table is None:
            raise UsageError(
                "benchmark 'recorded_table' needs a table: --benchmark-option table=PATH, a file "
                "that `python -m harness record` made"
            )
        from benchmarks.recorded.replay import whole_table
        from benchmarks.recorded.table import read_record
        from benchmarks.recorded.targets import recorded_targets

        # Absolute, as a worker may run in another folder.
        object.__setattr__(self, "table", str(Path(self.table).resolve()))
        self._take_over(read_record(self.table_path()), self.max_epochs)
        table, _ = whole_table(self.table_path())
        cap = self.max_epochs or table.record.benchmark.max_epochs
        object.__setattr__(self, "targets", recorded_targets(table, cap))

    def table_path(self) -> Path:
        assert self.table is not None
        return Path(self.table)


@dataclass(frozen=True)
class FashionMNISTTable(TableBenchmark):
    """``fashion_mnist`` (MLP), recorded: the same space, metric and curves, without the training.
    Options: ``max_epochs``, as there, at most what was recorded (16); ``epoch_seconds``, as
    :class:`TableBenchmark` says."""

    name = "fashion_mnist_table"
    summary = "fashion_mnist's MLP from recorded learning curves: nothing is trained"
    requires = ("pyarrow",)
    metric = "validation_accuracy"
    mode = "max"
    test_metric = "test_accuracy"
    loss_metric = LOSS_METRIC
    targets = TARGETS["mlp"]
    mutable = frozenset({"lr", "weight_decay", "dropout", "batch_size"})

    max_epochs: Annotated[int, Field(ge=1)] = 9
    epoch_seconds: PositiveSeconds | None = None

    def __post_init__(self) -> None:
        from benchmarks.recorded.table import read_record

        self._take_over(read_record(SHIPPED_TABLE), self.max_epochs)

    def table_path(self) -> Path:
        return SHIPPED_TABLE

    def _check(self, table: RecordedTable) -> None:
        from benchmarks.fashion_mnist import FashionMNIST
        from benchmarks.space import describe_space

        original = FashionMNIST()
        if table.record.benchmark.space != describe_space(original.space(), original.mutable):
            raise UsageError(
                f"{SHIPPED_TABLE} was recorded over another search space than fashion_mnist's: "
                "restore it, record it again, or use recorded_table with its path"
            )
