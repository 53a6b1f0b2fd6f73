# shellcheck shell=bash disable=SC2034
# How a policy is trained, by RECIPE: its model, GPUs and steps, and verl's settings that follow from them.

case ${RECIPE:=eight-gpus} in
  eight-gpus) # as the RuscaRL study trains Qwen2.5-7B-Instruct
    model=Qwen/Qwen2.5-7B-Instruct gpus=8 steps=350
    recipe=(
      data.train_batch_size=64
      data.max_prompt_length=4096
      data.max_response_length=4096
      actor_rollout_ref.actor.optim.lr=1e-6
      actor_rollout_ref.actor.ppo_mini_batch_size=32
      actor_rollout_ref.rollout.gpu_memory_utilization=0.6
      actor_rollout_ref.ref.fsdp_config.param_offload=true
    )
    ;;
  one-gpu) # adapters of a small policy, short responses
    model=Qwen/Qwen2.5-0.5B-Instruct gpus=1 steps=200
    recipe=(
      data.train_batch_size=16
      data.max_prompt_length=2048
      data.max_response_length=1024
      actor_rollout_ref.model.lora_rank=32
      actor_rollout_ref.model.lora_alpha=32
      actor_rollout_ref.actor.optim.lr=1e-5
      actor_rollout_ref.actor.ppo_mini_batch_size=8
      actor_rollout_ref.rollout.gpu_memory_utilization=0.4
      actor_rollout_ref.rollout.load_format=safetensors # vLLM loads the base weights itself, and gets the adapters
      actor_rollout_ref.rollout.layered_summon=true
    )
    ;;
  *)
    echo "recipes.sh has no recipe $RECIPE; it has eight-gpus and one-gpu" >&2
    exit 2
    ;;
esac
