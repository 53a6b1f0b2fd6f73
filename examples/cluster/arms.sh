# shellcheck shell=bash disable=SC2034
# The arms of the study: what calipers is told in each. train.sh and evaluate.sh read the arm's settings from here.
# Add an arm by adding a case; everything else stays the same in all arms, so that only the judge differs.

case ${1:?name an arm of arms.sh} in
  api) # a judge behind an API grades each rollout by its row's criteria
    judge=(+calipers.judge=openai/gpt-5-mini +calipers.protocol=checklist +calipers.grading.normaliser=ruscarl_batch)
    ;;
  own) # a judge that you serve with vLLM, on GPUs of its own: vllm serve Qwen/Qwen3-32B --port 8000
    judge=(+calipers.judge=vllm/Qwen/Qwen3-32B "+calipers.base_url=http://${JUDGE_HOST:-127.0.0.1}:8000/v1"
      +calipers.protocol=checklist +calipers.grading.normaliser=ruscarl_batch
      +calipers.params.chat_template_kwargs.enable_thinking=false)
    ;;
  compare) # the API's judge compares the rollouts of a prompt, in two orders
    # A single response to a validation prompt has nothing to be compared with.
    judge=(+calipers.judge=openai/gpt-5-mini +calipers.orders=2 trainer.val_before_train=false trainer.test_freq=-1)
    ;;
  *)
    echo "arms.sh has no arm $1" >&2
    exit 2
    ;;
esac
