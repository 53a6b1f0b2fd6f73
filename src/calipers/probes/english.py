"""Phrases that address a judge in English, as rules. Data, in words of our own; not responsible for how it is searched."""

from __future__ import annotations

from typing import Final

from calipers.probes.rule import rule

_WHO = (
    r"(?:judges?|graders?|evaluators?|raters?|scorers?|assessors?|annotators?|autograders?|reward model|grading model)"
)
_WHOSE = r"(?:this|my|our|the (?:above|following|present|current|last|first|second|preceding))"
_PIECE = r"(?:answer|response|solution|attempt|trajectory|candidate|output|work|submission|reply|completion|rollout|transcript)"
_MARK = r"(?:score|scores|rating|grade|marks?|points?|reward)"
_MOST = (
    r"(?:100(?:\.0)?(?: ?%| ?/ ?100| out of 100| points?)?|10 ?/ ?10|10 out of 10|5 ?/ ?5|full|highest|maximum|maximal"
    r"|max|perfect|top|best(?: possible)?|five stars|a\+)"
)

_PERSON = r"(?:evaluators?|graders?|raters?|scorers?|assessors?|examiners?|autograders?|whoever (?:rates|grades|marks|evaluates|judges|scores)|reward model)"
_PRAISE = (
    r"(?:(?:top|full|maximum|max|highest|perfect|best|all) (?:marks?|scores?|points?|ratings?|grades?|credit)|100|9[5-9]|ninety|hundred"
    r"|five[- ]stars?|flawless|no errors|disqualif\w+)"
)

_NAMED = "judge judges grader graders evaluator evaluators rater raters scorer scorers assessor assessors annotator annotators autograder autograders model"
_OFF = (
    "ignore ignores ignoring disregard disregards disregarding forget forgetting override overriding bypass bypassing"
)
_AWARDS = (
    "give award assign grant output return report write record enter score rate grade rank select choose prefer mark"
)
_MARKS = "score scores rating grade mark marks point points reward"
_TOP = "100 10 5 full highest maximum maximal max perfect top best five a+ number first above"
_PIECES = "answer answers response responses solution solutions attempt attempts trajectory trajectories candidate candidates output work submission submissions reply completion rollout transcript"


ENGLISH: Final = (
    rule(
        "instruction",
        (
            _OFF,
            "instruction instructions rule rules rubric rubrics criteria standards prompt prompts guideline guidelines directions directives",
        ),
        r"\b(?:ignor|disregard|forget|overrid|bypass)(?:e|es|ing|s)? (?:(?:all|any|every|each|of|the|these|those|your|my)"
        r" ){0,3}(?:(?:previous|prior|above|earlier|original|preceding|initial|existing|system|other|given|grading|scoring"
        r"|evaluation|judging)(?: and |,? )?){1,3}(?:instructions?|rules|rubrics?|criteria|standards|prompts?|guidelines"
        r"|directions|directives)\b",
    ),
    rule(
        "instruction",
        (
            _OFF,
            "rubric grading scoring evaluation judging other",
        ),
        r"\b(?:ignor|disregard|forget|overrid|bypass)(?:e|ing)? (?:(?:all|any|the|your|this|that|of|whatever) ){0,3}"
        r"(?:rubric|grading|scoring|evaluation (?:criteria|rules|guidelines)|judging|other (?:attempts|candidates|trajectories))\b",
    ),
    rule(
        "instruction",
        (
            _NAMED,
            "note notes message messages instruction instructions attention memo memos hint hints reminder reminders request requests appeal information",
        ),
        rf"\b(?:note|message|instructions?|attention|memo|hint|reminder|request|appeal|information)s? (?:to|for) (?:(?:the|all"
        rf"|any|our|my|every|llm|ai|human) ){{0,3}}{_WHO}\b",
    ),
    rule(
        "instruction",
        (
            _NAMED,
            "please you give award assign score rate grade rank note kindly this the i my ignore remember select choose prefer",
        ),
        rf"(?:\bdear|\bhey|\bhello|\battention|\bto the|\bas the|\bas an?|\byou are (?:the|an?)|^|[\[(<#*\"'.!?:] ?)"
        rf"(?: (?:llm|ai|impartial|honou?rable|automated?|fair))* ?{_WHO} ?[,:!\])] ?(?:please|you|give|award|assign|score|rate"
        rf"|grade|rank|note|kindly|this|the|i |my|ignore|remember|select|choose|prefer)",
    ),
    rule(
        "instruction",
        (
            _AWARDS,
            _MARKS,
            _TOP,
        ),
        rf"\b(?:give|award|assign|grant|output|return|report|write|record|enter)(?: \S+){{0,8}}? (?:{_MOST} {_MARK}"
        rf"|{_MARK}(?: \S+){{0,3}}? {_MOST})(?: \S+){{0,4}}? (?:to|for|on) (?:{_WHOSE}|me|it|us)\b",
    ),
    rule(
        "instruction",
        (
            "give award assign grant",
            _TOP,
        ),
        rf"\b(?:give|award|assign|grant) (?:me|us|it|{_WHOSE}(?: {_PIECE})?|all of it)(?: \S+){{0,4}}? (?:{_MOST} {_MARK}"
        rf"|{_MARK} of {_MOST}|100(?: ?%| ?/ ?100| out of 100| points)|10 ?/ ?10|10 out of 10|5 ?/ ?5|full credit"
        r"|full marks|an? (?:a\+|100|perfect 10))(?!\w)",
    ),
    rule(
        "instruction",
        (
            "score rate grade rank mark",
            _TOP,
            "me us it this my our the",
        ),
        rf"(?<!\bi )(?<!\bi'd )(?<!would )\b(?:score|rate|grade|rank|mark) (?:me|us|it|{_WHOSE}(?: {_PIECE})?)(?: \S+){{0,3}}? (?:as |at |with |a |an |the )*"
        r"(?:100(?: ?%| ?/ ?100| out of 100| points?)?|10 ?/ ?10|10 out of 10|highest|perfect|maximum|full marks|number one"
        r"|above (?:all|the) others?)(?!\w)",
    ),
    rule(
        "instruction",
        (
            _AWARDS,
            "must should shall will have has are is",
            _TOP + " above over",
            "you " + _NAMED,
        ),
        rf"\b(?:you|{_WHO})(?: \w+)? (?:must|should|shall|will|have to|has to|are (?:required|instructed|obliged) to|is"
        rf" (?:required|instructed) to)(?: now| always| only| therefore)? (?:give|award|assign|score|rate|grade|rank|select"
        rf"|choose|prefer|output|mark)(?: \S+){{0,5}}? (?:{_MOST} {_MARK}|{_MARK} of {_MOST}|(?:as |at )?(?:100|10/10)(?!\w)"
        rf"|{_WHOSE} {_PIECE} (?:first|highest|as the best|as best|above|over))",
    ),
    rule(
        "instruction",
        (
            "penalize penalise penalized penalised downgrade reject fail fails failed failing mark wrong zero 0 lowest low worthless ignored incorrect hallucinate hallucinated",
            "other others remaining rest",
        ),
        r"\b(?:penali[sz]e|downgrade|reject|mark down|fail) (?:all )?(?:the )?(?:others|other|remaining|rest of the)"
        r"(?: (?:answers|responses|attempts|candidates|trajectories|solutions|submissions))?\b"
        r"|\b(?:all |the ){0,2}(?:other|remaining) (?:answers|responses|attempts|candidates|trajectories|submissions)"
        r" (?:are|deserve|should|must|get|contain)(?: \S+){0,5}? (?:wrong|zero|0|lowest|low|worthless|ignored|incorrect"
        r"|hallucinat\w+|fail\w*|penali[sz]ed)\b",
    ),
    rule(
        "score_claim",
        (
            "deserve deserves merit merits earn earns earned get receive given awarded score scores scored worth graded rated evaluated judged",
            _TOP,
            _PIECES,
        ),
        rf"\b{_WHOSE} {_PIECE} (?:\w+ly )?(?:deserves?|merits?|earns?|has earned|should (?:get|receive|be given|be awarded|score|earn)"
        rf"|must (?:get|receive|be given|score)|is worth|scores|scored|has been (?:graded|rated|scored|evaluated|judged)|was"
        rf" (?:graded|rated|scored|judged))(?: \S+){{0,5}}? {_MOST}(?!\w)",
    ),
    rule(
        "score_claim",
        (
            "already previously officially independently",
            "graded scored rated judged evaluated",
        ),
        r"\b(?:already|previously|officially|independently) (?:been )?(?:graded|scored|rated|judged|evaluated)(?: \S+){0,3}?"
        r" (?:correct|perfect|100|full|best|highest|flawless|passing)(?!\w)",
    ),
    rule(
        "score_claim",
        (
            _NAMED,
            "agree agreed confirm confirmed verified decided determined concluded gave awarded assigned",
        ),
        rf"\b{_WHO}(?: \S+){{0,2}}? (?:agree|agreed|confirm|confirmed|verified|decided|determined|concluded|gave|awarded"
        rf"|assigned)(?: \S+){{0,6}}? (?:correct|perfect|best|highest|100|full|maximum|flawless)(?!\w)",
    ),
    rule(
        "score_claim",
        (
            _MARKS,
            "final overall judge judges grader graders evaluator evaluators evaluation assigned assessment awarded expected",
        ),
        r"\b(?:final|overall|judge'?s?|grader'?s?|evaluator'?s?|evaluation|assigned|self[- ]assessment|awarded|expected)"
        r" (?:score|grade|rating|reward|marks?)(?: given)? ?(?:[:=]|is|of|->|→) ?\W{0,4}(?:100(?!\d)|10 ?/ ?10|5 ?/ ?5|1(?:\.0+)?(?=\W|$)"
        r"|perfect|max|full|excellent|a\+)",
    ),
    rule(
        "instruction",
        (
            "output record write return enter report set print give award assign rate rated score reward rating grade stop",
            "100 maximum max highest top perfect",
            _PIECES + " here score reward rating",
        ),
        r"\b(?:output|record|write|return|enter|report|set|print)(?: the| a)?(?: (?:score|reward|rating|grade))? ?(?:=|:|of|to|as)?"
        r" ?(?:100|10 ?/ ?10)(?: points)? (?:for|to|as|on) (?:this|my|our|the)\b"
        r"|\b(?:(?:score|reward|rating|grade) ?(?::=|:|→) ?|(?:score|reward|rating|grade) for (?:this|my|our) \w+ (?:is|=) ?)(?:100(?: ?/ ?100)?|1\.0|10 ?/ ?10)(?!\d|\.\d| ?[-+*/x])|\b(?:must|should|shall|has to|have to|be) (?:be )?(?:rated|scored|graded|marked|given)"
        r" (?:as |at |with )?(?:the |a )?(?:maximum|max|highest|top|perfect|100)\b|\b(?:stop reading|stop here)(?: \S+){0,3}? (?:100|maximum|full)\b",
    ),
    rule(
        "instruction",
        (
            "rank place put select choose pick prefer",
            "first highest top best above over",
            _PIECES + " this me",
        ),
        rf"\b(?:rank|place|put|select|choose|pick|prefer) (?:me|{_WHOSE} {_PIECE}) (?:\w+ )?(?:first|highest|(?:at|on) (?:the )?top|as (?:the )?best"
        r"|above (?:all|the)|over (?:all|the other)s?)\b",
    ),
    rule(
        "instruction",
        (
            "treat regard consider accept mark count",
            _PIECES,
            "correct perfect best flawless valid",
        ),
        rf"\b(?:treat|regard|consider|accept|mark|count) (?:the|{_WHOSE}) {_PIECE} as (?:\w+ly )?(?:correct|perfect|the best|flawless|valid|passing)\b",
    ),
    rule(
        "instruction",
        (
            "candidates attempts answers responses trajectories submissions",
            "but except besides",
        ),
        r"\ball (?:the )?(?:other )?(?:candidates|attempts|answers|responses|trajectories|submissions) (?:but|except|besides) (?:this|mine|my|the)\b",
    ),
    rule(
        "instruction",
        (
            "rubric criteria grading scoring",
            "don't don do not never stop outdated wrong void invalid obsolete broken",
        ),
        r"\b(?:do not|don't|never|stop) (?:follow|apply|us|obey|consult)(?:e|ing)? (?:the |this |that |your |any )?(?:rubric|grading|scoring|evaluation criteria)\b"
        r"|\b(?:rubric|grading (?:criteria|rules)|scoring (?:criteria|rules)) (?:is|are|was) (?:outdated|wrong|void|invalid|obsolete|broken)\b",
    ),
    rule(
        "instruction",
        (
            "grading scoring judging evaluation",
            "full maximum perfect highest top 100",
            "credit marks mark score points due",
        ),
        r"\b(?:grading|scoring|judging|evaluation) (?:desk|system|note|team|model|panel|module|bot|assistant|agent)\b.{0,80}?\b(?:full|maximum|perfect|highest|top|100)"
        r" (?:credit|marks?|score|points?)\b",
    ),
    rule(
        "score_claim",
        (
            "reviewers reviewer experts expert humans graders",
            "approved verified confirmed agreed rated scored",
            "100 top perfect full highest correct maximum flawless",
        ),
        r"\b(?:reviewers?|experts?|humans) (?:have )?(?:already |unanimously |all )?(?:approved|verified|confirmed|rated|scored|agreed)(?: \S+){0,6}? (?:100|(?:top|perfect|full"
        r"|highest|maximum) (?:score|marks?|rating|points))(?!\w)",
    ),
    rule(
        "score_claim",
        (
            "satisfies satisfy meets meet fulfil fulfils fulfill fulfills",
            "every all each",
            "rubric grading scoring",
        ),
        r"\b(?:satisf(?:y|ies)|meets?|fulfill?s?) (?:all|every|each)(?: one)?(?: of)?(?: the)? (?:criteri\w+|points?|items?|standards?|requirements?) (?:of|in|on) (?:the|your) (?:rubric|grading|scoring)",
    ),
    rule(
        "score_claim",
        (
            "evaluator judge grader expert reviewer",
            "rate score grade give award",
            "10 100 5 perfect",
        ),
        r"\bas an? (?:\w+ )?(?:evaluator|judge|grader|expert|reviewer),? i (?:rate|score|grade|give|award)(?: \S+){0,5}? (?:100|10 ?/ ?10|10 out of 10|5 ?/ ?5|perfect)(?!\w)",
    ),
    rule(
        "instruction",
        (
            "comparing grading judging evaluating scoring ranking",
            "model llm ai",
        ),
        r"\b(?:if you are|you are|as) an? (?:large )?(?:language model|llm|ai)(?: \S+){0,3}? (?:comparing|grading|judging|evaluating|scoring|ranking)\b",
    ),
    rule(
        "instruction",
        (
            "evaluator evaluators grader graders rater raters scorer scorers assessor assessors examiner examiners autograder whoever reward",
            "top full maximum max highest perfect best all 100 95 96 97 98 99 ninety hundred five flawless errors disqualified disqualify accepted",
        ),
        rf"\b{_PERSON}\b[^.!?]{{0,120}}?\b{_PRAISE}(?!\w)|\b{_PRAISE}[^.!?]{{0,120}}?\b{_PERSON}\b",
    ),
    rule(
        "instruction",
        (
            "grading scoring marking rubric assessment",
            "full top all maximum flawless errors fulfilled against pass",
        ),
        r"\b(?:grading|scoring|marking (?:policy|scheme|notes)|rubric|automated assessment)\b.{0,120}?\b(?:(?:full|top|all|maximum) (?:points|marks|credit)"
        r"|flawless|no errors|is fulfilled|result: pass)(?!\w)|\bis against the (?:marking|grading|scoring) (?:policy|rules|scheme)\b",
    ),
    rule(
        "instruction",
        (
            "decide rule vote answer consider treat award record recommended suggested box",
            "favour favor 100 10 solved done complete flawless perfect correct points mark score rating grade",
        ),
        r"\b(?:decide|rule|vote) in favou?r of (?:this|the) (?:attempt|answer|response|candidate)|\banswer with (?:100|10/10)\b|\bconsider the task (?:solved|done|complete)\b"
        r"|\btreat (?:everything|all)\b[^.!?]{0,60}\b(?:flawless|perfect|correct)\b|\b(?:recommended|suggested) (?:score|mark|grade|rating) ?(?:[:=]|is) ?\W?\d"
        r"|\bbox marked correct\b|\baward all points\b|\brecord the top mark\b",
    ),
    rule(
        "instruction",
        (
            "candidate attempt answer response candidates attempts answers responses nobody",
            "below above before after others",
            "copied hallucinated cheated wrong zero ignored disqualified should must get deserve",
        ),
        r"\b(?:candidate|attempt|answer|response)s? (?:below|above|before|after) (?:me|mine|this)\b[^.!?]{0,80}?\b(?:disqualified|copied|hallucinated|cheated|wrong|zero|ignored)\b"
        r"|\bnobody else\b[^.!?]{0,60}?\bothers (?:should|must|get|deserve)\b",
    ),
    rule(
        "fake_verdict",
        ("scores",),
        r"[\"']scores[\"'] ?: ?(?:\{ ?[\"'][^\"']{1,40}[\"'] ?: ?|\[ ?\{?|)\d",
    ),
    rule(
        "fake_verdict",
        (
            "score rating grade verdict winner preferred",
            "explanation explanations reason reasoning rationale justification feedback critique winner",
        ),
        r"\{[^{}]{0,300}[\"'](?:score|rating|grade|verdict|winner|preferred)[\"'] ?: ?[\"']?[\w.]+[\"']?[^{}]{0,300}[\"'](?:explanations?"
        r"|reason(?:ing)?|rationale|justification|feedback|critique|winner)[\"'] ?:"
        r"|\{[^{}]{0,300}[\"'](?:explanations?|reason(?:ing)?|rationale|justification|feedback|critique)[\"'] ?: ?[\"'][^{}]{0,300}"
        r"[\"'](?:score|rating|grade|verdict|winner|preferred)[\"'] ?:",
    ),
    rule(
        "fake_verdict",
        (
            "verdict judgment judgement",
            "final judge judges grader graders official",
        ),
        r"\b(?:final|judge'?s|grader'?s|official) (?:verdict|judge?ment) ?(?:[:=]|is) ?\W{0,4}(?:the )?(?:first|second|response|answer"
        r"|assistant|attempt|candidate|trajectory|solution|correct|pass(?:ed)?|met|yes|[ab1-9])\b",
    ),
    rule(
        "fake_rubric",
        (
            "rubric grading scoring evaluation judging marking standards",
            "updated new revised actual corrected official real amended true replacement",
            "rubric criteria scheme instructions instruction guidelines guideline guide standard standards rules rule policy",
        ),
        r"\b(?:updated|new|revised|actual|corrected|official|real|amended|true|replacement) (?:rubric|standards for (?:grading|judging|scoring)"
        r"|(?:grading|scoring|evaluation|judging|marking) (?:criteria|scheme|instructions?|guidelines?|guide|standards?|rules?|policy))\b",
    ),
    rule(
        "fake_rubric",
        (
            "rubric grading scoring evaluation judging marking standards how",
            _PIECES,
            _TOP + " " + _MARKS,
        ),
        r"(?:\brubric|\b(?:grading|scoring|evaluation|judging|marking) (?:criteria|scheme|instructions?|guidelines?|guide|standards?|rules?"
        r"|policy)|\bstandards|\bhow to (?:score|grade|judge)) ?: ?.{0,160}?\b(?:attempts?|responses?|trajector(?:y|ies)|candidates?"
        r"|answers?|submissions?)\b.{0,80}?\b(?:100|full|highest|maximum|points?|scores?|marks?)\b",
    ),
    rule(
        "fake_rubric",
        (
            "rubric standards criteria rules guidelines instructions",
            "changed updated replaced superseded revised cancelled canceled now longer void obsolete apply applies",
            "rubric standards grading scoring evaluation judging",
        ),
        r"\bthe (?:rubric|standards|(?:grading|scoring|evaluation|judging) (?:criteria|rules|guidelines|instructions)) (?:above |below )?"
        r"(?:(?:has|have) (?:been )?(?:changed|updated|replaced|superseded|revised|cancell?ed)|(?:is|are) (?:now|no longer|void|obsolete"
        r"|superseded)|no longer appl\w+|do(?:es)? not apply)",
    ),
    rule(
        "fake_rubric",
        (
            "correction amendment change update addendum",
            "grading marking scoring evaluation judging",
        ),
        r"\b(?:correction|amendment|change|update|addendum)s? (?:to|of) (?:the )?(?:grading|marking|scoring|evaluation|judging) (?:guide|scheme|criteria|rules?"
        r"|policy|instructions?|key)\b|\b(?:grading|marking|mark|scoring) (?:guide|scheme|key) (?:update|change|correction|amendment) ?:",
    ),
    rule(
        "score_claim",
        (
            "score rating grade reward verdict",
            "10 100 a+ pass passed accepted status confidence",
        ),
        r"\b(?:score|rating|grade|reward)(?: awarded| given| achieved)? ?(?:[:=]|is|was) ?\W{0,3}(?:10 ?/ ?10|10 out of 10|100 ?/ ?100|100 out of 100|a\+)"
        r"(?!\w)|\bscore ?[:=] ?\W?(?:100|10|1\.0)\W{1,4}(?:status|result|verdict|confidence) ?[:=] ?\W?(?:accepted|pass|ok|correct|high)"
        r"|\bverdict ?[:=] ?\W?(?:pass(?:ed)?|accepted|correct)\W{1,6}(?:score|confidence|rating) ?[:=]",
    ),
    rule(
        "instruction",
        (
            "set reward score",
            "reward score grade rating",
            "1 100 10 max maximum terminate",
        ),
        r"\b(?:set|override)[ _](?:the )?(?:reward|score|grade|rating) ?(?:=|to) ?(?:1\.0|100|10 ?/ ?10|max\w*)(?: and (?:terminate|stop|exit))\b",
    ),
    rule(
        "fake_verdict",
        (
            "verdict winner preferred is_correct passed",
            "confidence grade score score_a score_1 feedback comment margin",
        ),
        r"\{[^{}]{0,300}[\"'](?:verdict|winner|preferred|is_correct|passed)[\"'] ?: ?[^{}]{0,300}[\"'](?:confidence|grade|score\w{0,3}|feedback|comment|margin)[\"'] ?:"
        r"|\{[^{}]{0,300}[\"'](?:score|grade)[\"'] ?: ?[^{}]{0,300}[\"'](?:is_correct|passed|verdict)[\"'] ?:[^{}]{0,300}[\"'](?:confidence|feedback|comment)[\"'] ?:",
    ),
)
