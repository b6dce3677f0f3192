"""The examples for clusters: valid for what reads them, and in step with this project."""

from __future__ import annotations

import copy
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import ray
import yaml
from typer.testing import CliRunner

from harness.cli import app

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
FILES = {name: (DEPLOY / name).read_text() for name in ("cluster.yaml", "rayjob.yaml", "slurm.sh")}
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PINNED_RAY = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)[1]  # type: ignore[index]

SBATCH_OPTIONS = {
    "array", "account", "comment", "constraint", "cpus-per-gpu", "cpus-per-task", "error",
    "exclude", "exclusive", "gpus", "gpus-per-node", "gpus-per-task", "gres", "job-name",
    "mail-type", "mail-user", "mem", "mem-per-cpu", "nodes", "ntasks", "ntasks-per-node",
    "open-mode", "output", "partition", "qos", "requeue", "reservation", "signal", "time",
}  # fmt: skip
"""Of sbatch's manual page, what a script like this one may need."""


def the_rayjob() -> Any:
    return yaml.safe_load(FILES["rayjob.yaml"])


def pod_templates() -> dict[str, Any]:
    spec = the_rayjob()["spec"]
    cluster = spec["rayClusterSpec"]
    groups = {group["groupName"]: group["template"] for group in cluster["workerGroupSpecs"]}
    head = cluster["headGroupSpec"]["template"]
    return {"submitter": spec["submitterPodTemplate"], "head": head, **groups}


@pytest.mark.parametrize("name", FILES)
def test_its_command_is_a_real_one_on_the_cluster_that_it_started(name: str) -> None:
    # A command in a comment may be broken, as a shell takes it.
    text = re.sub(r" \\\n# +(?=--)", " ", FILES[name])
    commands = re.findall(r"python -m harness (\w+) (.*)", text)
    shown = CliRunner().invoke(app, ["run", "--help"], env={"COLUMNS": "200"}).output
    assert commands
    for command, arguments in commands:
        assert command == "run" and arguments.startswith("--address auto ")
        options = re.findall(r"--[a-z-]+", arguments)
        assert {"--storage", "--out"} <= set(options)
        assert all(option in shown for option in options)


def test_ray_up_takes_the_cluster() -> None:
    """By Ray's schema, and prepared as 'ray up' does before it touches a host."""
    from ray.autoscaler._private.util import prepare_config, validate_config

    schema = json.loads((Path(ray.__file__).parent / "autoscaler/ray-schema.json").read_text())
    config = yaml.safe_load(FILES["cluster.yaml"])
    jsonschema.validate(config, schema)
    prepared = prepare_config(copy.deepcopy(config))
    validate_config(prepared)
    assert prepared["max_workers"] == len(config["provider"]["worker_ips"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**config, "head_hosts": []}, schema)


def test_ray_up_mounts_and_installs_this_project() -> None:
    config = yaml.safe_load(FILES["cluster.yaml"])
    (folder,) = (there for there, here in config["file_mounts"].items() if here == ".")
    _, install, find_data = config["setup_commands"]
    assert f"cd {folder} " in install
    assert_installs_with_the_pinned_versions(install)
    assert f"cd {folder} " in find_data
    assert_finds_the_data(find_data)
    assert config["file_mounts"]["~/.ray/auth_token"] == "~/.ray/auth_token"
    for started in (config["head_start_ray_commands"], config["worker_start_ray_commands"]):
        assert "RAY_AUTH_MODE=token" in started[-1]


def assert_installs_with_the_pinned_versions(command: str) -> None:
    words = shlex.split(command)
    file = words[words.index("--constraint") + 1]
    assert (ROOT / file).exists()
    (extra,) = re.findall(r"\.\[(\w+)\]", words[words.index("--editable") + 1])
    assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text()


def assert_finds_the_data(command: str) -> None:
    """Every node needs it; here it is there."""
    words = shlex.split(command)
    code = words[words.index("-c") + 1]
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_image_has_the_pinned_ray_and_this_project() -> None:
    base = re.search(r"^FROM rayproject/ray:([\d.]+)-py(\d)(\d+)-gpu$", DOCKERFILE, re.M)
    assert base is not None
    assert base[1] == PINNED_RAY == the_rayjob()["spec"]["rayClusterSpec"]["rayVersion"]
    version = re.search(r'requires-python = ">=(\d)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert version is not None and (base[2], base[3]) == (version[1], version[2])
    install, find_data = DOCKERFILE.split("&& pip install", 1)[1].split(" \\\n && ")
    assert_installs_with_the_pinned_versions(install)
    assert_finds_the_data(find_data)
    tag = re.search(r"--tag (\S+)", DOCKERFILE)
    assert tag is not None
    images = {c["image"] for t in pod_templates().values() for c in t["spec"]["containers"]}
    assert images == {tag[1]}


def test_the_rayjob_is_one() -> None:
    schema = json.loads((ROOT / "tests/deploy/rayjob.schema.json").read_text())
    jsonschema.validate(the_rayjob(), schema)
    wrong = the_rayjob()
    wrong["spec"]["rayClusterSpec"]["workerGroups"] = []
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("name", pod_templates())
def test_its_pods_are_kubernetes_pods(name: str) -> None:
    template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}}
    kubernetes_validate.validate(
        {**template, "template": pod_templates()[name]}, "1.33", strict=True
    )


def test_kuberay_makes_the_token_and_asks_with_it() -> None:
    """With one in the pods' environment alone, its own questions would be refused."""
    assert the_rayjob()["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}
    assert "RAY_AUTH" not in FILES["rayjob.yaml"]


def test_its_run_folder_and_its_volumes_are_mounted() -> None:
    for template in pod_templates().values():
        mounts = [
            m["name"] for c in template["spec"]["containers"] for m in c.get("volumeMounts", [])
        ]
        assert mounts == [volume["name"] for volume in template["spec"].get("volumes", [])]
    (head,) = pod_templates()["head"]["spec"]["containers"]
    out = re.search(r"--out (\S+)", the_rayjob()["spec"]["entrypoint"])
    assert out is not None and out[1].startswith(head["volumeMounts"][0]["mountPath"] + "/")


def test_the_slurm_script_is_clean_bash() -> None:
    path = str(DEPLOY / "slurm.sh")
    shellcheck = str(Path(sys.executable).with_name("shellcheck"))
    for command in (["bash", "-n", path], [shellcheck, "--exclude=SC1091", path]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_slurm_script_asks_for_what_slurm_knows() -> None:
    lines = FILES["slurm.sh"].splitlines()
    asked = [line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH ")]
    options = dict(line.split("=", 1) for line in asked)
    assert set(options) <= SBATCH_OPTIONS
    assert options["ntasks-per-node"] == "1", "one raylet a node"
    first_command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    assert not [line for line in lines[first_command:] if line.startswith("#SBATCH")]
    assert "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK" in lines, "one core a node else"
    assert "ray stop" not in re.sub(r"#.*", "", FILES["slurm.sh"]), "ends other jobs' clusters"


@pytest.mark.parametrize("name", FILES)
def test_hosts_are_placeholders(name: str) -> None:
    hosts = re.findall(r"\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io)\b", FILES[name])
    names_of_kinds = {"ray.io", "nvidia.com"}
    assert [host for host in hosts if host not in names_of_kinds and "example" not in host] == []
    assert not re.findall(r"\b(?!127\.|0\.)\d+\.\d+\.\d+\.\d+\b", FILES[name])
