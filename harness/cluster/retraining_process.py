"""The retrainings' process: ``python -m harness.cluster.retraining_process STATUS_FD < spec.json``.

Its standard streams are the log; each retraining goes as a JSON line to the file descriptor given.
"""

from __future__ import annotations

import os
import sys

import ray

from harness.cluster.process import connect
from harness.cluster.retraining import retrain
from harness.cluster.spec import ClusterRetrainSpec, JobDone
from harness.contract.records import Retraining


def main(status_fd: int) -> None:
    spec = ClusterRetrainSpec.model_validate_json(sys.stdin.read())
    connect(spec)
    with os.fdopen(status_fd, "w", buffering=1) as pipe:

        def report(index: int, retraining: Retraining) -> None:
            done = JobDone(job=index, retraining=retraining)
            pipe.write(done.model_dump_json() + "\n")

        retrain(spec, report)
    ray.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]))
