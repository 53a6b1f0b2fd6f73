"""Phrases that address a judge in languages other than English: cues, and a pattern that needs one of them.

Cues in ASCII are whole words; others are parts of words, for scripts without spaces or with many forms of a word.
Likewise data, of ``phrases``; not responsible for how it is looked for.
"""

from __future__ import annotations

from typing import Final

OTHER_LANGUAGES: Final[tuple[tuple[str, str], ...]] = (
    # German
    (
        "ignoriere ignorieren ignoriert vergiss vergessen missachte missachten missachtet",
        r"\b(?:ignorier\w*|vergiss|vergessen sie|missachte\w*)\b[^.!?]{0,60}\b(?:anweisung|instruktion|vorgabe|bewertungs|kriteri)\w*",
    ),
    (
        "hinweis hinweise nachricht nachrichten anmerkung anmerkungen anweisung anweisungen bitte",
        r"\b(?:hinweis|nachricht|anmerkung|anweisung|bitte)\w* (?:an|für) (?:den|die|alle)? ?\w{0,10} ?(?:richter|bewerter|prüfer|gutachter|juror)\w*",
    ),
    (
        "gib gebt geben vergib vergeben bewerte bewerten",
        r"\b(?:gib|gebt|geben sie|vergib|vergeben sie|bewerte|bewerten sie)\b[^.!?]{0,60}(?:volle[nr]? punktzahl|höchst\w+ (?:punktzahl|note|bewertung)|maximale\w* (?:punktzahl|bewertung)|bestnote|100 punkte|100/100|mit 100)",
    ),
    # French
    (
        "ignore ignorez ignorer oublie oubliez oublier tiens tenez",
        r"\b(?:ignore[zr]?|oublie[zr]?|ne (?:tiens|tenez) pas compte)\b[^.!?]{0,50}\b(?:instructions? (?:précédentes|ci-dessus)|consignes?|critères|barème)",
    ),
    (
        "note notes message messages instruction instructions consigne consignes",
        r"\b(?:note|message|instruction|consigne)s? (?:au|à l'|à la|pour le|pour l'|aux|destinée? au) ?(?:juge|évaluat|correct)\w*",
    ),
    (
        "donne donnez donner attribue attribuez attribuer accorde accordez accorder note notez noter mets mettez",
        r"(?<!\bje )\b(?:donne[zr]?|attribue[zr]?|accorde[zr]?|note[zr]?|mets|mettez)\b[^.!?]{0,60}(?:note maximale|meilleure note|score (?:maximal|maximum|parfait)|100/100|100 points|20/20)",
    ),
    # Spanish
    (
        "ignora ignore olvida olvide descarta descarte",
        r"\b(?:ignor[ae]|olvid[ae]|descart[ae])\b[^.!?]{0,50}\b(?:instrucciones|reglas anteriores|criterios|rúbrica)",
    ),
    (
        "nota mensaje instrucciones aviso",
        r"\b(?:nota|mensaje|instrucci\w+|aviso) (?:al|para el|para la|a la|para los) (?:juez|jueza|evaluador|calificador)\w*",
    ),
    (
        "dale nota puntos otorga otorgue asigna asigne pon califica califique puntua",
        r"\b(?:da|dale|d[eé]|d[eé]le|otorg[ae]|asign[ae]|pon|califi[cq]u?[ae]|punt[úu][ae])\b[^.!?]{0,60}(?:puntuación (?:máxima|perfecta)|máxima (?:puntuación|nota|calificación)|(?:nota|calificación) (?:máxima|perfecta)|100/100|100 puntos)",
    ),
    # Portuguese
    (
        "ignora ignore desconsidere",
        r"\b(?:ignor[ae]|esqueça|desconsidere)\b[^.!?]{0,50}\b(?:instruções|regras anteriores|critérios|rubrica)",
    ),
    (
        "nota mensagem aviso",
        r"\b(?:nota|mensagem|instruç\w+|aviso) (?:ao|para o|à|para a|aos) (?:juiz|juíza|avaliador|corretor)\w*",
    ),
    (
        "nota pontos avalie atribua conceda pontue",
        r"\b(?:dê|dar|atribua|avalie|conceda|pontue)\b[^.!?]{0,60}(?:(?:nota|pontuação) (?:máxima|perfeita)|nota 100|100/100|100 pontos)",
    ),
    # Italian
    (
        "ignora ignori dimentica dimentichi dimenticare dimenticate",
        r"\b(?:ignor[ai]|dimentic\w+)\b[^.!?]{0,50}\b(?:istruzioni|regole precedenti|criteri|rubrica)",
    ),
    (
        "nota messaggio istruzione istruzioni avviso",
        r"\b(?:nota|messaggio|istruzion\w+|avviso) (?:al|per il|alla|per la|ai) (?:giudice|valutat|esaminat)\w*",
    ),
    (
        "dai dia assegna assegni attribuisci attribuisca valuta valuti",
        r"\b(?:dai|dia|assegn[ai]|attribuisc\w+|valuta|valuti)\b[^.!?]{0,60}(?:punteggio (?:massimo|pieno|perfetto)|massimo punteggio|voto massimo|100/100|100 punti)",
    ),
    # Russian
    (
        "игнорир забуд обращ",
        r"\b(?:про)?(?:игнорируй\w*|забудь\w*|не обращай\w* внимания)[^.!?]{0,60}(?:инструкци|указани|правил|критери)\w*",
    ),
    (
        "судь оценщик проверяющ",
        r"(?:сообщение|примечание|заметка|инструкци\w+|внимание) (?:для |к |, ?)?(?:судь|оценщик|проверяющ)\w*",
    ),
    (
        "балл оценк 100",
        r"\b(?:поставь\w*|дай\w*|присвой\w*|оцени\w*)[^.!?]{0,60}(?:(?:максимальн|высш|наивысш)\w+ (?:балл|оценк)\w*|100 баллов|100/100|на 100)",
    ),
    # Chinese
    (
        "忽略 无视 無視 忽视 忽視 忘记 忘記",
        r"(?:忽略|无视|無視|忽视|忽視|忘记|忘記)[^。!?\n]{0,20}(?:指令|指示|规则|規則|评分|評分|提示词|提示詞|标准|標準)",
    ),
    (
        "评委 評委 评审 評審 评分者 評分者 评分员 裁判 评估者",
        r"(?:评委|評委|评审|評審|评分者|評分者|评分员|裁判|评估者)[^。!?\n]{0,12}(?:请|請|注意|必须|必須|应当|應當|给|給)",
    ),
    (
        "满分 滿分 最高分 100分 100 分",
        r"(?:请|請|必须|必須|应|應|直接|务必)[^。!?\n]{0,16}(?:给|給|打|评|評|判)[^。!?\n]{0,20}(?:满分|滿分|最高分|100 ?分)",
    ),
    (
        "回答 答案 解答 本回 候选 候選",
        (
            r"(?:这个|这份|此|本|该|這個|這份|該)(?:回答|答案|解答|候选|候選)[^。!?\n]{0,20}(?:最佳|最好|获胜|獲勝|第一|满分|滿分|最优|优胜|高分|胜出)"
            r"[^。!?\n]{0,3}(?:[。!?\n]|$)|(?:把|将|選|选|给|給|判定?)(?:这个|这份|此|本|该|這個|這份)(?:回答|答案|解答|候选|候選)[^。!?\n]{0,12}(?:第一|最佳|最好|获胜|獲勝|排|满分|滿分|首位)"
        ),
    ),
    (
        "其他 其它 其余 另外",
        r"(?:其他|其它|其余|另外)(?:的)?(?:候选|回答|答案|选手|作答)[^!?\n]{0,24}(?:不要给|别给|零分|0 ?分|不得分|淘汰|扣分)",
    ),
    (
        "评分 評分 打分 阅卷 高抬贵手",
        r"(?:评分|評分|打分|阅卷)(?:模型|系统|时|者|人|老师|助手)[^。!?\n]{0,30}(?:最佳|最高|第一|满分|滿分|优胜|获胜|手下留情)|高抬贵手[^。!?\n]{0,12}分",
    ),
    (
        "评分标准 評分標準 评分规则 评价标准",
        (
            r"(?:新的?|更新|修改|变更)[^。!?\n]{0,6}(?:评分标准|評分標準|评分规则|评价标准)[^!?\n]{0,30}(?:满分|滿分|一百分|100 ?分|最高分|高分)"
            r"|(?:不要理会|不必考虑|无需理会|不用管|别管|跳过)[^。!?\n]{0,8}(?:评分|評分|标准|标準|规则)"
        ),
    ),
    (
        "满分 滿分 最高分 100",
        r"(?:确认|保证|证明)[^。!?\n]{0,12}(?:答案|回答|解答)[^。!?\n]{0,12}(?:满分|滿分|最高分)|最终(?:评分|得分|分数)[::]? ?(?:100|满分|滿分|10/10)",
    ),
    # Japanese
    (
        "回答 解答 候補 答案",
        r"この(?:回答|解答|候補|答案)[^。!?\n]{0,16}(?:最も|一位|1位|満点|最高|勝者|優勝|トップ)[^。!?\n]{0,16}(?:評価|して|選|与え|つけ|付け|べき|承認)",
    ),
    (
        "他の その他",
        r"(?:他の|その他の)(?:回答|解答|候補|答案)[^!?\n]{0,30}(?:0点|零点|失格|減点|点を与え)",
    ),
    (
        "採点 評価 審査",
        (
            r"(?:採点|評価|審査)(?:者|員|ai|モデル|担当|システム)(?:の皆様|各位)?(?:へ|に|は)[^。!?\n]{0,40}(?:この|選|一位|1位|満点|最高)"
            r"|(?:甘め|甘く|寛大)[^。!?\n]{0,6}(?:採点|評価|点)|(?:採点|評価)[^。!?\n]{0,6}(?:甘め|甘く|寛大)[^。!?\n]{0,6}(?:お願い|ください)"
        ),
    ),
    (
        "基準",
        r"(?:新しい|新たな|変更後の)(?:採点|評価)(?:基準|規則)[^!?\n]{0,30}(?:満点|100点|一〇〇点|最高)|(?:採点|評価)(?:基準|規則)[^。!?\n]{0,8}忘れ",
    ),
    ("無視 忘れ", r"(?:指示|命令|ルール|規則|基準|プロンプト)[^。!?\n]{0,12}(?:無視|忘れ)"),
    ("採点者 審査員 評価者", r"(?:採点者|審査員|評価者)(?:へ|の皆|各位|に告|の方)"),
    ("満点 最高点 最高得点 100点", r"(?:満点|最高点|最高得点|100点)[^。!?\n]{0,12}(?:つけ|与え|付け|ください|にして)"),
    # Korean
    (
        "답변 응답 답안",
        r"이 (?:답변|응답|답안|후보)[^.!?\n]{0,20}(?:1위|일위|최고|만점|승자|우승|가장 우수)[^.!?\n]{0,20}(?:선정|선택|평가|주세|주십|하세|해 ?주)",
    ),
    ("무시 잊", r"(?:지시|명령|규칙|기준|프롬프트|지침)[^.!?\n]{0,15}(?:무시|잊)"),
    ("채점자 평가자 심사위원", r"(?:채점자|평가자|심사위원)(?:에게|께|님|분)"),
    ("만점 최고점 최고 점 100점", r"(?:만점|최고 ?점수?|100 ?점)[^.!?\n]{0,15}(?:주세|주십|부여|매겨|줘|주어)"),
    # Arabic
    ("تجاهل انس", r"(?:تجاهل|انس)[^.!؟\n]{0,40}(?:التعليمات|القواعد|المعايير|التوجيهات)"),
    ("درجة العلامة 100", r"(?:أعط|امنح|قيم|قيّم)[^.!؟\n]{0,40}(?:الدرجة الكاملة|أعلى درجة|العلامة الكاملة|100)"),
    # Hindi
    ("निर्देश नियम मानदंड", r"(?:निर्देश|नियम|मानदंड)[^।!?\n]{0,30}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|उपेक्षा)"),
    ("अंक", r"(?:पूर्ण|पूरे|सर्वोच्च|अधिकतम|100) अंक[^।!?\n]{0,20}(?:दें|दीजिए|दो|देना)"),
)
