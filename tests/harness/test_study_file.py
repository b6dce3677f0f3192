"""Study files: plain data of a bounded size; what ``init`` writes; the published schema."""

from __future__ import annotations

import json
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from harness.cli import app
from harness.contract import UsageError
from harness.provenance import FLAGS
from harness.study import StudyConfig, make_study
from harness.study_file import MAX_BYTES, read_study_file
from harness.study_template import study_schema, study_template

ROOT = Path(__file__).parents[2]
OPTION_LINES = [line for line in study_template().splitlines() if line.startswith("# ")][1:]
VALIDATOR = Draft202012Validator(study_schema())


def refused(tmp_path: Path, content: str | bytes) -> str:
    """The one message for a file; whatever it holds."""
    file = tmp_path / "study.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = time.process_time()
    with pytest.raises(UsageError) as caught:
        make_study({}, file)
    assert time.process_time() - before < 20
    message = str(caught.value)
    assert caught.value.exit_code == 2 and len(message) < 2000
    return message.replace(str(file), "FILE")


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system ['touch {trap}']",
        "!!python/object/new:subprocess.Popen [['touch', '{trap}']]",
        "!!python/name:os.system",
        "[1, {{a: !!python/module:os x}}]",
        "!mine {{a: 1}}",
        "!!binary aGk=",
    ],
)
def test_no_object_is_ever_made(tmp_path: Path, value: str) -> None:
    trap = tmp_path / "trap"
    message = refused(tmp_path, f"seeds: 3\nbenchmark_options: {value.format(trap=trap)}\n")
    assert message.startswith("--config FILE line 2: !")
    assert message.endswith(
        "is refused: a study file is plain data (numbers, texts, lists, mappings)"
    )
    assert "\n" not in message and not trap.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("seeds: 3\nbudget: 1\nseeds: 4", "gives 'seeds' twice, line 1 and line 3"),
        ("data-seed: 3\ndata_seed: 4", "gives 'data_seed' twice, line 1 and line 2"),
        ("benchmark_options: {a: 1, a: 2}", "gives 'a' twice"),
        ("goal: &a [*a]", "line 1: a value that contains itself"),
        ("goal: " + "[" * 5000, "nested too deeply"),
        ("seeds: [" + "1, " * 200_000 + "1]", "is larger than 256 KiB"),
        ("seeds: " + "9" * 5000, "a number of 5000 characters"),
        ("seeds: 0x" + "f" * 5000, "a number of 5002 characters"),
        ("seeds: 1000000000", "at most 100000 of them, not 1000000000"),
        ("budget: 1:30", "takes 1:30 for a number to the base 60: write a decimal number"),
        ("goal: 2026-13-45", "holds a value that cannot be read"),
        ("a: [", "is not valid YAML: "),
        ("a: 1\n---\nb: 2", "is not valid YAML: but found another document, line 2"),
        ("? [a]\n: 1", "is not valid YAML: found unhashable key"),
        (b"goal: \xff\xfe\xfa", "is not UTF-8 text"),
        ("goal: \x07", "is not valid YAML"),
        ("3", "must map fields to values"),
        ("1: 2", "unknown field '1' in FILE"),
        ("workers_per_trail: 2", "Did you mean 'workers_per_trial'?"),
        ("retrain: yes", "^retrain: input should be a number, not True$"),
        ("budget: on", "^budget: input should be a number, not True$"),
        ("budget: much", "^budget: input should be a valid number, not 'much'$"),
        ("workers_per_trial: 1.5", "^workers-per-trial: .* valid integer.*, not 1.5$"),
        ("workers_per_trial: [2]", r"^workers-per-trial: .* valid integer, not \[2\]$"),
        ("out: 3", "^out: must be a path, not 3$"),
        ("executor: cloud", "^executor: input should be 'cluster' or 'virtual', not 'cloud'$"),
        ("charge_searcher: no", "^charge-searcher: .* 'fixed' or 'measured', not False$"),
        (
            "benchmark_options: {model: [1]}",
            r"^benchmark-options.model: .*valid boolean or .*valid integer or .*, not \[1\]$",
        ),
        ("goal: [" + "a, " * 50_000 + "a]", "^goal: input should be a valid string, not "),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_wrong_file(tmp_path: Path, content: str | bytes, message: str) -> None:
    said = refused(tmp_path, content)
    pattern = message if message.startswith("^") else re.escape(message)
    assert re.search(pattern, said), said


def test_a_bomb_of_aliases(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 30)]
    assert "holds more than 100,000 values with its aliases" in refused(tmp_path, "\n".join(lines))


def test_a_few_aliases_are_welcome(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("seeds: &two [0, 1]\ntargets: *two\n")
    assert make_study({}, file).targets == [0.0, 1.0]


def test_the_end_of_a_device_without_end() -> None:
    with pytest.raises(UsageError, match=f"larger than {MAX_BYTES // 1024} KiB"):
        read_study_file(Path("/dev/zero"))


@given(st.text() | st.binary(max_size=200))
def test_any_file_is_fields_or_one_message(content: str | bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        Path(file.name).write_bytes(data)
        try:
            assert isinstance(read_study_file(Path(file.name)), dict)
        except UsageError as error:
            assert str(error).startswith("--config")


# What init writes ------------------------------------------------------------------------------


def init(*words: object) -> Any:
    return CliRunner().invoke(app, ["init", *map(str, words)])


def test_what_init_writes_is_the_default_study(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert init(file).output.split() == [str(file), str(tmp_path / "study.schema.json")]
    assert make_study({}, file) == make_study({}, None) == StudyConfig()
    assert file.read_text().startswith("# yaml-language-server: $schema=study.schema.json\n")


@given(st.sets(st.integers(0, len(OPTION_LINES) - 1)))
def test_the_defaults_in_it_are_the_defaults(chosen: set[int]) -> None:
    text = study_template()
    for index in chosen:
        text = text.replace(f"\n{OPTION_LINES[index]}\n", f"\n{OPTION_LINES[index][2:]}\n")
    given_options = {line.split(":")[0][2:] for line in map(OPTION_LINES.__getitem__, chosen)}
    assert set(yaml.safe_load(text) or {}) == given_options
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        assert make_study({}, Path(file.name)) == StudyConfig()


def test_every_option_is_in_it_with_its_meaning() -> None:
    assert [line[2:].split(":")[0] for line in OPTION_LINES] == list(StudyConfig.model_fields)
    for name, field in StudyConfig.model_fields.items():
        assert field.description, f"StudyConfig.{name} needs a text below it: it is published"


def test_every_option_is_a_flag_too() -> None:
    shown = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    for name in StudyConfig.model_fields:
        assert FLAGS.get(name, f"--{name.replace('_', '-')}") in shown


def test_init_replaces_nothing_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    assert init(file).exit_code == 0
    assert init(file).exit_code == 0, "the same content"
    file.write_text("seeds: 3\n")
    result = init(file)
    assert isinstance(result.exception, UsageError)
    assert "is there with other content: give another name, or --force" in str(result.exception)
    assert file.read_text() == "seeds: 3\n"
    assert init(file, "--force").exit_code == 0
    assert file.read_text() == study_template()
    for wrong in (tmp_path, tmp_path / "no" / "such.yaml", tmp_path / "study.schema.json"):
        assert isinstance(init(wrong).exception, UsageError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.schema.json", "study.yaml"]


# The published schema --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["study.yaml", "study.schema.json"])
def test_the_published_files_are_up_to_date(name: str, tmp_path: Path) -> None:
    """Else: ``python -m harness init docs/study.yaml --force``."""
    assert init(tmp_path / "study.yaml").exit_code == 0
    assert (ROOT / "docs" / name).read_text() == (tmp_path / name).read_text()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(json.loads((ROOT / "docs/study.schema.json").read_text()))


VALUES = (
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(-2, 9) | st.text("ab0,.", max_size=4)
)
ANY_FIELDS = st.dictionaries(
    st.sampled_from([*StudyConfig.model_fields, "seed"]),
    VALUES | st.lists(VALUES, max_size=3) | st.sampled_from(["virtual", "cluster", "fixed", "all"]),
    max_size=4,
)


@example({"track": ""})
@given(ANY_FIELDS)
def test_schema_and_reader_agree(fields: dict[str, Any]) -> None:
    """What the schema lets pass is a study. (The reader takes more: ``"3"`` for 3, ``data-seed``,
    and an option without a value.)"""
    text = any(isinstance(fields.get(name), str) for name in ("targets", "seeds"))
    if text or not VALIDATOR.is_valid(fields):
        return
    make_study({name: value for name, value in fields.items() if value is not None}, None)


@pytest.mark.parametrize(
    ("content", "valid"),
    [
        ("{}", True),
        ("seeds: 3\nbudget: 0.5\nstrategies: [pbt, random/asha]", True),
        ("strategies: all\nseeds: [0, 5, 7]\ntargets: 0.9\ndecisions: one", True),
        ("executor: virtual\ndevices: 64\ncosts: null", True),
        ("benchmark_options: {model: cnn, max_epochs: 3}\nout: runs/x", True),
        ("buget: 1", False),
        ("budget: 0", False),
        ("seeds: []", False),
        ("seeds: [1, 1]", False),
        ("devices: 64", False),
        ("executor: virtual\nstorage: s3://bucket/x", False),
        ("executor: cloud", False),
        ("workers_per_trial: true", False),
        ("benchmark_options: {model: [1]}", False),
    ],
)
def test_schema_and_reader_on_files(tmp_path: Path, content: str, valid: bool) -> None:
    assert VALIDATOR.is_valid(yaml.safe_load(content)) == valid
    file = tmp_path / "study.yaml"
    file.write_text(content)
    if valid:
        make_study({}, file)
    else:
        with pytest.raises(UsageError):
            make_study({}, file)
