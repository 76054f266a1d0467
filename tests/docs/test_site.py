"""The documentation is complete; its site builds without a warning, fetches nothing from elsewhere, finds what people search
for, and reads well on a phone and on a desk, in light and in dark, with a keyboard and with a screen reader."""

from __future__ import annotations

import collections
import contextlib
import functools
import html
import http.server
import importlib.util
import os
import re
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest

import staticgrad as sg
from tests.browser import drivers
from tests.helpers import sweep
from tools.example_runs import reference

ROOT = Path(__file__).resolve().parents[2]
PATHS = [path for page in reference.pages() for path in page.paths]


def test_every_export_is_on_one_page():
    listed = collections.Counter(path for path in PATHS if path.count(".") == 1)
    assert listed == dict.fromkeys((f"staticgrad.{name}" for name in reference.exports(sg)), 1)


def test_every_page_has_entries():
    assert [page.name for page in reference.pages() if not page.paths] == []


def test_what_is_public_has_a_sentence_of_its_own():
    assert reference.silent() == []  # or the site does not build


def test_every_description_has_words_of_its_own():
    """A table of the reference that says no more than another name helps nobody."""
    bare = re.compile(r"(?:As )?`[\w.]+`[.,]?")
    found = {path: reference.sentence(path) for path, key in reference.names().items() if path == key}
    assert [path for path, text in found.items() if bare.fullmatch(text)] == []


def test_the_badges_say_what_the_project_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = sorted(re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"])), key=lambda name: int(name[2:]))
    text = f"version {project['version']}, Python {pythons[0]} to {pythons[-1]}, {project['license']} licence"
    picture = (ROOT / "docs" / "images" / "badges.svg").read_text(encoding="utf-8")
    assert f'aria-label="{text}"' in picture
    assert all(
        f">{part}</text>" in picture for part in (project["version"], f"{pythons[0]} to {pythons[-1]}", project["license"])
    )
    assert f"![{text}](docs/images/badges.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


# the site -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings_handlers.python")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def pages_of(site: Path) -> dict[str, str]:
    return {str(file.relative_to(site)): file.read_text(encoding="utf-8") for file in sorted(site.rglob("*.html"))}


def test_the_site_has_a_page_for_each_part_of_the_reference(site):
    for page in reference.pages():
        for file in page.files:
            assert (site / file.removesuffix(".md") / "index.html").exists(), file


FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>]*"""
    r"""|<link\b(?![^>]*\brel=["']?(?:canonical|alternate))[^>]*\bhref=["']?(?:https?:)?//[^"'>]*"""
    r"""|@import|url\(["']?(?:https?:)?//[^)]*""",
    re.IGNORECASE,
)


def test_no_page_fetches_anything_from_elsewhere(site):
    found = {name: FETCHED.findall(text) for name, text in pages_of(site).items()}
    found |= {str(file): FETCHED.findall(file.read_text(encoding="utf-8")) for file in site.rglob("*.css")}
    assert {name: parts for name, parts in found.items() if parts} == {}


def test_each_page_has_a_title_of_its_own(site):
    titles = collections.defaultdict(list)
    for name, text in pages_of(site).items():
        if name != "404.html":
            titles[html.unescape(re.search(r"<title>(.*?)</title>", text, re.DOTALL)[1])].append(name)
    assert {title: names for title, names in titles.items() if len(names) > 1} == {}


def test_pages_have_one_first_heading_and_pictures_have_words(site):
    for name, text in pages_of(site).items():
        if name != "404.html":
            assert len(re.findall(r"<h1\b", text)) == 1, name
        assert [tag for tag in re.findall(r"<img\b[^>]*>", text) if not re.search(r"""\balt=["'][^"']""", tag)] == [], name


# in a browser ---------------------------------------------------------------------------------------------------------------

WIDTHS = (390, 768, 1280)
LOOKED_AT = (
    "", "start/", "performance/", "torch_packages/", "reference/optim/", "reference/optim/adam/", "recipes/tabular/",
    "compares/", "reference/autograd/",
)  # fmt: skip
"""A page of each kind: front, guide, tables and a chart, one wide table, overview, classes, a recipe, prose."""
SEARCHES = {
    "Linear": "#staticgrad.nn.Linear",
    "cross_entropy": "#staticgrad.functional.cross_entropy",
    "Adam": "#staticgrad.optim.Adam",
    "placeholder": "#staticgrad.placeholder",
    "early stopping": "recipes/tabular/",
    "where": "#staticgrad.where",
    "how to save a model": "start/#save-and-load-a-model",
    "load a checkpoint": "start/#train-with-checkpoints",
    "learning rate schedule": "start/#learning-rate-schedules",
    "save to onnx": "interchange/#save-and-load-onnx-models",
    "how do I compile a training step?": "start/#compile-the-step",
    "why is my step slow": "speed/#why-is-a-step-slow-a-checklist",
    "how to find where NaN comes from": "debugging/#nan",
    "convert a pytorch model": "recipes/ship/",
    "train on several machines": "scale/",
    "reproducible random numbers": "numerics/#random-numbers-one-seed-reproducible-results",
    "write my own optimizer": "extending/#an-optimizer",
    "train with scikit-learn": "interchange/#scikit-learn",
    "mixed precision training": "speed/#mixed-precision-training-with-floats-of-16-bits",
    "how to use a gpu": "questions/#does-it-use-a-gpu",
    "does it run on windows": "questions/#does-it-run-on-windows-or-macos",
    "gradient clipping": "questions/#gradient-clipping",
    "custom loss function": "questions/#a-custom-loss-function",
    "freeze layers": "questions/#freeze-layers-or-fine-tune-some-of-them",
    "resume training after a crash": "questions/#resume-training-after-a-crash",
    "compilation takes too long": "questions/#compilation-takes-too-long",
    "data parallel training on multiple cpus": "questions/#train-on-several-cpus-threads-and-processes",
    "gradient is none": "questions/#the-gradient-is-none",
    "custom gradient": "questions/#a-custom-loss-function",
    "deploy without python": "recipes/ship/",
    "why does it recompile": "debugging/#retraces",
    "time series forecasting": "recipes/forecaster/",
    "profile training": "questions/#profile-training-what-takes-the-time",
    "number of threads": "questions/#the-number-of-threads",
    "progress bar": "questions/#a-progress-bar",
}
"""What people search for, and the address that has to come first."""


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(_Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    yield from drivers(tmp_path_factory.mktemp("browser"))


def shown(browser, address: str, width: int, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get("about:blank")
    browser.get(address)


@pytest.mark.browser
@pytest.mark.parametrize("page", LOOKED_AT)
def test_pages_fit_and_fetch_nothing_from_elsewhere(browser, address, page):
    for width in WIDTHS:
        shown(browser, address + page, width, "light")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth"), width
        assert browser.execute_script(BROKEN) == [], width
        assert browser.execute_script(WIDER) == 0, width
    fetched = browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert [name for name in fetched if not name.startswith(address)] == []


BROKEN = """
const names = [...document.querySelectorAll("td code, th code, td .name")];
const whole = names.filter((one) => !one.closest(".names td + td")); // what is beside a name may be a call
return whole.filter((one) => one.getClientRects().length > 1).map((one) => one.textContent);
"""
"""Names in tables that go over more than one line."""
WIDER = """
const tables = [...document.querySelectorAll(".table.names")];
return innerWidth < 700 ? tables.filter((one) => one.scrollWidth > one.clientWidth + 1).length : 0;
"""
"""How many tables of names have to be scrolled sideways on a phone, where each row is a block."""


@pytest.mark.browser
@pytest.mark.parametrize("page", sweep(["costs/", *LOOKED_AT], lambda i, _: i % 3 == 0))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing(browser, address, page, scheme):
    """axe-core's rules of WCAG 2.1 and its best practices: contrast, labels, order of headings, roles, the keyboard.

    All but one: two menus of the theme have one name where one of them is for narrow screens. Of a table the first rows, which
    the others are like: thousands of cells take minutes."""
    package = importlib.util.find_spec("axe_core_python")
    if package is None:
        pytest.skip("axe-core-python brings axe-core")
    axe = (Path(package.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")
    shown(browser, address + page, 1280, scheme)
    browser.execute_script(axe)
    browser.set_script_timeout(300)
    options = {"rules": {"landmark-unique": {"enabled": False}}}
    parts = {"exclude": [["tbody tr:nth-child(n + 9)"]]}
    found = browser.execute_async_script("axe.run(arguments[0], arguments[1]).then(arguments[2])", parts, options)
    assert found["passes"]
    told = [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
    assert told == []


@pytest.mark.browser
def test_colors_are_the_systems_until_a_reader_chooses(browser, address):
    ground = "return getComputedStyle(document.body).backgroundColor"
    shown(browser, address, 1280, "light")
    light = browser.execute_script(ground)
    shown(browser, address, 1280, "dark")
    assert browser.execute_script(ground) != light


@pytest.mark.browser
@pytest.mark.parametrize("query", sweep(SEARCHES, lambda i, _: i % 6 == 0))
def test_the_search_finds_first(browser, address, query):
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.wait import WebDriverWait

    shown(browser, address, 1280, "light")
    box = browser.find_element("css selector", ".md-search__input")
    browser.execute_script("arguments[0].focus()", box)
    box.send_keys(query)
    first = "return [...document.querySelectorAll('.md-search-result__item:first-child a')].map((one) => one.href)"
    links: list[str] = []

    def comes(driver) -> bool:  # the page, and below it its parts; results of the first letters may be there before
        links[:] = driver.execute_script(first)
        return any(re.sub(r"\?[^#]*", "", link).endswith(SEARCHES[query]) for link in links)

    with contextlib.suppress(TimeoutException):
        WebDriverWait(browser, 60).until(comes)
    assert comes(browser), links
