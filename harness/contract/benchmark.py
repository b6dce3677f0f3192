"""What a benchmark gives to the harness: how to train, never where or when.

An executor drives a :class:`Session` in every worker of a worker group (one process where
there is one worker) and measures the time of each call; a session never looks at a clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from ray.tune.search.sample import Domain

Config = dict[str, Any]
Mode = Literal["min", "max"]
DeviceKind = Literal["CPU", "GPU"]

DEVICE_NAMES: dict[DeviceKind, str] = {"CPU": "core", "GPU": "GPU"}
"""As in core-hours, GPU-hours."""


@dataclass(frozen=True)
class Worker:
    """Where one session runs: ``rank`` of ``world_size`` processes, on a torch ``device``."""

    rank: int = 0
    world_size: int = 1
    device: str = "cpu"


@dataclass(frozen=True)
class Dataset:
    """The data a benchmark found: where, how it was found, and a hash of its content."""

    path: Path | None
    source: str
    sha256: str


@dataclass(frozen=True)
class EpochCost:
    """Device-seconds (all of a trial's workers together) of one epoch, by kind of work.

    ``start``: beginning the trial, in its first epoch. For an executor whose clock is virtual.
    ``is_processor_time``: measured as the processor time of a worker with nothing around it; the
    executor adds what a cluster does to that.
    """

    train: float
    evaluate: float = 0.0
    checkpoint: float = 0.0
    start: float = 0.0
    is_processor_time: bool = False


class Session(ABC):
    """One trial's training at a time; every rank of a worker group makes the same calls.

    A session is built once per worker (it loads the data then) and serves trial after trial.
    Anything it raises fails the trial, not the worker.
    """

    @abstractmethod
    def start(self, config: Config, seed: int) -> None:
        """Forget the trial before; begin one with ``config`` at epoch 0."""

    @abstractmethod
    def train_epoch(self) -> Mapping[str, float]:
        """Train one epoch; return training metrics (``train_loss`` where there is one)."""

    @abstractmethod
    def evaluate(self) -> Mapping[str, float]:
        """Scores of the present weights: the benchmark's ``metric``, and ``test_metric`` if any.

        The same numbers on every rank. A diverged model reports NaN as its ``metric``.
        """

    @abstractmethod
    def state(self) -> Mapping[str, Any]:
        """Everything a fresh session needs to go on bit for bit; complete on rank 0.

        Tensors and plain Python values only: it is written with ``torch.save`` and read back
        with ``weights_only=True``.
        """

    @abstractmethod
    def load(self, state: Mapping[str, Any]) -> None:
        """Take back a ``state()``, after ``start``, whose ``config`` wins (PBT changes it)."""

    @property
    def model(self) -> Any:
        """What a user takes along, once a trial has started: the torch module with the present
        weights. ``None`` (the default): there is none, or only in ``state()``."""
        return None

    def epoch_cost(self) -> EpochCost | None:
        """What the last epoch cost or, with a virtual clock, will be charged as.

        ``None`` (the default): the benchmark's ``epoch_device_seconds``, all of it training.
        """
        return None

    def scores_ahead(self, epochs: int) -> Sequence[float] | None:
        """The benchmark's ``metric`` at each of the next so many epochs, were they trained; the
        first that is not finite is the last.

        Asked of a light session when its trial was stopped: what that would have come to. The
        session may be left as it likes, ``start`` comes next. For curves that are known without
        training them; ``None`` (the default): it has to be trained to see.
        """
        return None


class Benchmark(ABC):
    """What is tuned: a search space, a metric with its mode, the epochs cap, the training code.

    The fields of a benchmark's (pydantic) dataclass are its options, set by
    ``--benchmark-option name=value``. What is not a ClassVar below is a plain class attribute where
    it is always the same, or set on the instance where an option decides it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    requires: ClassVar[tuple[str, ...]] = ()
    metric: str
    mode: Mode
    test_metric: str | None = None
    loss_metric: str | None = None
    gives_checkpoints: ClassVar[bool] = True
    mutable: frozenset[str] = frozenset()
    """Parameters that may change in the middle of a trial (what PBT may perturb)."""
    light_sessions: ClassVar[bool] = False
    """A session costs next to nothing to build, keep and train: the virtual executor then keeps one
    per slot, and goes on with stopped trials to see what they would have come to. Otherwise all
    trials take turns on a single one, with ``state`` and ``load``."""
    device_kind: DeviceKind = "CPU"
    """What ``epoch_cost`` counts the seconds of: what a virtual cluster is made of."""
    caveats: tuple[str, ...] = ()
    """What a reader of the report must know about these results, a sentence each."""
    targets: tuple[float, ...] = ()
    """Validation scores worth reaching, easiest first: the report shows how long each strategy took
    to get there. They only mean something where they are fixed before anything runs."""
    max_epochs: int

    @abstractmethod
    def space(self) -> dict[str, Domain]:
        """A flat dict of Ray Tune domains: ``uniform``, ``loguniform``, ``randint``, ``choice``…"""

    @abstractmethod
    def epoch_device_seconds(self, device_kind: DeviceKind) -> float:
        """About what one epoch costs: sizes populations, refuses hopeless budgets."""

    @abstractmethod
    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        """A session on this worker, its data loaded. ``data_seed`` fixes the split."""

    def find_data(self, data_dir: Path | None) -> Dataset:
        """Find and verify the data; :class:`UsageError` names every way to get it."""
        return Dataset(path=None, source="generated", sha256="")
