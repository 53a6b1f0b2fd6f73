#!/usr/bin/env bash
# Answers the held-out prompts with a trained policy, and grades the answers: evaluate.sh ARM SEED
# All arms are graded by the same judge (EVALUATOR), whatever judge trained them.
set -euo pipefail
run=${1:?name an arm}-${2:?give a seed}
checkpoint=checkpoints/$run/global_step_$(cat "checkpoints/$run/latest_checkpointed_iteration.txt")
mkdir -p results models

[ -d "models/$run" ] || python -m verl.model_merger merge --backend fsdp \
  --local_dir "$checkpoint/actor" --target_dir "models/$run"
vllm serve "models/$run" --served-model-name "$run" --host 127.0.0.1 --port 8001 >"results/$run.server.log" 2>&1 &
server=$!
trap 'kill "$server"' EXIT
until curl --silent --fail --output /dev/null http://127.0.0.1:8001/health; do
  kill -0 "$server" || exit 1
  sleep 2
done
# Exit code 1 means that some prompts have no answer; the command, repeated, goes on with them.
calipers generate data/val.parquet -o "results/$run.jsonl" \
  --model "vllm/$run" --base-url http://127.0.0.1:8001/v1 --temperature 0
calipers score "results/$run.jsonl" -o "results/$run.scores.jsonl" \
  --judge "${EVALUATOR:-openai/gpt-5-mini}" --protocol checklist
