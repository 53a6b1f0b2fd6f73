#!/usr/bin/env bash
# Trains one arm with one seed, or goes on from its newest checkpoint: train.sh ARM SEED [further settings of verl]
# RECIPE names a case of recipes.sh. What it takes is printed first; with CHECK=1, that is all.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/arms.sh" "${1:?name an arm}"
. "$here/recipes.sh"
. "$here/sessions.sh"
arm=$1 seed=${2:?give a seed}
shift 2
gpus=${GPUS:-$gpus}

settings=(
  algorithm.adv_estimator=grpo # verl's default is gae
  data.train_files="$PWD/data/train.parquet"
  data.val_files="$PWD/data/val.parquet"
  data.filter_overlong_prompts=true
  data.truncation=error
  data.seed="$seed"
  actor_rollout_ref.model.path="${MODEL:-$model}"
  actor_rollout_ref.model.use_remove_padding=true
  actor_rollout_ref.model.enable_gradient_checkpointing=true
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
  actor_rollout_ref.actor.use_kl_loss=true
  actor_rollout_ref.actor.kl_loss_coef=0.001
  actor_rollout_ref.actor.kl_loss_type=low_var_kl
  actor_rollout_ref.actor.fsdp_config.seed="$seed"
  actor_rollout_ref.rollout.name=vllm
  actor_rollout_ref.rollout.n=8 # the group that is compared
  actor_rollout_ref.rollout.temperature=0.7
  actor_rollout_ref.rollout.tensor_model_parallel_size=$((gpus > 1 ? gpus / 2 : 1))
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16
  actor_rollout_ref.rollout.seed="$seed"
  actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16
  # The rollouts of a prompt are judged together, in the process that rolled them out; reward workers are idle.
  +actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager
  reward.num_workers=1
  +calipers.seed="$seed"
  +calipers.ledger="$PWD/ledgers/$arm-$seed.db"
  +calipers.monitor=true # alarms about the judge on stderr; calipers watch ledgers/$arm-$seed.db shows its state
  +calipers.patience=8   # ends a run whose judge is gone
  trainer.nnodes=1
  trainer.n_gpus_per_node="$gpus"
  trainer.total_training_steps="${STEPS:-$steps}"
  trainer.total_epochs=1000
  trainer.save_freq=50
  trainer.max_actor_ckpt_to_keep=1
  trainer.test_freq=25
  trainer.logger=[console,tensorboard]
  trainer.project_name=judges
  trainer.experiment_name="$arm-$seed"
  trainer.default_local_dir="$PWD/checkpoints/$arm-$seed"
  trainer.rollout_data_dir="$PWD/rollouts/$arm-$seed"
)
settings+=("${recipe[@]}" "${judge[@]}" "$@")
mkdir -p ledgers
run "${PYTHON:-python}" "$here/estimate.py" "${settings[@]}"
[ -n "${CHECK:-}" ] || run "${PYTHON:-python}" -m verl.trainer.main_ppo "${settings[@]}"
