import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from browser import open_browser

from whyflag import Domain, Ensemble, Explainer
from whyflag.detectors import GMM
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
    cells = [{"id": name, "length": "1", "=1+1": "=cmd()"} for name in ODD.index]
    write_report(
        explain(ODD), path, title=f"Odd {EVIL}", cells=cells, id_column="id",
        provenance={"Rows": f"odd.csv {EVIL}"},
    )  # fmt: skip
    return path


@pytest.fixture(scope="module")
def browser():
    browser = open_browser()
    yield browser
    browser.quit()


@pytest.fixture
def page(browser, report):
    browser.get("about:blank")  # so that an address with a row is not the same page
    browser.get(report.as_uri())
    return browser


def all_of(page, selector):
    return page.find_elements("css selector", selector)


def one_of(page, selector):
    return page.find_element("css selector", selector)


def names(page):
    return [each.text for each in all_of(page, "#rows tbody a")]


def chosen(page):
    (article,) = [each for each in all_of(page, "article") if each.is_displayed()]
    return article


def title_of(page):
    return chosen(page).find_element("css selector", "h2").text.removesuffix(" #")


def errors(page):
    return [entry for entry in page.get_log("browser") if entry["level"] == "SEVERE"]


class Parts(HTMLParser):
    """What a page would run or load, and what it says."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def test_the_file_needs_nothing_else(report):
    parts = Parts(report.read_text(encoding="utf-8"))
    assert parts.tags.count("script") == parts.tags.count("style") == 1
    assert not {"img", "iframe", "object", "embed", "form", "base"} & set(parts.tags)
    for name, value in parts.attributes:
        assert not name.startswith("on")
        assert name != "style"  # the policy would not have it
        if name in ("href", "src", "action"):
            assert value.startswith("#") or value == "data:,"
    (policy,) = [value for name, value in parts.attributes if value and "default-src" in value]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; style-src 'sha256-")


def test_nothing_but_its_own_script_runs(page):
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s);"
        "const t = document.createElement('style'); t.textContent = 'body { display: none }';"
        "document.body.append(t);"
    )
    assert page.execute_script("return window.ran") is None
    assert one_of(page, "h1").is_displayed()
    assert (
        len([entry for entry in errors(page) if "Content Security Policy" in entry["message"]]) > 1
    )


def test_five_hundred_rows_are_under_five_megabytes(tmp_path):
    names = [f"measurement number {i}" for i in range(60)]
    normal = pd.DataFrame(RNG.normal(size=(300, 60)), columns=names)
    explain = Explainer(GMM(1, reg_covar=0.1).fit(normal), normal, "IG")
    said = explain(RNG.normal(size=(600, 60)) * 2)
    path = tmp_path / "r.html"
    write_report(said, path)
    assert path.stat().st_size < 5e6
    text = path.read_text(encoding="utf-8")
    assert "Shown are the 500 rows with the highest scores. 100 others that raise an alarm" in text


def test_it_shows_the_row_with_the_highest_score_first(page):
    assert title_of(page) == f"Row {ODD.index[1]}"
    first = chosen(page).find_element("css selector", ".why tbody tr")
    assert first.text.startswith("length")
    assert first.find_element("css selector", ".observed strong").text == "12"
    assert "above every normal row" in first.text


def test_names_are_shown_and_never_run(page):
    assert "run" not in page.title.replace("document.title='run'", "")
    assert page.title == f"Odd {EVIL}"
    assert EVIL in one_of(page, "body").text
    assert EVIL in one_of(page, "#made").text
    assert not all_of(page, "main img")
    assert errors(page) == []


def test_clicking_a_row_shows_it_and_the_address_leads_to_it(page, report):
    all_of(page, "#rows tbody tr")[-1].click()
    assert title_of(page) == "Row pump 2"
    assert "No alarm" in chosen(page).find_element("css selector", ".verdict").text
    assert page.current_url == f"{report.as_uri()}#row-pump%202"
    address = page.current_url
    page.get("about:blank")
    page.get(address)
    assert title_of(page) == "Row pump 2"
    page.execute_script("location.hash = '#row-pump%2010'")
    assert title_of(page) == "Row pump 10"
    assert errors(page) == []


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
    one_of(page, "#every").click()
    assert len(names(page)) == 4


def test_keys_go_from_row_to_row(page):
    body = one_of(page, "body")
    body.send_keys("\ue015")  # down
    assert title_of(page) == f"Row {names(page)[1]}"
    page.switch_to.active_element.send_keys("\ue013")  # up
    assert title_of(page) == f"Row {names(page)[0]}"
    page.switch_to.active_element.send_keys("/")
    assert page.switch_to.active_element.get_attribute("id") == "search"


def test_a_sentence_says_what_happened_and_what_would_have_been_normal(page):
    sentence = chosen(page).find_element("css selector", ".sentence").text
    assert "with the rest as it is" in sentence
    assert "That alone ends the alarm" in sentence
    normal = chosen(page).find_element("css selector", ".normal").text
    assert normal in sentence


def saved(page):
    """What the button saves, on its way to a file."""
    page.execute_script(
        "URL.createObjectURL = (blob) => "
        "{ blob.text().then((text) => { window.saved = text; }); return '#'; };"
    )
    one_of(page, "#export").click()
    text = page.execute_async_script(
        "const done = arguments[0]; const look = () => window.saved ? done(window.saved) :"
        " setTimeout(look, 20); look();"
    )
    return list(csv.DictReader(io.StringIO(text)))


def test_what_is_listed_is_saved_as_csv(page):
    one_of(page, "#search").send_keys("pump 1")
    table = saved(page)
    assert {line["row"] for line in table} == {"pump 1", "pump 10"}
    first = next(line for line in table if line["row"] == "pump 1")
    assert (first["column"], first["observed"], first["alarm"]) == (EVIL, "9", "yes")
    assert float(first["score"]) > 10
    assert " to " in first["range"]
    assert first["normal"] in first["sentence"]
    assert errors(page) == []


def test_what_a_spreadsheet_would_run_is_saved_as_text(browser, tmp_path):
    path = tmp_path / "formula.html"
    write_report(Explainer(DETECTOR, NORMAL)(ODD.set_axis(["=cmd()", "-5", '"a",b', "@x"])), path)
    browser.get(path.as_uri())
    assert {line["row"] for line in saved(browser)} == {"'=cmd()", "-5", '"a",b', "'@x"}


def test_without_a_script_all_is_there(report):
    still = open_browser()
    try:
        still.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        still.get(report.as_uri())
        shown = [each for each in all_of(still, "article") if each.is_displayed()]
        assert len(shown) == len(ODD)
        assert names(still)[0] == ODD.index[1]
        assert not [each for each in all_of(still, ".live") if each.is_displayed()]
        assert all("rest as it is" in each.text or "No alarm" in each.text for each in shown)
        assert errors(still) == []
    finally:
        still.quit()


def test_methods_have_their_say(page):
    heads = [head.text for head in chosen(page).find_elements("css selector", ".members th")]
    assert "The methods agree on" in chosen(page).text
    one_of(page, "article.chosen details:last-of-type summary").click()
    heads = [
        head.text for head in chosen(page).find_elements("css selector", ".members th[scope=col]")
    ]
    assert heads == ["Share of the score", "ASH", "wKSH"]


def test_a_remark_stands_on_its_row_and_nowhere_else(browser, tmp_path):
    path = tmp_path / "stuck.html"
    write_report(Explainer(DETECTOR, NORMAL, domain=Domain(3, fixed=[0]))(ODD), path)
    browser.get(path.as_uri())
    assert "still raises the alarm: its score is" in one_of(browser, ".chosen .remark").text
    marked = [line.text for line in all_of(browser, "#rows tbody tr") if "!" in line.text]
    assert len(marked) == 1
    all_of(browser, "#rows tbody tr")[1].click()
    assert not all_of(browser, ".chosen .remark")


def test_many_rows_are_listed_in_parts_and_a_group_leads_to_its_rows(browser, tmp_path):
    rows = np.zeros((130, 3))
    rows[:70, 0], rows[70:, 2] = np.linspace(8, 9, 70), np.linspace(9, 10, 60)
    path = tmp_path / "many.html"
    write_report(Explainer(DETECTOR, NORMAL)(rows), path)
    browser.get(path.as_uri())
    assert len(names(browser)) == 50
    assert one_of(browser, "#page").text == "1 to 50"
    one_of(browser, "#on").click()
    one_of(browser, "#on").click()
    assert one_of(browser, "#page").text == "101 to 130"
    assert len(names(browser)) == 30
    lines = [line.text for line in all_of(browser, "#groups tbody tr")]
    assert "length > " in lines[0]
    assert "70 of 70 rows, no normal row" in lines[0]
    all_of(browser, "#groups button")[1].click()
    assert one_of(browser, "#found").text == "60 of 130 rows"
    assert title_of(browser) == "Row 129"
    all_of(browser, "#groups th a")[0].click()
    assert title_of(browser) == "Row 69"
    assert errors(browser) == []


def test_every_table_has_headers_and_every_drawing_a_text(page):
    for table in all_of(page, "table"):
        assert table.find_elements("css selector", "th[scope=col]")
    for drawing in all_of(page, "main svg"):
        if drawing.get_attribute("aria-hidden"):  # a text says the same beside it
            assert page.execute_script("return arguments[0].nextSibling.textContent", drawing)
            continue
        assert drawing.get_attribute("role") == "img"
        assert drawing.get_attribute("aria-label")
    for field in all_of(page, "input"):
        assert all_of(page, f"label[for={field.get_attribute('id')}]")


def lightness(page, selector, what):
    colour = one_of(page, selector).value_of_css_property(what)
    return sum(float(part) for part in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_it_is_light_or_dark_as_asked(page):
    assert lightness(page, "body", "background-color") > 200
    assert one_of(page, "#theme").text == "Dark"
    one_of(page, "#theme").click()
    assert lightness(page, "body", "background-color") < 60
    assert lightness(page, "body", "color") > 200
    assert one_of(page, "#theme").text == "Light"


def test_a_phone_in_the_dark_has_no_sideways_scrolling(report):
    phone = open_browser(width=390, height=800, dark=True)
    try:
        phone.get(report.as_uri())
        assert lightness(phone, "body", "background-color") < 60
        width = phone.execute_script("return document.documentElement.scrollWidth")
        assert width <= 390
    finally:
        phone.quit()


def test_on_paper_there_are_the_groups_and_the_chosen_row(page):
    all_of(page, "#rows tbody tr")[-1].click()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert chosen(page).find_element("css selector", "h2").text == "Row pump 2"
        assert not one_of(page, "#list").is_displayed()
        assert not one_of(page, "#theme").is_displayed()
        assert one_of(page, "#made").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert one_of(page, "#list").is_displayed()


def test_three_hundred_columns_fit_a_phone_and_five_megabytes(tmp_path):
    names = [f"sensor {i:03d} of the northern plant" for i in range(300)]
    normal = pd.DataFrame(RNG.normal(size=(400, 300)), columns=names)
    rows = RNG.normal(size=(60, 300))
    rows[:, 7] += 12
    path = tmp_path / "wide.html"
    write_report(Explainer(GMM(1, reg_covar=0.5).fit(normal), normal, "IG")(rows), path)
    assert path.stat().st_size < 5e6
    phone = open_browser(width=390, height=800)
    try:
        phone.get(path.as_uri())
        assert phone.execute_script("return document.documentElement.scrollWidth") <= 390
        assert names[7] in one_of(phone, "#groups").text
        assert errors(phone) == []
    finally:
        phone.quit()
