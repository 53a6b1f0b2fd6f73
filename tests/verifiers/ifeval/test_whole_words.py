"""Words are found whole where a script parts them, and found at all where it does not."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.ifeval.whole_words import combining_marks, normalise_words, word_counts, word_pattern


def found(word: str, text: str) -> bool:
    return re.search(word_pattern(word), normalise_words(text), re.IGNORECASE) is not None


@pytest.mark.parametrize(("word", "text"), [
    ("北京", "我们今天去北京看长城"),
    ("学习", "好好学习，天天向上。"),
    ("日本", "日本語を話します"),
    ("さくら", "今年もさくらが咲いた"),
    ("コーヒー", "朝はコーヒーを飲む"),
    ("AI", "使用AI技术"),
    ("AI", "ＡＩを使う"),
    ("iPhone", "新しいiPhoneが出た"),
    ("3", "第3章"),
    ("กรุงเทพ", "ฉันอยู่กรุงเทพมหานคร"),
    ("ລາວ", "ປະເທດລາວງາມ"),
    ("ភាសា", "ខ្ញុំនិយាយភាសាខ្មែរ"),
    ("서울", "서울에서 만나요"),
    ("서울", "저는 서울, 부산을 좋아해요"),
    ("학생", "학생들에게는 책이 필요합니다"),
    ("공부", "매일 공부했습니다"),
    ("의사", "그는 의사입니다."),
    ("AI", "AI는 좋다"),
    ("राम", "राम गया"),
    ("हिन्दी", "मैं हिन्दी बोलता हूँ।"),
    ("كتاب", "قرأت الكتاب"),
    ("كتاب", "قلم وكتاب"),
    ("ספר", "קראתי את הספר"),
    ("Москва", "«Москва» слезам не верит"),
    ("C++", "I write C++."),
    ("C++", "C++17 is out"),
    ("C#", "Use C#, daily."),
    (".NET", "on .NET now"),
    ("#tag", "a #tag"),
    ("don't", "I don’t know"),
    ("well-known", "a well\u2011known fact"),
    ("café", "cafe\u0301 au lait"),
    ("old man", "the old\nman"),
    ("❤", "I ❤\ufe0f it"),
])  # fmt: skip
def test_a_word_is_found_in_running_text_of_its_script(word: str, text: str) -> None:
    assert found(word, text)


@pytest.mark.parametrize(("word", "text"), [
    ("cat", "concatenate"),
    ("student", "students"),
    ("东京", "我去北京"),
    ("나", "나무가 있다"),
    ("울", "서울에서"),
    ("राम", "रामी गया"),
    ("का", "काम"),
    ("كتاب", "كتابات"),
    ("сад", "посадка"),
    ("cafe", "cafe\u0301"),
    ("C", "C++ is fun"),
    ("C", "C# is fun"),
    ("C+", "C++"),
    ("กา", "กา\u0e49"),
])  # fmt: skip
def test_a_part_of_another_word_is_not_the_word(word: str, text: str) -> None:
    assert not found(word, text)


@given(st.text(min_size=1, max_size=12).filter(lambda text: normalise_words(text).strip()))
def test_any_text_is_found_by_itself(text: str) -> None:
    assert re.search(word_pattern(text), normalise_words(f"( {text} )"))


@pytest.mark.parametrize("unit", ["北京", "서울에서는", "a\u0301", "C++", "كتاب", "+", "กา"])
def test_long_hostile_text_is_searched_once(unit: str) -> None:
    text = unit * 20_000
    for word in ("北京x", "서울y", "C+", "ات", unit + "z"):
        assert not re.search(word_pattern(word), text)


def test_words_without_spaces_are_counted_between_two_bounds() -> None:
    assert word_counts("It's two plus 3") == (5, 5)
    assert word_counts("हिन्दी में लिखा") == (3, 3)
    assert word_counts("我去北京 and back") == (3, 6)
    assert word_counts("") == (0, 0)


def test_marks_are_the_combining_characters_of_unicode() -> None:
    pattern = re.compile(f"[{combining_marks()}]")
    for place in (0x301, 0x903, 0x93E, 0xE34, 0x20D0):
        assert unicodedata.category(chr(place))[0] == "M"
        assert pattern.fullmatch(chr(place))
    assert not any(map(pattern.fullmatch, ("a", "1", " ", "\ufe0f", "北")))
