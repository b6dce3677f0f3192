#!/bin/bash
# A study on a Slurm cluster: Ray on every node of the job, the study on the first.
#   sbatch deploy/slurm.sh --strategies all --seeds 3
# from the project's folder, on a file system that all nodes share, after "make setup data". What
# stands after the script goes to the study. The same command goes on where a job was cut by its limit.
#SBATCH --job-name=tune-bench
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --output=tune-bench-%j.log
#SBATCH --open-mode=append
set -euo pipefail

. .venv/bin/activate
folder=${TUNE_BENCH_FOLDER:-$PWD/runs}
port=$((20000 + SLURM_JOB_ID % 10000))

# Users share nodes: only who has the token may use this job's cluster, and what Ray keeps on a
# node's disk is apart from other jobs'. (No "ray stop" anywhere: it would end theirs, too.)
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
export RAY_TMPDIR=/tmp/ray-$SLURM_JOB_ID
# Since Slurm 22.05 srun does not take --cpus-per-task from sbatch: Ray would be kept to one core.
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
mkdir -p "$folder"

on_node() { srun --nodes=1 --ntasks=1 --overlap --nodelist="$1" "${@:2}"; }
on_every_node() { srun --nodes="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --overlap "$@"; }

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=$(on_node "${nodes[0]}" hostname --ip-address | awk '{print $1}')
export RAY_ADDRESS=$head:$port  # what --address auto means here

on_every_node mkdir -p -m 700 "$RAY_TMPDIR"
share=(--num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" --block)
on_node "${nodes[0]}" ray start --head --node-ip-address="$head" --port="$port" \
  --dashboard-port=$((port + 10000)) --ray-client-server-port=$((port + 20000)) "${share[@]}" &
for node in "${nodes[@]:1}"; do
  on_node "$node" ray start --address="$RAY_ADDRESS" "${share[@]}" &
done

# Until all nodes are there: a study takes what it finds at its start.
for _ in $(seq 60); do
  there=$(ray status 2> /dev/null | grep -c ' node_') || true
  [ "$there" -ge "${#nodes[@]}" ] && break
  sleep 5
done
if [ "$there" -lt "${#nodes[@]}" ]; then
  echo "only $there of ${#nodes[@]} nodes joined within five minutes" >&2
  exit 1
fi

python -m harness run --address auto --storage "$folder/storage" --out "$folder/study" "$@" &
study=$!
trap 'kill -TERM "$study"' TERM  # two minutes before the limit: end as with Ctrl-C
while kill -0 "$study" 2> /dev/null; do wait "$study" && code=0 || code=$?; done
exit "${code:-0}"
