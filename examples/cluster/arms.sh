# shellcheck shell=bash disable=SC2034
# The arms of the study: what calipers is told in each. The other scripts read an arm's settings from here.
# Add an arm to the list and as a case; everything else stays the same in all arms, so that only the judge differs.

arms=(api own compare longer lost zero)

# The arms that compare the rollouts of a prompt, two orders each. A single response to a validation prompt has nothing
# to be compared with.
comparing=(+calipers.orders=2 trainer.val_before_train=false trainer.test_freq=-1)

case ${1:?name an arm of arms.sh} in
  api) # a judge behind an API grades each rollout by its row's criteria
    judge=(+calipers.judge=openai/gpt-5-mini +calipers.protocol=checklist +calipers.grading.normaliser=ruscarl_batch)
    ;;
  own) # a judge that you serve with vLLM, on GPUs of its own: vllm serve Qwen/Qwen3-32B --port 8000
    judge=(+calipers.judge=vllm/Qwen/Qwen3-32B "+calipers.base_url=http://${JUDGE_HOST:-127.0.0.1}:8000/v1"
      +calipers.protocol=checklist +calipers.grading.normaliser=ruscarl_batch
      +calipers.params.chat_template_kwargs.enable_thinking=false)
    ;;
  compare) # the API's judge compares the rollouts of a prompt: the clean arm of the three below
    judge=(+calipers.judge=openai/gpt-5-mini "${comparing[@]}")
    ;;
  longer) # the same judge, which adds a tenth of the scale for each doubling of length (faulty.py)
    judge=("+calipers.judge='faulty:openai/gpt-5-mini?kind=LengthBias&per_doubling=0.1'" "${comparing[@]}")
    ;;
  lost) # the same judge, which loses three scores in a hundred, more often those of long rollouts: no signal.
    # A fifth of the questions loses one, and calipers asks about it twice more, in vain.
    judge=("+calipers.judge='faulty:openai/gpt-5-mini?kind=Unread&rate=0.03&per_doubling=1'" "${comparing[@]}")
    ;;
  zero) # as lost, but a lost score is a reward of 0
    judge=("+calipers.judge='faulty:openai/gpt-5-mini?kind=Unread&rate=0.03&per_doubling=1'" "${comparing[@]}"
      +calipers.reward=failures_as_zero)
    ;;
  *)
    echo "arms.sh has no arm $1; it has ${arms[*]}" >&2
    exit 2
    ;;
esac
