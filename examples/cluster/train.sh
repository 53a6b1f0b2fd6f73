#!/usr/bin/env bash
# Trains one arm with one seed, or goes on from its newest checkpoint: train.sh ARM SEED [further settings of verl]
# GRPO as the RuscaRL study trains Qwen2.5-7B-Instruct: 64 prompts x 8 responses, KL loss, 350 steps.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/arms.sh" "${1:?name an arm}"
arm=$1 seed=${2:?give a seed}
shift 2
gpus=${GPUS:-8}

settings=(
  algorithm.adv_estimator=grpo # verl's default is gae
  data.train_files="$PWD/data/train.parquet"
  data.val_files="$PWD/data/val.parquet"
  data.train_batch_size=64
  data.max_prompt_length=4096
  data.max_response_length=4096
  data.filter_overlong_prompts=true
  data.truncation=error
  data.seed="$seed"
  actor_rollout_ref.model.path="${MODEL:-Qwen/Qwen2.5-7B-Instruct}"
  actor_rollout_ref.model.use_remove_padding=true
  actor_rollout_ref.model.enable_gradient_checkpointing=true
  actor_rollout_ref.actor.optim.lr=1e-6
  actor_rollout_ref.actor.ppo_mini_batch_size=32
  actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4
  actor_rollout_ref.actor.use_kl_loss=true
  actor_rollout_ref.actor.kl_loss_coef=0.001
  actor_rollout_ref.actor.kl_loss_type=low_var_kl
  actor_rollout_ref.actor.fsdp_config.seed="$seed"
  actor_rollout_ref.rollout.name=vllm
  actor_rollout_ref.rollout.n=8 # the group that is compared
  actor_rollout_ref.rollout.temperature=0.7
  actor_rollout_ref.rollout.tensor_model_parallel_size=$((gpus > 1 ? gpus / 2 : 1))
  actor_rollout_ref.rollout.gpu_memory_utilization=0.6
  actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=16
  actor_rollout_ref.rollout.seed="$seed"
  actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=16
  actor_rollout_ref.ref.fsdp_config.param_offload=true
  # The rollouts of a prompt are judged together, in the process that rolled them out; reward workers are idle.
  +actor_rollout_ref.rollout.agent.agent_loop_manager_class=calipers.trainers.verl.AgentLoopManager
  reward.num_workers=1
  +calipers.seed="$seed"
  +calipers.ledger="$PWD/ledgers/$arm-$seed.db"
  +calipers.monitor=true # alarms about the judge on stderr; calipers watch ledgers/$arm-$seed.db shows its state
  +calipers.patience=8   # ends a run whose judge is gone
  trainer.nnodes=1
  trainer.n_gpus_per_node="$gpus"
  trainer.total_training_steps="${STEPS:-350}"
  trainer.total_epochs=1000
  trainer.save_freq=50
  trainer.test_freq=25
  trainer.logger=[console,tensorboard]
  trainer.project_name=judges
  trainer.experiment_name="$arm-$seed"
  trainer.default_local_dir="$PWD/checkpoints/$arm-$seed"
  trainer.rollout_data_dir="$PWD/rollouts/$arm-$seed"
)
mkdir -p ledgers
exec "${PYTHON:-python}" -m verl.trainer.main_ppo "${settings[@]}" "${judge[@]}" "$@"
