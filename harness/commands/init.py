"""``init``: write a commented study file and the JSON Schema that editors check it with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.contract import UsageError
from harness.contract.files import write_atomically


def init(
    file: Annotated[Path, typer.Argument(help="The study file to write.", metavar="[FILE]")] = Path(
        "study.yaml"
    ),
    force: Annotated[
        bool, typer.Option("--force", help="Replace files that are there with other content.")
    ] = False,
) -> None:
    """Write a study file with every option, its default and its meaning, for `run --config`.

    Beside it goes study.schema.json, by which editors complete and check study files.
    """
    from harness.study_template import SCHEMA_FILE, schema_text, study_template

    schema_file = file.with_name(SCHEMA_FILE)
    if file == schema_file:
        raise UsageError(f"{file} is the schema's name: give the study file another one")
    contents = {file: study_template(), schema_file: schema_text()}
    if not force:
        for path, content in contents.items():
            _refuse_other_content(path, content)
    for path, content in contents.items():
        try:
            write_atomically(path, content)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None
        typer.echo(path)


def _refuse_other_content(path: Path, content: str) -> None:
    if path.is_dir():
        raise UsageError(f"{path} is a folder: give the name of a file")
    if path.exists() and path.read_bytes() != content.encode():
        raise UsageError(f"{path} is there with other content: give another name, or --force")
