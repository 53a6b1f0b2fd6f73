#!/usr/bin/env bash
# Answers the held-out prompts with a trained policy, and grades the answers: evaluate.sh ARM SEED
# All arms are graded by the same judge, EVALUATOR, which trains none of them: a policy pleases its own judge.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/arms.sh" "${1:?name an arm}"
. "$here/sessions.sh"
name=$1-${2:?give a seed}
: "${EVALUATOR:?name a judge that trains no arm, as in EVALUATOR=anthropic/claude-haiku-4-5}"

# The model behind the provider, without vice or address: the same one under another provider is the same judge.
model_of() {
  local judge=${1//\'/}
  judge=${judge#faulty:} judge=${judge%%\?*} judge=${judge%%@*}
  echo "${judge##*/}"
}
for arm in "${arms[@]}"; do
  . "$here/arms.sh" "$arm"
  for setting in "${judge[@]}"; do
    if [[ $setting == +calipers.judge=* && $(model_of "${setting#*=}") == "$(model_of "$EVALUATOR")" ]]; then
      echo "EVALUATOR=$EVALUATOR is the judge that trains the arm $arm; name another" >&2
      exit 2
    fi
  done
done

checkpoint=checkpoints/$name/global_step_$(cat "checkpoints/$name/latest_checkpointed_iteration.txt")
mkdir -p results models
[ -d "models/$name" ] || run python -m verl.model_merger merge --backend fsdp \
  --local_dir "$checkpoint/actor" --target_dir "models/$name"
served=(--served-model-name "$name")
if [ -d "models/$name/lora_adapter" ]; then # the merger leaves adapters beside the base weights
  served=(--served-model-name weights --enable-lora --max-lora-rank 64 --lora-modules "$name=models/$name/lora_adapter")
fi
start vllm serve "models/$name" "${served[@]}" --host 127.0.0.1 --port 8001 >"results/$name.server.log" 2>&1
server=$!
until curl --silent --fail --output /dev/null http://127.0.0.1:8001/health; do
  kill -0 "$server" || exit 1
  sleep 2
done
# Exit code 1 means that some prompts have no answer; the command, repeated, goes on with them.
run calipers generate data/val.parquet -o "results/$name.jsonl" \
  --model "vllm/$name" --base-url http://127.0.0.1:8001/v1 --temperature 0
run calipers score "results/$name.jsonl" --force -o "results/$name.scores.jsonl" --judge "$EVALUATOR" --protocol checklist
