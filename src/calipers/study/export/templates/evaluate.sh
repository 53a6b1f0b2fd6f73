#!/usr/bin/env bash
# Merges the newest checkpoint of a run, serves it, and collects its responses: evaluate.sh RUN
# The run `base` is the policy before training.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
load_run "${1:?name a run}"
run=$1
mkdir -p "results/$run"

model=$MODEL
served=base
if [ "$run" != base ]; then
  # The step is in all names, so that nothing of an older checkpoint is taken for this one's.
  served=$run-step$(newest_step "$run")
  model=models/$served
fi
# The responses to these data sets are there already, if that is what the last line of this script left.
if cmp --silent evaluation.txt "results/$run/$served.evaluated"; then exit 0; fi
if [ "$run" != base ] && [ ! -d "$model" ]; then
  # verl unpickles the checkpoint: merge only what was trained here.
  rm -rf "$model.part"
  python -m verl.model_merger merge --backend fsdp --target_dir "$model.part" \
    --local_dir "checkpoints/$run/global_step_$(newest_step "$run")/actor"
  mv "$model.part" "$model"
fi
options=(--served-model-name "$served")
if [ -d "$model/lora_adapter" ]; then
  # verl's merger leaves the adapter beside the base weights.
  options=(--served-model-name weights --enable-lora --max-lora-rank 64 --lora-modules "$served=$model/lora_adapter")
fi
[ -z "$CHAT_TEMPLATE" ] || options+=(--chat-template "$CHAT_TEMPLATE")

setsid vllm serve "$model" --host 127.0.0.1 --port "$POLICY_PORT" \
  --tensor-parallel-size "$TENSOR_PARALLEL" "${options[@]}" >"logs/policy-$run.log" 2>&1 &
server=$!
trap 'stop "$server"' EXIT
trap 'exit 130' INT TERM
wait_for_server "$POLICY_PORT" "$server" "logs/policy-$run.log"

asked=(--base-url "http://127.0.0.1:$POLICY_PORT/v1" --model "vllm/$served" --max-tokens "$MAX_TOKENS" "${PARAMETERS[@]}")
# Exit code 1: some responses are missing. They are collected when this script is repeated.
complete=yes
collect() { "$@" </dev/null || { [ $? = 1 ] || fail "$1 $2 has failed"; complete=no; }; }
# evaluation.txt has a line for each data set: name, responses to a prompt, who decides.
while read -r name samples _; do
  if [ "$name" = ifeval ]; then
    collect calipers ifeval --input downloads/ifeval/input_data.jsonl --out "results/$run/ifeval.responses.jsonl" --json \
      --temperature 0 "${asked[@]}" >"results/$run/ifeval.json"
  else
    collect calipers generate "data/$name.val.parquet" -o "results/$run/$name.jsonl" --form groups --n "$samples" \
      --sampling-seed 0 --temperature 0.7 --top-p 0.8 --param top_k=20 "${asked[@]}"
  fi
done <evaluation.txt
[ "$complete" = yes ] || fail "some responses of $run are missing"
cp evaluation.txt "results/$run/$served.evaluated"
say "responses of $run are collected"
