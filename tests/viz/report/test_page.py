"""The page of a comparison: its data, and the page itself in a browser without a window."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.compiler.execute.explain import cost
from staticgrad.compiler.execute.profile import Limits
from staticgrad.viz.report.page import _decisions, timed_limits
from tests.browser import drivers


@pytest.fixture(scope="module")
def compared():
    """A training step of a small network in all modes."""
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)  # </script>
        return loss, opt.minimize(loss)

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 4)).astype("float32"), rng.integers(0, 3, 6)
    return sg.compare(step, x, y, repeats=8, peers={"broken": lambda x, y: x.missing})


@pytest.fixture(scope="module")
def written(compared, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    compared.to_html(path)
    return path


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_one_file_with_all_data(compared, written):
    text = written.read_text(encoding="utf-8")
    assert not re.search(r"""(src|href)=["']https?:|@import|url\(http""", text)  # nothing is fetched
    assert "{{" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    data = data_of(written)
    assert data["verdict"] == compared.verdict
    assert [p["name"] for p in data["pictures"]] == ["Eager tape", "Define-then-run graph", "Optimized graph with kernels"]
    plan = data["plan"]
    assert len(plan["instructions"]) == len(compared["compiled"].plan.instructions)
    assert plan["sources"] == list(compared["compiled"].plan.sources().values())
    timed = [row for row in plan["instructions"] if row["us"] is not None]
    assert timed
    assert all(row["least"] > 0 for row in timed if row["kind"] in ("kernel", "gemm"))
    [segment] = plan["segments"]
    critical = compared["compiled"].plan.explain().critical
    assert [i for i, row in enumerate(plan["instructions"]) if row["critical"]] == sorted(critical.instructions)
    assert [i for i, row in enumerate(plan["instructions"]) if row["critical"] == 2] == sorted(critical.dominating)
    assert (critical.timed, segment["critical"]) == (True, pytest.approx(critical.share, abs=1e-3))
    assert [name for name, *_ in segment["stages"]][-1] == "end"
    assert sum(times for *_, times, _, _ in plan["log"]["decisions"]) == len(_decisions(compared["compiled"].plan))
    assert sum(n for *_, n in plan["log"]["rewrites"]) == len(compared["compiled"].plan.rewrites)
    assert all(0 <= first <= last < len(plan["instructions"]) for _, _, first, last, _ in segment["memory"])
    lines = [text for text in data["texts"] if text.startswith("test_page.py:")]
    assert any("cross_entropy(model(x), y)  # </script>" in line for line in lines)


def test_limits_that_were_measured_under_load_are_raised(monkeypatch, compared):
    plan = compared["compiled"].plan
    product = next(i for i, each in enumerate(plan.instructions) if each.kind == "gemm")
    monkeypatch.setattr(plan, "times", {product: 2.0})
    slow = Limits(1.0, ((1 << 20, 1.0),))
    found = timed_limits([plan], slow)
    assert found.least_us(cost(plan.instructions[product])) == pytest.approx(2.0)
    monkeypatch.setattr(plan, "times", {product: 0.001})  # less than the clock can tell
    assert timed_limits([plan], slow) == slow


def test_a_page_of_values_alone(tmp_path):
    result = sg.compare(lambda x: x * 2, np.ones(3, "float32"), repeats=1, order=0, modes=[])
    path = tmp_path / "report.html"
    result.to_html(path)
    data = data_of(path)
    assert data["plan"] is None
    assert data["pictures"] == []


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    """The page of a function that is cut twice, and its comparison."""
    w = sg.tensor(np.full((3, 2), 0.5, "float32"), requires_grad=True)

    def step(x):
        h = sg.tanh(x @ w)
        h = h * 2 if float(h.sum()) > 0 else h * 3
        return (h * h).sum() if float(h.max()) < 9 else h.sum()

    result = sg.compare(step, np.ones((4, 3), "float32"), repeats=2, order=1, modes=["compiled"])
    path = tmp_path_factory.mktemp("report") / "cut.html"
    result.to_html(path)
    return result, path


def test_all_segments_are_on_the_page(cut):
    result, path = cut
    data, mode = data_of(path), result["compiled"]
    texts, plan, drawing = data["texts"], data["plan"], data["pictures"][-1]
    plans = [segment.plan for segment in mode.segments]
    assert mode.cuts == 2
    assert len(plans) == 3
    assert mode.host_calls == sum(each.host_calls for each in plans)
    assert mode.kernels == len(plan["sources"]) == len({code for each in plans for code in each.sources()})
    assert [segment["count"] for segment in plan["segments"]] == [len(each.instructions) for each in plans]
    assert [row["segment"] for row in plan["instructions"]] == [i for i, each in enumerate(plans) for _ in each.instructions]
    outer = [texts[title] for title, _, kind, _ in drawing["groups"] if texts[kind] == "segment"]
    assert outer == [texts[segment["title"]] for segment in plan["segments"]]
    assert re.fullmatch(r"segment 0, cut at test_page.py:\d+ for __float__", outer[0])
    assert outer[-1] == "segment 2, to the end of the function"
    assert sum(texts[node[0]].split(" ")[1].startswith("cut") for node in drawing["nodes"]) == 2
    for title, parent, kind, number in drawing["groups"]:
        if texts[kind] == "kernel":  # in the drawing of its segment
            row = plan["instructions"][number]
            assert texts[row["name"]].startswith(texts[title].partition(" ")[2][:30])
            while texts[drawing["groups"][parent][2]] != "segment":
                parent = drawing["groups"][parent][1]
            assert texts[drawing["groups"][parent][0]] == outer[row["segment"]]


# in a browser -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from drivers(tmp_path_factory.mktemp("browser"))


@pytest.fixture
def opened(browser, written):
    browser.get(written.as_uri())
    assert browser.execute_script("return document.documentElement.dataset.ready") == "true"
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []  # no error, and nothing was fetched


OVERLAPPING = """
const all = [...document.querySelectorAll(".graph .box:not(.open)")].map((one) => one.getBoundingClientRect());
const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
return all.filter((a, i) => all.some((b, j) => j < i && meet(a, b))).length;
"""
UNNAMED = """
const named = (one) => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby") || one.textContent.trim() ||
  (one.id && document.querySelector(`label[for="${one.id}"]`));
const all = document.querySelectorAll("button, input, select, [role], section, svg");
return [...all].filter((one) => !named(one)).length;
"""
CONTRAST = """
const linear = (x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const light = (text) => {
  const c = text.match(/[\\d.]+/g).map((x) => linear(x / 255));
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
};
const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const of = (selector, name) => getComputedStyle(document.querySelector(selector))[name];
const style = (one, tag) => getComputedStyle(one.querySelector(tag)).fill;
const boxes = [...document.querySelectorAll(".graph .box")].map((one) => ratio(style(one, "text"), style(one, "rect")));
const body = of("body", "backgroundColor");
return {
  body, text: ratio(of("body", "color"), body), note: ratio(of("figcaption", "color"), of("section", "backgroundColor")),
  box: Math.min(...boxes), link: ratio(of("a", "color"), body),
};
"""
"""The contrast of texts: WCAG 2.1 wants 4.5."""


def find(driver, selector):
    return driver.find_elements("css selector", selector)


def keys(driver, *names):
    """Type into the element that has the focus."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    actions = ActionChains(driver)
    for name in names:
        actions.send_keys(getattr(Keys, name, name))
    actions.perform()


def boxes(driver):
    return len(find(driver, ".graph .box"))


@pytest.mark.browser
def test_it_renders(opened, compared):
    assert [h.text for h in find(opened, "h2")] == ["Modes", "Losses", "Graphs", "Kernels", "Differences", "Compile log"]
    assert find(opened, ".verdict")[0].text == compared.verdict
    assert "broken could not be run: AttributeError" in opened.find_element("id", "modes").text
    for chart in find(opened, "svg.chart"):
        assert chart.size["height"] > 60
        assert chart.find_elements("css selector", "line, rect, polyline, circle")
    assert opened.execute_script("return document.documentElement.scrollWidth <= innerWidth + 1")
    for i in range(3):
        opened.execute_script(f"open({i}); views[{i}].fold(false)")
        assert boxes(opened) > 20
        assert opened.execute_script(OVERLAPPING) == 0


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 768])
def test_it_fits_narrow_screens(opened, width):
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 700}
    opened.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        assert opened.execute_script("return innerWidth") == width
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.browser
def test_a_click_shows_the_source_of_a_kernel(opened, compared):
    opened.execute_script("open(2); views[2].fold(true)")
    from selenium.webdriver.common.action_chains import ActionChains

    opened.execute_script("views[2].fold(false); views[2].fit(); document.getElementById('graphs').scrollIntoView()")
    kernel = next(box for box in find(opened, ".graph .box.kernel") if " kernel " in box.get_attribute("aria-label"))
    title = kernel.find_element("css selector", "text")
    ActionChains(opened).move_to_element(title).click().perform()
    panel = find(opened, ".panel")[0]
    assert panel.find_element("css selector", "pre").text.startswith("@kernel\ndef kernel(")
    assert "% of the limit" in panel.text
    assert "test_page.py:" in panel.find_element("css selector", ".lines").text
    opened.execute_script("arguments[0].click()", find(opened, "#kernels button.link")[0])  # the slowest instruction
    assert find(opened, ".graph .box.selected")[0].get_attribute("aria-label").startswith("kernel ")


@pytest.mark.browser
def test_each_kernel_of_each_segment_is_a_click_away(browser, cut):
    browser.get(cut[1].as_uri())
    kernels = browser.execute_script("return instructions.filter((row) => row.source >= 0).map((row) => row.number)")
    titles = browser.execute_script("return instructions.map((row) => texts[plan.segments[row.segment].title])")
    assert len(kernels) > 3
    for number in kernels:
        browser.execute_script("select(arguments[0])", number)
        assert find(browser, ".graph .box.selected")[0].get_attribute("aria-label").startswith(f"kernel {number} ")
        panel = find(browser, ".panel")[0]
        assert panel.find_element("css selector", "pre").text.startswith("@kernel\ndef kernel(")
        assert titles[number] in panel.text
    browser.execute_script("open(views.length - 1); views[views.length - 1].fold(true)")
    labels = [box.get_attribute("aria-label") for box in find(browser, ".graph .box.segment")]
    assert [label.partition(",")[0] for label in labels] == ["segment 0", "segment 1", "segment 2"]
    arenas = browser.execute_script("return plan.segments.map((one) => one.memory.length && bytesText(one.arena))")
    options = find(browser, "#memory-of option")
    assert len(options) > 1
    for option, arena in zip(options, filter(None, arenas), strict=True):
        option.click()
        [chart] = find(browser, "#kernels svg[aria-label^='Memory over']")
        assert f"an arena of {arena}," in chart.get_attribute("aria-label")
    assert browser.execute_script(UNNAMED) == 0
    assert browser.execute_script(OVERLAPPING) == 0
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.browser
def test_folding(opened):
    opened.execute_script("open(1); views[1].fold(true)")
    folded = boxes(opened)
    from selenium.webdriver.common.action_chains import ActionChains

    group = find(opened, ".graph .box.group")[0]
    name = group.get_attribute("aria-label")
    assert group.get_attribute("aria-expanded") == "false"
    opened.execute_script("document.getElementById('graphs').scrollIntoView()")
    ActionChains(opened).move_to_element(group.find_element("css selector", ".fold")).click().perform()
    unfolded = boxes(opened)
    assert unfolded > folded
    group = next(
        b for b in find(opened, ".graph .box.group.open") if b.get_attribute("aria-label").split(",")[0] == name.split(",")[0]
    )
    assert group.get_attribute("aria-expanded") == "true"
    find(opened, ".panel button")[0].click()
    assert boxes(opened) == folded
    for label, count in (("Unfold all", unfolded + 1), ("Fold all", folded)):
        find(opened, f"[aria-label='{label}']")[0].click()
        assert boxes(opened) >= count if label == "Unfold all" else boxes(opened) == count


@pytest.mark.browser
def test_the_keyboard_alone(opened):
    opened.execute_script("open(2); views[2].fold(true); views[2].focus()")
    before = boxes(opened)
    active = "return document.activeElement.getAttribute(arguments[0])"
    assert opened.execute_script(active, "aria-expanded") == "false"
    keys(opened, "ENTER")
    assert boxes(opened) > before
    assert opened.execute_script(active, "aria-expanded") == "true"
    first = opened.execute_script(active, "aria-label")
    keys(opened, "ARROW_DOWN")
    second = opened.execute_script(active, "aria-label")
    assert second != first
    keys(opened, "ARROW_UP")
    assert opened.execute_script(active, "aria-label") == first
    box = find(opened, ".graph")[0].get_dom_attribute("viewBox")
    keys(opened, "+")
    assert find(opened, ".graph")[0].get_dom_attribute("viewBox") != box
    keys(opened, "ENTER")
    assert boxes(opened) == before
    tab = opened.find_element("id", "tab-2")
    tab.send_keys("\ue012")  # left
    assert opened.find_element("id", "tab-1").get_attribute("aria-selected") == "true"
    assert opened.execute_script("return document.activeElement.id") == "tab-1"
    assert len(find(opened, ".graph .box[tabindex='0']")) == 1  # one stop on the way of Tab


@pytest.mark.browser
def test_labels_for_screen_readers(opened):
    assert opened.execute_script(UNNAMED) == 0
    assert opened.execute_script("return document.documentElement.lang") == "en"
    assert all(th.get_attribute("scope") for th in find(opened, "th"))
    assert find(opened, "[role=tablist] [role=tab][aria-selected=true]")


@pytest.mark.browser
def test_light_and_dark(opened):
    seen = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        seen[scheme] = opened.execute_script(CONTRAST)
        assert all(seen[scheme][part] >= 4.5 for part in ("text", "note", "box", "link")), seen[scheme]
    assert seen["light"]["body"] != seen["dark"]["body"]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.browser
def test_the_log_filters(opened):
    rows = "#compile-log tbody tr td.yes, #compile-log tbody tr td.no"
    every = len(find(opened, rows))
    assert every > 5
    opened.find_element("id", "filter").send_keys("tanh")
    assert 0 < len(find(opened, rows)) < every
