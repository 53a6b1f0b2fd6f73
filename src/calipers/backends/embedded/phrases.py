"""Patterns for phrases in a few languages: refusing, hedging, claiming success, admitting failure, addressing the
judge.

The patterns are deliberately rough: alternatives of plain words, which need little backtracking. Every pattern expects
text from ``normalized_speech``. Patterns for long texts begin with plain letters, which the engine finds about ten
times faster than a word boundary.
"""

import re


def normalized_speech(text: str) -> str:
    """Return a candidate's ``text`` in lower case, with straight apostrophes, as the embedded backend's phrase patterns
    expect it.
    """
    return text.lower().replace("’", "'")


REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry,? but|unable|not able)|i (?:can(?:'t|not| not)|won't|will not|must decline)|"
    r"as an ai|unfortunately,? i (?:can|am)|je ne peux pas|no puedo|ich kann (?:\w+ )?nicht|não posso)\b|"
    r"我(?:不能|无法|無法)|抱歉|很遗憾|申し訳|できません|할 수 없|죄송",
)
HEDGE = re.compile(
    r"sorry|apologi[sz]e|apologies|not sure|i think|i guess|maybe|perhaps|i don't know|unclear|might be|"
    r"désolé|lo siento|leider|desculpe|抱歉|对不起|對不起|可能|也许|すみません|わかりません|죄송|모르",
)
SUCCESS = re.compile(
    r"\b(?:success(?:ful|fully)?|done|completed?|has been|have been|is now|booked|confirmed|fixed|all set|passed"
    r"|updated)\b|"
    r"成功|完成|已经|已經|完了|しました|완료",
)
ADMITTED_FAILURE = re.compile(
    r"\b(?:fail(?:ed|s|ure)?|error|unable|could ?n[o']t|can ?n[o']t|can't|not (?:able|possible|available|enough|found)|"
    r"unfortunately|issue|problem|declined|rejected)\b|失败|失敗|错误|錯誤|无法|無法|エラー|실패|오류",
)
HANDOVER = re.compile(r"transfer|escalat|hand_?over|handoff|human_agent")
TO_JUDGE = re.compile(
    r"(?:ignore|disregard|forget) (?:all |any |every |the |your )*(?:previous|prior|above|earlier|other) "
    r"(?:instructions?|prompts?|rubrics?|candidates?|trajector(?:y|ies)|answers?)\b|"
    r"(?:dear|note to (?:the )?|attention,?) ?(?:judges?|graders?|evaluators?)\b|"
    r"(?:score|rate|grade|rank|give|award) (?:this|me) (?:\w+ )?(?:(?:a|an|as|at|the|score|of|with) )*"
    r"(?:100|10/10|highest|full marks|perfect|first|maximum|top|best)\b|"
    r"忽略.{0,10}(?:指令|指示|说明|說明)|(?:给|給|打).{0,6}(?:满分|滿分|最高分)",
)
