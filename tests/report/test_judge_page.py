"""The view of judges in a real browser: its numbers are the data's, and what nobody measured is said."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calipers.study.profiles.files import write_profile

from calipers.calibration import calibrate
from calipers.study.profiles.named import shipped_profile
from calipers.testing import PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from report_browser import CONTRAST, Browser
from reported import calibration_file, judged, member, report_of, result_of, write_lines

pytestmark = pytest.mark.timeout(300)

HOSTILE = "<img src=x onerror=window.ran=1></script><script>window.ran=1</script>\u202e"


def card(browser: Browser, title: str) -> str:
    """The text of the figure with this title."""
    return str(browser.run(
        "return [...document.querySelectorAll('.chart')]"
        ".find((one) => one.querySelector('h3').innerText === arguments[0])?.innerText ?? ''", title
    ))  # fmt: skip


def shown(browser: Browser, page: Path, address: str = "#view=judge") -> None:
    browser.open(page, address)
    browser.until("document.querySelector('main.judges')?.checkVisibility()")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a calibration, a profile, a result file and its ledger."""
    import asyncio  # noqa: PLC0415 - for a fixture of a module, which cannot be async

    folder = tmp_path_factory.mktemp("mixed")
    judge = SimulatedJudge(QUALITY | {"close": 0.85}, PositionBias(0.4))
    results, ledger = asyncio.run(judged(folder, [group_of(FOUR, group_id="biased")], [judge], orders=2))
    write_profile(folder / "p.json", shipped_profile("posbias-gemini-pro"))
    return report_of(folder, folder / "p.json", results, calibration_file(folder / "calibration.json"), ledger)


def test_views_are_chosen_by_link_and_by_address(browser: Browser, mixed: Path):
    browser.open(mixed, "#view=groups")
    browser.group("biased")
    assert browser.texts(".views a") == ["Groups", "Judge", "Run"]
    browser.click(".views a", "Judge")
    browser.until("document.querySelector('main.judges')?.checkVisibility()")
    assert browser.run("return location.hash") == "#view=judge"
    assert browser.texts(".views a[aria-current=page]") == ["Judge"]
    assert not browser.run("return document.querySelector('.frame').checkVisibility()")
    browser.run("history.back()")
    browser.until("document.querySelector('.frame').checkVisibility()")
    browser.group("biased")
    browser.press("j", "?")
    browser.click("dialog button", "Close")


def test_figures_are_those_of_the_calibration(browser: Browser, mixed: Path):
    told = json.loads((mixed.parent / "calibration.json").read_text(encoding="utf-8"))
    shown(browser, mixed)
    fidelity = card(browser, "Fidelity")
    for judge in told["judges"]:
        low, high = judge["advantage_fidelity_interval"]
        assert f"{judge['advantage_fidelity']:.2f} {low:.2f} to {high:.2f}" in fidelity
        assert f"{judge['repeatability']:.2f}" in card(browser, "Repeatability")
        assert f"{judge['noise']:.2f}" in card(browser, "Noise")
    assert f"{told['panel']['effective_votes']:.1f} effective votes" in card(browser, "Panel of 2")
    assert browser.text(".answer").startswith("steady agrees best with gold")
    browser.until("document.querySelectorAll('.judges canvas').length === 6")
    browser.run("for (const one of document.querySelectorAll('.numbers')) one.open = true")
    effects = [judge["position_effects"][0]["worth"] for judge in told["judges"]]
    browser.until("document.querySelectorAll('.numbers table').length === 6")
    for worth in effects:
        assert f"{worth:.2f}".replace("-", "\u2212") in card(browser, "Position bias")
    assert f"{told['judges'][0]['stderr_bins'][0]['observed']:.3f}" in card(browser, "Are standard errors honest?")
    frontier = card(browser, "Cost-accuracy frontier")
    assert f"of {told['search']['ways_tried']} ways tried" in frontier
    assert f"Recommended: {told['search']['name']}." in frontier
    for way in told["search"]["frontier"]:
        assert f"{way['advantage_fidelity']:.2f}" in frontier
        assert f"{way['held_out_fidelity']:.2f}" in frontier
        assert way["name"][:50] in frontier


def test_what_a_ledger_says_of_its_judge_is_shown(browser: Browser, mixed: Path):
    shown(browser, mixed)
    text = browser.text("main.judges")
    assert "In scored.jsonl" in text
    assert "None of 2 questions failed." in text
    assert "1 of 1 group in several orders flipped" in text
    assert "cost unknown" in text
    assert "Not in this report" not in text


def test_a_calibration_alone_is_a_page_of_judges(browser: Browser, tmp_path: Path):
    shown(browser, report_of(tmp_path, calibration_file(tmp_path / "c.json", calls=1, panel=False, texts=False)), "")
    text = browser.text("main.judges")
    assert browser.texts(".views a") == []
    assert "0 groups" not in browser.text("header.top")
    assert "Repeatability: never asked twice" in text.replace("\n", " ")
    assert "Length preference: not in the file; it takes the texts" in text.replace("\n", " ")
    assert "four calls or more" in card(browser, "Are standard errors honest?")
    browser.until("document.querySelector('.judges canvas')")


def pairs_without_gold(path: Path) -> Path:
    """A calibration of two judges, of pairs in two orders, each asked twice, of groups without gold."""
    asked, judgments = [], []
    for number in range(12):
        asked.append({"group_id": f"g{number}", "trajectories": [{"id": name, "messages": []} for name in "ab"]})
        for judge, share in (("fair", 2), ("forward", 1)):
            for order in (["a", "b"], ["b", "a"]):
                for sample in range(2):
                    winner = order[0] if number % share == 0 else "a"
                    judgments.append({"group_id": f"g{number}", "judge": judge, "mode": "pairwise", "order": order,
                                      "parsed": {"winner": winner}, "sample_index": sample})  # fmt: skip
    path.write_text(json.dumps(calibrate(asked, judgments).to_dict()) + "\n", encoding="utf-8")
    return path


def test_a_calibration_of_pairs_says_only_what_is_true(browser: Browser, tmp_path: Path):
    path = pairs_without_gold(tmp_path / "c.json")
    told = {one["judge"]: one for one in json.loads(path.read_text(encoding="utf-8"))["judges"]}
    assert told["forward"]["first_rate"] == 1
    shown(browser, report_of(tmp_path, path), "")
    text = browser.text("main.judges")
    for judge in ("fair", "forward"):
        assert f"{100 * told[judge]['first_rate']:.0f} %" in card(browser, "First of two preferred")
    assert "never asked twice" not in text
    assert "0 groups" not in text
    assert "Position bias" not in text, "it is known of pairs"
    assert card(browser, "Fidelity") == "", "a figure that nobody measured is not drawn"
    assert "Fidelity: not in the file; it takes groups with gold" in card(browser, "Not known")
    assert "Noise: not in the file; it takes scores" in card(browser, "Not known")


def test_a_profile_that_knows_fidelity_is_not_said_to_lack_it(browser: Browser, tmp_path: Path):
    profile = shipped_profile("posbias-gemini-pro")
    write_profile(tmp_path / "p.json", profile)
    shown(browser, report_of(tmp_path, tmp_path / "p.json"), "")
    assert "Agreement with gold is not known" in browser.text("main.judges")
    pearson = replace(profile.agreement.pearson, value=0.61, low=0.5, high=0.7, n=40, groups=40, reason="")
    write_profile(tmp_path / "q.json", replace(profile, agreement=replace(profile.agreement, pearson=pearson)))
    shown(browser, report_of(tmp_path, tmp_path / "q.json"), "")
    assert "0.61" in card(browser, "Fidelity")
    assert "Agreement with gold is not known" not in browser.text("main.judges")


def test_of_many_judges_the_best_are_drawn_and_others_on_demand(browser: Browser, tmp_path: Path):
    told = json.loads(calibration_file(tmp_path / "c.json", calls=4, groups=20).read_text(encoding="utf-8"))
    first = told["judges"][0]
    told["judges"] = [
        first | {"judge": f"judge {n}", "advantage_fidelity": n / 100, "advantage_fidelity_interval": None}
        for n in range(40)
    ]
    (tmp_path / "c.json").write_text(json.dumps(told), encoding="utf-8")
    shown(browser, report_of(tmp_path, tmp_path / "c.json"), "")
    title = "one.querySelector('h3').innerText === 'What more calls bring'"
    figure = f"[...document.querySelectorAll('.chart')].find((one) => {title})"
    visible = f"[...{figure}.querySelectorAll('.series')].filter((one) => one.checkVisibility())"
    assert browser.run(f"return {visible}.map((one) => one.innerText)") == [f"judge {n}" for n in range(39, 31, -1)]
    browser.run(f"{figure}.querySelector('details summary').click()")
    browser.until(f"{visible}.length === 40")
    assert browser.run(f"return {visible}.filter((one) => one.ariaPressed === 'true').length") == 8


def test_results_alone_say_which_command_would_tell_more(browser: Browser, tmp_path: Path):
    lines = [result_of("g", member("a", None, reason="refused"), member("b", None), status="abstained")]
    shown(browser, report_of(tmp_path, write_lines(tmp_path / "r.jsonl", lines)))
    text = browser.text("main.judges")
    assert "abstained" in text
    assert "calipers calibrate GROUPS --json" in text
    assert "known from a ledger only" in text


@pytest.mark.parametrize("value", [{"judges": []}, {"judges": [{"judge": "old"}]}, {"judges": [{}], "among": {}}])
def test_empty_and_older_files_are_a_page_that_says_so(browser: Browser, tmp_path: Path, value: dict[str, Any]):
    (tmp_path / "c.json").write_text(json.dumps(value), encoding="utf-8")
    shown(browser, report_of(tmp_path, tmp_path / "c.json"), "")
    text = browser.text("main.judges").lower()
    assert "not known" in text or "no judge was measured" in text
    assert "nan" not in text.replace("finance", "")
    assert "undefined" not in text
    assert "null" not in text


def test_hostile_names_of_judges_are_text(browser: Browser, tmp_path: Path):
    told = json.loads(calibration_file(tmp_path / "c.json", calls=4).read_text(encoding="utf-8"))
    told["judges"][0]["judge"] = HOSTILE
    told["judges"][1]["judge"] = "x" * 1_000_000
    told["panel"]["members"] = [HOSTILE, "y" * 1_000_000]
    told["ways"][0]["judges"] = [HOSTILE]
    told["search"]["name"] = told["search"]["frontier"][0]["name"] = HOSTILE
    told["search"]["measure"] = HOSTILE
    told["findings"] = [{"kind": "failures", "text": HOSTILE, "judge": HOSTILE}]
    told["recommendation"] = HOSTILE
    (tmp_path / "c.json").write_text(json.dumps(told), encoding="utf-8")
    parts = [{"judge": HOSTILE, "answers": 1, "scored": 1}]
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", member("a"), judges=parts)])
    shown(browser, report_of(tmp_path, tmp_path / "c.json", results))
    browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
    browser.until("document.querySelectorAll('.numbers table').length >= 4")
    assert browser.run("return window.ran === undefined && document.images.length === 0")
    assert "U+202E" in browser.text("main.judges")
    assert len(browser.text("main.judges")) < 60_000
    for width in (1360, 390):
        browser.resize(width, 900)
        assert browser.run("return document.querySelector('.view').scrollWidth") <= width
    problems = [one for one in browser.driver.get_log("browser") if one["level"] == "SEVERE"]
    assert problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(browser: Browser, mixed: Path, scheme: str):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    shown(browser, mixed)
    poor = browser.run(CONTRAST)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert poor == []


def test_the_keyboard_reaches_every_control(browser: Browser, mixed: Path):
    shown(browser, mixed)
    unreachable = browser.run(
        "return [...document.querySelectorAll('.judges button, .judges summary, .views a')]"
        ".filter((one) => one.tabIndex < 0 || !(one.textContent || one.ariaLabel)).length"
    )
    assert unreachable == 0
    browser.press("j", "k", "/", "d")
    assert browser.run("return document.querySelector('main.judges').checkVisibility()")


ADDRESS = "http://10.0.0.1:8000/v1"


def renamed(path: Path, names: dict[str, str]) -> Path:
    """A calibration whose judges have other names."""
    text = calibration_file(path).read_text(encoding="utf-8")
    for name, other in names.items():
        text = text.replace(name, other)
    path.write_text(text, encoding="utf-8")
    return path


def test_judges_are_named_without_their_address_which_is_said_once(browser: Browser, tmp_path: Path):
    names = {"steady": f"vllm/steady@{ADDRESS}", "hasty": f"vllm/hasty@{ADDRESS}"}
    shown(browser, report_of(tmp_path, renamed(tmp_path / "c.json", names)), "")
    assert browser.texts(".categories tbody th")[:3] == ["vllm/steady", "panel of 2, one call of each", "vllm/hasty"]
    assert browser.text(".addresses") == f"vllm/hasty, vllm/steady at {ADDRESS}."
    recommended = browser.text("details .text")
    assert f'judge = ["vllm/steady@{ADDRESS}"' in recommended, "what is pasted into calipers.toml is whole"
    assert browser.text("main.judges").replace(recommended, "").count(ADDRESS) == 1


def test_judges_of_one_model_on_two_servers_keep_their_addresses(browser: Browser, tmp_path: Path):
    names = {"steady": "vllm/one@http://a:1/v1", "hasty": "vllm/one@http://a:10/v1"}
    shown(browser, report_of(tmp_path, renamed(tmp_path / "c.json", names)), "")
    assert set(names.values()) <= set(browser.texts(".categories tbody th"))
    assert browser.texts(".addresses") == []


def test_the_best_judge_is_first_and_the_recommendation_is_open_above_the_figures(browser: Browser, tmp_path: Path):
    told = json.loads(calibration_file(tmp_path / "c.json").read_text(encoding="utf-8"))
    values = [one["advantage_fidelity"] for one in told["judges"]]
    told["judges"] = sorted(told["judges"], key=lambda one: one["advantage_fidelity"])
    (tmp_path / "c.json").write_text(json.dumps(told), encoding="utf-8")
    shown(browser, report_of(tmp_path, tmp_path / "c.json"), "")
    shares = [float(one) for one in browser.texts(".categories:first-child .with-interval b")]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == round(max(values), 2)
    assert browser.run(
        "const [fold, cards] = ['details.fold', '.cards'].map((one) => document.querySelector(`.judges ${one}`));"
        "return fold.open && fold.innerText.startsWith('Recommendation') &&"
        " Boolean(fold.compareDocumentPosition(cards) & Node.DOCUMENT_POSITION_FOLLOWING)"
    )


def test_gold_of_the_groups_is_said_where_judges_are(browser: Browser, tmp_path: Path):
    group = group_of(FOUR)
    asked = replace(group, trajectories=tuple(replace(one, gold=QUALITY[one.id]) for one in group.trajectories))
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", *(member(name, QUALITY[name]) for name in FOUR))])
    groups = write_lines(tmp_path / "g.jsonl", [asked.to_dict()])
    shown(browser, report_of(tmp_path, results, groups=groups))
    text = browser.text("main.judges")
    assert "agreement of rewards with gold\n1.00, in 1 group" in text
    assert "Agreement with gold is not known" not in text
    assert "For each judge's fidelity" in text


def test_the_page_opens_the_view_of_the_source_that_is_named_first(browser: Browser, tmp_path: Path):
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", member("a"), member("b", 0.1))])
    calibration = calibration_file(tmp_path / "c.json", calls=2, groups=8)
    for sources, view in (((calibration, results), "Judge"), ((results, calibration), "Groups")):
        page = report_of(tmp_path, *sources)
        browser.open(page)
        assert browser.texts(".views a[aria-current=page]") == [view]
        browser.open(page, "#group=g")
        assert browser.texts(".views a[aria-current=page]") == ["Groups"], "an address of a group is followed"
