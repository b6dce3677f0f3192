"""What ``init`` writes: a study file with every option, and its JSON Schema."""

from __future__ import annotations

import json
import textwrap
from typing import Any, Final

import yaml

from harness.study import ONLY_FOR, StudyConfig

SCHEMA_FILE: Final = "study.schema.json"
SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
WIDTH: Final = 96

HEADER: Final = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
##
## A study: every option with its default. Run it with `python -m harness run --config FILE`; flags
## of the command line win over what stands here. To set an option, remove the "# " before its name.
"""


def study_template() -> str:
    """A study file in which every option stands as a comment: it asks for the default study."""
    defaults = StudyConfig().model_dump(mode="json")
    parts = [HEADER]
    for name, field in StudyConfig.model_fields.items():
        lines = textwrap.wrap(
            _one_line(field.description), WIDTH, initial_indent="## ", subsequent_indent="## "
        )
        parts.append("\n".join([*lines, f"# {_yaml_line(name, defaults[name])}"]) + "\n")
    return "\n".join(parts)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _yaml_line(name: str, value: object) -> str:
    text = yaml.safe_dump({name: value}, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.strip().removeprefix("{").removesuffix("}")


def study_schema() -> dict[str, Any]:
    """The JSON Schema of study files. What it lets pass, ``run`` may still refuse: names of
    strategies and benchmarks depend on what is installed."""
    schema = StudyConfig.model_json_schema(mode="validation")
    for option in schema["properties"].values():
        option["description"] = _one_line(option.get("description"))
    schema["title"] = "A study of tune-bench-harness"
    schema["description"] = "The file that `python -m harness run --config FILE` takes."
    schema["allOf"] = [_only_for(field, executor) for field, executor in ONLY_FOR.items()]
    return {"$schema": SCHEMA_DIALECT, **schema}


def _only_for(field: str, executor: str) -> dict[str, Any]:
    """An option that is given with a value needs the executor that it is for."""
    default = StudyConfig.model_fields["executor"].default
    wanted: dict[str, Any] = {"properties": {"executor": {"const": executor}}}
    if executor != default:
        wanted["required"] = ["executor"]
    given = {"required": [field], "properties": {field: {"not": {"type": "null"}}}}
    return {"if": given, "then": wanted}


def schema_text() -> str:
    return json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"
