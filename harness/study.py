"""What the user asks for: the fields of ``run``'s flags and of ``study.yaml``, checked."""

from __future__ import annotations

import contextlib
import difflib
import math
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from harness.contract import UsageError
from harness.contract.records import MAX_TARGETS, ConfigValue
from harness.export.targets import TRACKERS, parse_target

MAX_SEED = 2**32 - 1
"""numpy's global generator takes no larger seed."""


def parse_seeds(given: object) -> list[int]:
    """``3`` → seeds 0, 1, 2; ``0,5,7`` (or a list) → these. ``5,`` is the single seed 5.

    Raises:
        ValueError: not integers, none, a repeated one, or one outside 0 … 2³²−1.
    """
    rule = "seeds must be a count (3) or a list of distinct integers from 0 on (0,1,2)"
    if isinstance(given, bool) or not isinstance(given, int | str | list | tuple):
        raise ValueError(f"{rule}, not {given!r}")
    if isinstance(given, int):
        parts: list[Any] = list(range(given))
    elif isinstance(given, str) and "," not in given:
        parts = list(range(_as_int(given, rule)))
    else:
        items = given.split(",") if isinstance(given, str) else list(given)
        parts = [_as_int(item, rule) for item in items if str(item).strip()]
    if not parts:
        raise ValueError(f"{rule}; {given!r} gives none")
    if len(set(parts)) < len(parts):
        raise ValueError(f"{rule}; {given!r} repeats one")
    if min(parts) < 0 or max(parts) > MAX_SEED:
        raise ValueError(f"{rule}, at most {MAX_SEED}; given {given!r}")
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
        raise ValueError(f"{rule}; {given!r} gives none")
    if len(set(targets)) < len(targets):
        raise ValueError(f"{rule}; {given!r} repeats one")
    return targets


def _as_finite(item: object, rule: str) -> float:
    number = math.nan
    if isinstance(item, int | float | str) and not isinstance(item, bool):
        with contextlib.suppress(ValueError, OverflowError):
            number = float(item)
    if not math.isfinite(number):
        raise ValueError(f"{rule}, not {item!r}")
    return number


def _as_int(item: object, rule: str) -> int:
    if isinstance(item, bool | float):
        raise ValueError(f"{rule}, not {item!r}")
    try:
        return int(str(item).strip())
    except ValueError:
        raise ValueError(f"{rule}, not {item!r}") from None


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


Seeds = Annotated[list[int], BeforeValidator(parse_seeds)]
Targets = Annotated[list[float], BeforeValidator(parse_targets), Field(max_length=MAX_TARGETS)]
Names = Annotated[list[str], BeforeValidator(_as_names), Field(min_length=1)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Trackers = Annotated[list[str], BeforeValidator(_as_list), AfterValidator(_checked_trackers)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


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
    """One study as asked for; ``None`` means: decided from the machine, and printed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    strategies: Names = ["all"]
    benchmark: str = "fashion_mnist"
    benchmark_options: dict[str, ConfigValue] = {}
    budget: Positive | None = None
    seeds: Seeds = [0]
    data_seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0
    workers_per_trial: Annotated[int, Field(ge=1)] = 2
    devices_per_worker: Positive | None = None
    max_concurrent: Annotated[int, Field(ge=1)] | None = None
    max_same_failures: Annotated[int, Field(ge=0)] = 3
    max_trials: Annotated[int, Field(ge=1)] | None = None
    max_hours: Positive | None = None
    max_disk_gb: Positive | None = None
    min_free_disk_gb: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    targets: Targets | None = None
    goal: Text | None = None
    decisions: Annotated[list[Text], BeforeValidator(_as_list)] = []
    retrain: Annotated[int, Field(ge=0)] = 0
    track: Trackers = []
    executor: ExecutorName = "cluster"
    devices: Annotated[int, Field(ge=1)] | None = None
    costs: Path | None = None
    charge_searcher: Literal["fixed", "measured"] | None = None
    address: str | None = None
    storage: str | None = None
    data_dir: Path | None = None
    strategy_files: list[Path] = []
    benchmark_files: list[Path] = []
    out: Path | None = None


def make_study(flags: dict[str, Any], config_file: Path | None) -> StudyConfig:
    """Merge a YAML file's fields with the flags given; flags win.

    Raises:
        UsageError: the file is missing or not such a mapping, or a field is unknown or out of
            range; every mistake is named.
    """
    fields = {} if config_file is None else _read_yaml(config_file)
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


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"cannot read --config {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"--config {path} is not valid YAML: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UsageError(
            f"--config {path} must map fields to values, e.g. 'seeds: 3'; "
            f"it holds a {type(content).__name__}"
        )
    # A field without a value is one that is not given.
    return {
        str(key).replace("-", "_"): value for key, value in content.items() if value is not None
    }


def _explain(error: ValidationError, config_file: Path | None) -> str:
    lines = []
    for mistake in error.errors():
        field = ".".join(str(part) for part in mistake["loc"][:1])
        if mistake["type"] == "extra_forbidden":
            known = sorted(StudyConfig.model_fields)
            near = difflib.get_close_matches(field, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            lines.append(
                f"unknown field {field!r} in {config_file}.{hint} Known: {', '.join(known)}."
            )
        elif mistake["type"] == "value_error":
            lines.append(str(mistake["ctx"]["error"]))
        else:
            flag = field.replace("_", "-")
            lines.append(f"{flag}: {mistake['msg'].lower()}, not {mistake['input']!r}")
    return "\n".join(lines)
