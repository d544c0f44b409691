import re

import numpy as np
import pandas as pd
import pytest
from browser import open_browser

from whyflag import Domain, Ensemble, Explainer
from whyflag.detectors import GMM
from whyflag.distribution import Distribution
from whyflag.report import write_report

EVIL = "<script>document.title='run'</script>"
RNG = np.random.default_rng(0)
NORMAL = pd.DataFrame(RNG.normal(size=(300, 3)), columns=["length", EVIL, "weight"])
DETECTOR = GMM(1, random_state=0).fit(NORMAL)
ODD = pd.DataFrame(
    [[0.0, 9, 0], [12, 0, 0], [0, 0, -7], [0.1, 0, 0]],
    columns=NORMAL.columns,
    index=["pump 1", "<img src=x onerror=\"document.title='run'\">", "pump 10", "pump 2"],
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    explain = Ensemble([Explainer(DETECTOR, NORMAL, method) for method in ("ASH", "wKSH")])
    normal = Distribution.of(NORMAL.to_numpy())
    write_report(explain(ODD), path, normal=normal, title=f"Odd {EVIL}")
    return path


@pytest.fixture(scope="module")
def browser():
    browser = open_browser()
    yield browser
    browser.quit()


@pytest.fixture
def page(browser, report):
    browser.get(report.as_uri())
    return browser


def all_of(page, selector):
    return page.find_elements("css selector", selector)


def one_of(page, selector):
    return page.find_element("css selector", selector)


def names(page):
    return [each.text for each in all_of(page, "#rows tbody button")]


def test_the_file_needs_nothing_else(report):
    text = report.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)
    assert "default-src 'none'" in text
    assert text.count("<script") == 2  # the data, and the code


def test_five_hundred_rows_are_under_five_megabytes(tmp_path):
    names = [f"measurement number {i}" for i in range(60)]
    normal = pd.DataFrame(RNG.normal(size=(300, 60)), columns=names)
    explain = Explainer(GMM(1, reg_covar=0.1).fit(normal), normal, "IG")
    said = explain(RNG.normal(size=(600, 60)) * 2)
    path = tmp_path / "r.html"
    write_report(said, path, normal=Distribution.of(normal.to_numpy()))
    assert path.stat().st_size < 5e6
    assert "Shown are the 500 rows with the highest scores" in path.read_text(encoding="utf-8")


def test_it_shows_the_row_with_the_highest_score_first(page):
    assert one_of(page, "#detail-title").text == f"Row {ODD.index[1]}"
    first = one_of(page, ".attributions tbody tr")
    assert first.text.startswith("length")
    assert "12 →" in first.text
    assert "above every normal value" in first.text


def test_names_are_shown_and_never_run(page):
    assert "run" not in page.title.replace("document.title='run'", "")
    assert page.title == f"Odd {EVIL}"
    assert EVIL in one_of(page, "body").text
    assert not all_of(page, "main img")


def test_nothing_is_logged(page):
    assert [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_clicking_a_row_shows_it(page):
    all_of(page, "#rows tbody tr")[-1].click()
    assert one_of(page, "#detail-title").text == "Row pump 2"
    assert "below the alarm" in one_of(page, "#detail-body").text


def test_sorting_by_name_counts_as_people_do(page):
    one_of(page, "#rows th button[data-key=name]").click()
    assert names(page)[1:] == ["pump 1", "pump 2", "pump 10"]
    assert one_of(page, "#rows th").get_attribute("aria-sort") == "ascending"
    one_of(page, "#rows th button[data-key=name]").click()
    assert names(page)[:3] == ["pump 10", "pump 2", "pump 1"]


def test_search_finds_rows_and_culprits(page):
    search = one_of(page, "#search")
    search.send_keys("pump 1")
    assert set(names(page)) == {"pump 1", "pump 10"}
    assert one_of(page, "#found").text == "2 of 4 rows"
    search.clear()
    search.send_keys("WEIGHT")
    assert "pump 10" in names(page)


def test_keys_go_from_row_to_row(page):
    body = one_of(page, "body")
    body.send_keys("\ue015")  # down
    assert one_of(page, "#detail-title").text == f"Row {names(page)[1]}"
    page.switch_to.active_element.send_keys("\ue013")  # up
    assert one_of(page, "#detail-title").text == f"Row {names(page)[0]}"
    page.switch_to.active_element.send_keys("/")
    assert page.switch_to.active_element.get_attribute("id") == "search"


def test_a_sentence_says_what_happened_and_what_would_have_been_normal(page):
    sentence = one_of(page, "#detail-body .sentence").text
    assert "with the rest as it is" in sentence
    assert "ends the alarm" in sentence or "end the alarm" in sentence
    normal = one_of(page, "#detail-body .normal").text
    assert normal in sentence


def test_methods_have_their_say(page):
    heads = [head.text for head in all_of(page, ".members th[scope=col]")]
    assert heads == ["Share of the score", "ASH", "wKSH"]


def test_a_remark_stands_on_its_row_and_nowhere_else(browser, tmp_path):
    path = tmp_path / "stuck.html"
    write_report(Explainer(DETECTOR, NORMAL, domain=Domain(3, fixed=[0]))(ODD), path)
    browser.get(path.as_uri())
    assert "still raises the alarm: its score is" in one_of(browser, "#detail-body .remark").text
    marked = [line.text for line in all_of(browser, "#rows tbody tr") if "!" in line.text]
    assert len(marked) == 1
    all_of(browser, "#rows tbody tr")[1].click()
    assert not all_of(browser, ".remark")


def test_a_group_leads_to_its_rows(page):
    one_of(page, "#groups button").click()
    assert one_of(page, "#rows tr[aria-current=true]")


def test_every_table_has_headers_and_every_drawing_a_text(page):
    for table in all_of(page, "table"):
        assert table.find_elements("css selector", "th[scope=col]")
    for drawing in all_of(page, "svg"):
        assert drawing.get_attribute("role") == "img"
        assert drawing.get_attribute("aria-label")
    for field in all_of(page, "input"):
        assert all_of(page, f"label[for={field.get_attribute('id')}]")


def lightness(page, selector, what):
    colour = one_of(page, selector).value_of_css_property(what)
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_it_is_light_or_dark_as_asked(page):
    assert lightness(page, "body", "background-color") > 200
    one_of(page, "#theme").click()
    assert lightness(page, "body", "background-color") < 60
    assert lightness(page, "body", "color") > 200
    assert one_of(page, "#theme").get_attribute("aria-pressed") == "true"


def test_a_phone_in_the_dark_has_no_sideways_scrolling(report):
    phone = open_browser(width=390, height=800, dark=True)
    try:
        phone.get(report.as_uri())
        assert lightness(phone, "body", "background-color") < 60
        width = phone.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390
    finally:
        phone.quit()
