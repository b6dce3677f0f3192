"""A benchmark file whose trainings tell everything they know when they fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pydantic.dataclasses import dataclass

from harness.contract import Dataset, Session, Worker
from tests.harness.virtual_toys import Clockwork, ClockworkSession

PASSWORD = "hunter2-of-the-bucket"
URL = f"s3://studies:{PASSWORD}@bucket.example/run"


class LeakingSession(ClockworkSession):
    def train_epoch(self) -> Mapping[str, float]:
        print(f"no access to {URL}", file=sys.stderr)
        raise RuntimeError(f"no access to {URL} with {dict(os.environ)}")


@dataclass(frozen=True)
class Leaking(Clockwork):
    name = "leaking"

    def session(self, worker: Worker, dataset: Dataset, data_seed: int) -> Session:
        return LeakingSession(1.0)
