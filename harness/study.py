"""What the user asks for: the fields of ``run``'s flags and of ``study.yaml``, checked."""

from __future__ import annotations

import contextlib
import difflib
import math
import reprlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from harness.contract import UsageError
from harness.contract.records import MAX_TARGETS, ConfigValue
from harness.export.targets import TRACKERS, parse_target
from harness.study_file import read_study_file

MAX_SEED = 2**32 - 1
"""numpy's global generator takes no larger seed."""

MAX_SEEDS = 100_000


def parse_seeds(given: object) -> list[int]:
    """``3`` → seeds 0, 1, 2; ``0,5,7`` (or a list) → these. ``5,`` is the single seed 5.

    Raises:
        ValueError: not integers, none, a repeated one, or one outside 0 … 2³²−1.
    """
    rule = "seeds must be a count (3) or a list of distinct integers from 0 on (0,1,2)"
    if isinstance(given, bool) or not isinstance(given, int | str | list | tuple):
        raise ValueError(f"{rule}, not {_short(given)}")
    if isinstance(given, int) or (isinstance(given, str) and "," not in given):
        count = _as_int(given, rule)
        if count > MAX_SEEDS:
            raise ValueError(f"{rule}, at most {MAX_SEEDS} of them, not {_short(given)}")
        parts = list(range(count))
    else:
        items = given.split(",") if isinstance(given, str) else list(given)
        parts = [_as_int(item, rule) for item in items if str(item).strip()]
    if not parts:
        raise ValueError(f"{rule}; {_short(given)} gives none")
    if len(set(parts)) < len(parts):
        raise ValueError(f"{rule}; {_short(given)} repeats one")
    if min(parts) < 0 or max(parts) > MAX_SEED:
        raise ValueError(f"{rule}, at most {MAX_SEED}; given {_short(given)}")
    return parts


def parse_targets(given: object) -> list[float]:
    """``0.8,0.85`` (or a list, or one number) → these numbers.

    Raises:
        ValueError: not finite numbers, none, or a repeated one.
    """
    rule = "targets must be distinct finite numbers (0.8,0.85)"
    if isinstance(given, str):
        items: list[Any] = [item for item in given.split(",") if item.strip()]
    else:
        items = list(given) if isinstance(given, list | tuple) else [given]
    targets = [_as_finite(item, rule) for item in items]
    if not targets:
        raise ValueError(f"{rule}; {_short(given)} gives none")
    if len(set(targets)) < len(targets):
        raise ValueError(f"{rule}; {_short(given)} repeats one")
    return targets


def _as_finite(item: object, rule: str) -> float:
    number = math.nan
    if isinstance(item, int | float | str) and not isinstance(item, bool):
        with contextlib.suppress(ValueError, OverflowError):
            number = float(item)
    if not math.isfinite(number):
        raise ValueError(f"{rule}, not {_short(item)}")
    return number


def _as_int(item: object, rule: str) -> int:
    if isinstance(item, bool | float):
        raise ValueError(f"{rule}, not {_short(item)}")
    try:
        return int(str(item).strip())
    except ValueError:
        raise ValueError(f"{rule}, not {_short(item)}") from None


def _short(given: object) -> str:
    """As Python writes it, shortened where a message would drown in it."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = 80
    short.maxlist = short.maxdict = 8
    return short.repr(given)


def _no_truth_value(given: object) -> object:
    """YAML reads ``yes`` and ``on`` as true, which would count as the number 1."""
    if isinstance(given, bool):
        raise PydanticCustomError("not_a_number", "Input should be a number")
    return given


def _as_names(given: object) -> object:
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return given


def _as_list(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _checked_trackers(given: list[str]) -> list[str]:
    for text in given:
        parse_target(text, TRACKERS)
    return given


NoTruthValue = BeforeValidator(_no_truth_value)
Seed = Annotated[int, Field(ge=0, le=MAX_SEED), NoTruthValue]

# What may stand in a file, for the JSON Schema; the functions above make lists of it.
Several = Field(min_length=1, json_schema_extra={"uniqueItems": True})
SeedsInput = (
    Annotated[int, Field(ge=1, le=MAX_SEEDS)]
    | Annotated[list[Seed], Several]
    | Annotated[str, Field(pattern=r"^[\d\s,]+$")]
)
TargetsInput = float | Annotated[list[float], Several] | Annotated[str, Field(min_length=1)]
NamesInput = Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)]

Seeds = Annotated[list[int], BeforeValidator(parse_seeds, json_schema_input_type=SeedsInput)]
Targets = Annotated[
    list[float],
    Field(max_length=MAX_TARGETS),
    BeforeValidator(parse_targets, json_schema_input_type=TargetsInput),
]
Names = Annotated[
    list[str],
    Field(min_length=1),
    BeforeValidator(_as_names, json_schema_input_type=NamesInput),
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(_as_list, json_schema_input_type=Text | list[Text])]
TrackerInput = Annotated[str, Field(pattern=rf"^\s*({'|'.join(sorted(TRACKERS))})(:.+)?$")]
Trackers = Annotated[
    list[str],
    AfterValidator(_checked_trackers),
    BeforeValidator(_as_list, json_schema_input_type=TrackerInput | list[TrackerInput]),
]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), NoTruthValue]
Count = Annotated[int, Field(ge=1), NoTruthValue]
CountOrNone = Annotated[int, Field(ge=0), NoTruthValue]


ExecutorName = Literal["cluster", "virtual"]

DEFAULTS: dict[object, dict[str, Any]] = {
    "cluster": {},
    "virtual": {"benchmark": "fashion_mnist_table", "workers_per_trial": 1, "devices": 8},
}
"""What an executor's users expect where they say nothing."""

ONLY_FOR: dict[str, ExecutorName] = {
    "devices": "virtual",
    "costs": "virtual",
    "charge_searcher": "virtual",
    "storage": "cluster",
}


class StudyConfig(BaseModel):
    """One study as asked for; ``None`` means: decided from the machine, and printed.

    The texts below the fields are what :mod:`harness.study_template` and the published JSON Schema
    say of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    strategies: Names = ["all"]
    """Which strategies to compare: `all`, or a list of names. `python -m harness list` shows
    them."""
    benchmark: str = "fashion_mnist"
    """What is tuned; `python -m harness list` shows them. With `executor: virtual` the default is
    fashion_mnist_table."""
    benchmark_options: dict[str, ConfigValue] = {}
    """The benchmark's own options, e.g. {model: cnn, max_epochs: 27}."""
    budget: Positive | None = None
    """Device-hours that each cell may hold: GPU-hours, or core-hours where there is no GPU. null:
    48 s (CPU) or 300 s (GPU) of all the cell's devices; virtual: 50 whole trainings."""
    seeds: Seeds = [0]
    """How many (3 means 0, 1, 2), or which ([0, 5, 7]): one cell for each strategy and seed."""
    data_seed: Seed = 0
    """Seed of the split into training and validation data, the same for every cell."""
    workers_per_trial: Count = 2
    """Data-parallel workers that train one trial. With `executor: virtual` the default is 1."""
    devices_per_worker: Positive | None = None
    """GPUs (or cores) for each worker; below 1 a part of one. null: 1, or an equal share of what
    there is."""
    max_concurrent: Count | None = None
    """Trials at once, at most. null: what fits; on real devices at most 8."""
    max_same_failures: CountOrNone = 3
    """End a cell when so many trials in a row fail alike; 0: never."""
    max_trials: Count | None = None
    """End a cell when so many of its trials have ended. null: never."""
    max_hours: Positive | None = None
    """Stop the study after so many hours of wall-clock. null: never."""
    max_disk_gb: Positive | None = None
    """Stop the study when the run folder, with what it stores, has so many GB. null: never."""
    min_free_disk_gb: Annotated[float, Field(ge=0, allow_inf_nan=False), NoTruthValue] = 1.0
    """Stop the study when the run folder's disk has less than so many GB free."""
    targets: Targets | None = None
    """Validation scores worth reaching, e.g. [0.8, 0.85]: the report shows how long each strategy
    took to. null: the benchmark's own."""
    goal: Text | None = None
    """Why the study is made: a text for the report's journal."""
    decisions: Texts = []
    """What followed from it: texts for the report's journal."""
    retrain: CountOrNone = 0
    """When all cells are done, and outside the budget: each incumbent is trained again with so
    many fresh seeds."""
    track: Trackers = []
    """Trackers that follow the run: mlflow[:URI], wandb[:[ENTITY/]PROJECT],
    tensorboard[:FOLDER]."""
    executor: ExecutorName = "cluster"
    """`cluster`: real devices and time. `virtual`: a simulated cluster, many times faster."""
    devices: Count | None = None
    """Virtual devices that a cell holds; only with `executor: virtual`, whose default is 8."""
    costs: Path | None = None
    """A JSON file of what starts, checkpoints etc. take, in seconds; only with `executor:
    virtual`. null: as measured for the cluster executor."""
    charge_searcher: Literal["fixed", "measured"] | None = None
    """`fixed`: the same time for every suggestion; `measured`: what it really takes (then no two
    runs are the same). Only with `executor: virtual`. null: fixed."""
    address: str | None = None
    """An existing Ray cluster: auto, or HOST:PORT. null: one on this machine."""
    storage: str | None = None
    """Where checkpoints go while a cell runs: a local path, or an fsspec URL (s3://BUCKET/PATH)
    that every node reaches; only with `executor: cluster`. null: in the run folder."""
    data_dir: Path | None = None
    """The folder of the data set. null: looked for, and downloaded where possible."""
    strategy_files: list[Path] = []
    """Python files that add strategies."""
    benchmark_files: list[Path] = []
    """Python files that add benchmarks."""
    out: Path | None = None
    """The run folder; one that is there is gone on with. null: runs/NAME-TIME."""


def make_study(flags: dict[str, Any], config_file: Path | None) -> StudyConfig:
    """Merge a YAML file's fields with the flags given; flags win.

    Raises:
        UsageError: the file is missing or not such a mapping, or a field is unknown or out of
            range; every mistake is named.
    """
    fields = {} if config_file is None else read_study_file(config_file)
    fields |= flags
    executor = fields.get("executor", "cluster")
    defaults = DEFAULTS.get(executor, {}) if isinstance(executor, str) else {}
    try:
        study = StudyConfig.model_validate(defaults | fields)
    except ValidationError as error:
        raise UsageError(_explain(error, config_file)) from None
    for field, wanted in ONLY_FOR.items():
        if fields.get(field) is not None and study.executor != wanted:
            raise UsageError(
                f"--{field.replace('_', '-')} is for --executor {wanted}; this study's executor is "
                f"{study.executor!r}: leave one of them out, or change the other"
            )
    return study


def _explain(error: ValidationError, config_file: Path | None) -> str:
    """A line for each field that is wrong: its name, what is allowed, what was given."""
    lines = []
    allowed: dict[str, list[str]] = {}
    given: dict[str, object] = {}
    for mistake in error.errors():
        field = str(mistake["loc"][0])
        if mistake["type"] == "extra_forbidden":
            known = sorted(StudyConfig.model_fields)
            near = difflib.get_close_matches(field, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            lines.append(
                f"unknown field {_short(field)} in {config_file}.{hint} Known: {', '.join(known)}."
            )
        elif mistake["type"] == "value_error":
            lines.append(str(mistake["ctx"]["error"]))
        else:
            place = _place(mistake["loc"])
            allowed.setdefault(place, []).append(_rule(mistake["msg"]))
            given.setdefault(place, mistake["input"])
    lines += [
        f"{place}: {' or '.join(dict.fromkeys(rules))}, not {_short(given[place])}"
        for place, rules in allowed.items()
    ]
    return "\n".join(lines)


def _place(loc: tuple[int | str, ...]) -> str:
    """The flag, and the name of an option in it; what a union tried is left out."""
    flag = str(loc[0]).replace("_", "-")
    return f"{flag}.{loc[1]}" if loc[0] == "benchmark_options" and len(loc) > 1 else flag


def _rule(message: str) -> str:
    rule = message.split(", unable to parse")[0]
    rule = rule.replace("Input is not a valid path for <class 'pathlib.Path'>", "must be a path")
    return rule[:1].lower() + rule[1:]
