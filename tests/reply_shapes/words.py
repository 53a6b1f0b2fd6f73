"""How judges say numbers and scales in many languages, for the generator only: the reader has tables of its own."""

from __future__ import annotations

LANGUAGES = (
    "en", "de", "fr", "es", "pt", "it", "nl", "ru", "uk", "pl", "tr", "vi", "id", "ar", "hi", "zh", "ja", "ko", "sv",
)  # fmt: skip
COMMA = frozenset({"de", "fr", "es", "pt", "it", "nl", "ru", "uk", "pl", "tr", "sv", "id"})
"""Languages with a decimal comma."""

RATIO = {
    "en": ["{x} out of {m}", "{x}/{m}", "{x} / {m}", "{x} (out of {m})", "{x} points out of {m}", "{x} of {m}"],
    "de": ["{x} von {m}", "{x} von {m} Punkten", "{x} (von {m})", "{x}/{m}"],
    "fr": ["{x} sur {m}", "{x} (sur {m})", "{x}/{m}", "{x} points sur {m}"],
    "es": ["{x} de {m}", "{x} sobre {m}", "{x}/{m}", "{x} (de {m})"],
    "pt": ["{x} de {m}", "{x}/{m}", "{x} (de {m})"],
    "it": ["{x} su {m}", "{x}/{m}", "{x} (su {m})"],
    "nl": ["{x} van de {m}", "{x} van {m}", "{x}/{m}"],
    "ru": ["{x} из {m}", "{x} баллов из {m}", "{x} (из {m})"],
    "uk": ["{x} з {m}", "{x} балів із {m}"],
    "pl": ["{x} na {m}", "{x}/{m}", "{x} z {m}"],
    "tr": ["{m} üzerinden {x}", "{x}/{m}"],
    "vi": ["{x} trên {m}", "{x}/{m} điểm", "{x}/{m}"],
    "id": ["{x} dari {m}", "{x}/{m}"],
    "ar": ["{x} من {m}", "{x}/{m}"],
    "hi": ["{m} में से {x}", "{x}/{m}"],
    "zh": ["{x}分（满分{m}分）", "{x}/{m}分", "{x}（满分{m}）", "满分{m}分，得{x}分"],
    "ja": ["{m}点満点中{x}点", "{x}点（{m}点満点）", "{x}/{m}点", "{m}点中{x}点"],
    "ko": ["{m}점 만점에 {x}점", "{x}점 ({m}점 만점)", "{x}/{m}점", "{m}점 중 {x}점"],
    "sv": ["{x} av {m}", "{x}/{m}"],
}
TOPS = {
    "en": [
        "All scores are out of {m}.",
        "Scores out of {m}:",
        "Maximum score: {m}.",
        "Each score is out of {m} points.",
    ],
    "de": ["Alle Bewertungen von maximal {m} Punkten:", "Maximale Punktzahl: {m}", "Punkte (von {m}):"],
    "fr": ["Notes sur {m} :", "Toutes les notes sont sur {m}.", "Note maximale : {m}"],
    "es": ["Puntuaciones sobre {m}:", "Puntuación máxima: {m}", "Todas las notas son sobre {m}."],
    "pt": ["Notas de 0 a {m}:", "Pontuação máxima: {m}"],
    "it": ["Punteggi su {m}:", "Punteggio massimo: {m}"],
    "nl": ["Scores van maximaal {m}:", "Maximale score: {m}"],
    "ru": ["Оценки по {m}-балльной шкале:", "Максимальный балл: {m}"],
    "uk": ["Оцінки за {m}-бальною шкалою:", "Максимальний бал: {m}"],
    "pl": ["Oceny w skali do {m}:", "Maksymalna ocena: {m}"],
    "tr": ["Puanlar {m} üzerinden:", "En yüksek puan: {m}"],
    "vi": ["Điểm trên thang {m}:", "Thang điểm {m}:", "Điểm tối đa: {m}"],
    "id": ["Skor dari maksimal {m}:", "Skor maksimum: {m}"],
    "ar": ["جميع الدرجات من {m}:", "الدرجة القصوى: {m}"],
    "hi": ["सभी अंक {m} में से हैं:", "अधिकतम अंक: {m}"],
    "zh": ["评分（满分{m}分）：", "以下评分满分为{m}分。", "满分：{m}分", "采用{m}分制："],
    "ja": ["{m}点満点で採点しました。", "採点（{m}点満点）：", "満点：{m}点"],
    "ko": ["{m}점 만점 기준입니다.", "점수 ({m}점 만점):", "만점: {m}점"],
    "sv": ["Poäng av {m}:", "Högsta poäng: {m}"],
}
RANGES = {
    "en": ["Scale: {lo}-{hi}", "On a scale of {lo} to {hi}:", "Scores on a {lo}-{hi} scale:",
           "Rated from {lo} to {hi}.",
           "I use a scale from {lo} (worst) to {hi} (best)."],
    "de": ["Skala: {lo} bis {hi}", "Auf einer Skala von {lo} bis {hi}:", "Bewertung von {lo} bis {hi}:"],
    "fr": ["Échelle : {lo} à {hi}", "Sur une échelle de {lo} à {hi} :", "Notes de {lo} à {hi} :"],
    "es": ["Escala: {lo} a {hi}", "En una escala del {lo} al {hi}:", "Puntuaciones de {lo} a {hi}:"],
    "pt": ["Escala: {lo} a {hi}", "Em uma escala de {lo} a {hi}:"],
    "it": ["Scala: da {lo} a {hi}", "Su una scala da {lo} a {hi}:"],
    "nl": ["Schaal: {lo} tot {hi}", "Op een schaal van {lo} tot {hi}:"],
    "ru": ["Шкала: от {lo} до {hi}", "По шкале от {lo} до {hi}:", "Оценки от {lo} до {hi}:"],
    "uk": ["Шкала: від {lo} до {hi}", "За шкалою від {lo} до {hi}:"],
    "pl": ["Skala: od {lo} do {hi}", "W skali od {lo} do {hi}:"],
    "tr": ["Ölçek: {lo}-{hi}", "{lo} ile {hi} arasında bir ölçekte:"],
    "vi": ["Thang điểm: {lo}-{hi}", "Trên thang điểm từ {lo} đến {hi}:"],
    "id": ["Skala: {lo} sampai {hi}", "Pada skala {lo} sampai {hi}:"],
    "ar": ["المقياس: {lo} إلى {hi}", "على مقياس من {lo} إلى {hi}:"],
    "hi": ["पैमाना: {lo} से {hi}", "{lo} से {hi} के पैमाने पर:"],
    "zh": ["评分范围：{lo}-{hi}", "评分标准为{lo}到{hi}分：", "以{lo}-{hi}分打分："],
    "ja": ["評価尺度：{lo}〜{hi}", "{lo}から{hi}の尺度で評価："],
    "ko": ["척도: {lo}~{hi}", "{lo}점에서 {hi}점 척도로 평가:"],
    "sv": ["Skala: {lo} till {hi}", "På en skala från {lo} till {hi}:"],
}  # fmt: skip
INVERTED = {
    "en": [
        "Scale: 1 to {hi}, where 1 is the best.",
        "1 = best, {hi} = worst",
        "Scale 1-{hi} (1 = best, {hi} = worst):",
    ],
    "de": ["Skala: 1 (sehr gut) bis {hi} (ungenügend)", "Schulnoten: 1 = am besten, {hi} = am schlechtesten"],
    "fr": ["Échelle de 1 (meilleur) à {hi} (pire) :"],
    "es": ["Escala de 1 (mejor) a {hi} (peor):"],
    "ru": ["Шкала от 1 (лучшая) до {hi} (худшая):"],
    "zh": ["评分1到{hi}，1分最好，{hi}分最差："],
    "ja": ["1（最良）から{hi}（最悪）の尺度："],
    "ko": ["1(최고)~{hi}(최저) 척도:"],
    "pt": ["Escala de 1 (melhor) a {hi} (pior):"],
    "it": ["Scala da 1 (migliore) a {hi} (peggiore):"],
}
SCORE = {
    "en": "Score", "de": "Bewertung", "fr": "Note", "es": "Puntuación", "pt": "Pontuação", "it": "Punteggio",
    "nl": "Score", "ru": "Оценка", "uk": "Оцінка", "pl": "Ocena", "tr": "Puan", "vi": "Điểm", "id": "Skor",
    "ar": "الدرجة", "hi": "अंक", "zh": "得分", "ja": "点数", "ko": "점수", "sv": "Poäng",
}  # fmt: skip
TOP_KEY = {
    "en": ["max_score", "max", "out_of", "maximum", "max_points", "possible", "maxScore", "full_score"],
    "de": ["max_punkte", "maximal", "von"],
    "fr": ["note_max", "sur", "maximum"],
    "es": ["puntuacion_maxima", "maximo", "sobre"],
    "zh": ["满分", "最高分"],
    "ja": ["満点"],
    "ko": ["만점"],
    "ru": ["максимум", "макс_балл"],
}
SCORE_KEY = {
    "en": ["score", "rating", "points", "grade", "total"],
    "de": ["bewertung", "punkte"],
    "fr": ["note"],
    "es": ["puntuación"],
    "zh": ["得分", "分数", "评分"],
    "ja": ["点数", "スコア"],
    "ko": ["점수"],
    "ru": ["оценка", "балл"],
}
PERCENT = {
    "en": ["{x}%", "{x} %", "{x} percent", "{x} per cent"], "de": ["{x} %", "{x} Prozent"],
    "fr": ["{x} %", "{x} pour cent"],
    "es": ["{x} %", "{x} por ciento"], "pt": ["{x}%", "{x} por cento"], "it": ["{x}%", "{x} per cento"],
    "ru": ["{x}%", "{x} процентов"], "zh": ["{x}%", "百分之{x}"], "ja": ["{x}％", "{x}パーセント"],
    "ko": ["{x}%", "{x}퍼센트"],
    "tr": ["%{x}", "yüzde {x}"], "ar": ["{x}٪"], "hi": ["{x}%", "{x} प्रतिशत"], "pl": ["{x}%", "{x} procent"],
}  # fmt: skip
TAKEBACK = {
    "en": ["Correction: {id} should get {y}.", "EDIT: {id} -> {y}", "On second thought, {id} deserves {y}.",
           "These scores are random."],
    "de": ["Korrektur: {id} bekommt doch nur {y}.", "Moment, {id} verdient eher {y}."],
    "fr": ["Correction : {id} mérite plutôt {y}."],
    "es": ["Corrección: {id} merece en realidad {y}."],
    "pt": ["Correção: {id} merece na verdade {y}."],
    "it": ["Correzione: {id} merita in realtà {y}."],
    "ru": ["Исправление: {id} всё-таки получает {y}."],
    "zh": ["更正：{id} 应为 {y} 分。"],
    "ja": ["訂正：{id} は {y} 点です。"],
    "ko": ["정정: {id}는 {y}점입니다."],
}  # fmt: skip
REMARKS = (
    "clear and complete",
    "misses the second half",
    "correct but slow",
    "solves it",
    "stops early",
    "polite, wrong date",
)
CONTENT = (
    "It passes 8 out of 10 tests.", "It made 3 of 4 bookings.", "It took 12 steps, 2 of them wasted.",
    "It scored 5/7 sub-goals.", "It covers 90% of the cases.", "The limit of 10 retries was never hit.",
)  # fmt: skip
