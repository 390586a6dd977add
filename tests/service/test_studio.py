"""The studio in a real browser: Chromium, driven by Playwright."""

import os
import shutil

import httpx2
import icalendar
import pytest
from service_cases import Database, Server, put_rotation

playwright = pytest.importorskip("playwright.sync_api")  # make test-service installs it
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
expect = playwright.expect
pytestmark = [pytest.mark.service, pytest.mark.xdist_group("browser")]
#: What keeps a browser from looking for anything elsewhere.
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WEEK = {
    "arms": [
        {"name": "jazz", "rest": [0.2, 0.5, 0.9], "streak": [0.1]},
        {"name": "talk", "rest": [0.4], "streak": [0.4]},
        {"name": "<img src=x onerror=alert(1)>", "rest": [0.1, 0.3], "streak": [0.1]},
    ],
    "groups": {"words": ["talk"]},
    "calendar": {"start": "2024-06-03"},
    "rules": [{"rule": "at_least", "who": "words", "plays": 2, "per": "week"}],
    "serve": {"decide": "plan", "holdout": 0.5},
}
LEARNER = {
    "arms": [{"name": "jazz"}, {"name": "talk"}, {"name": "<b>news</b>"}],
    "serve": {"decide": "learner", "holdout": 0.4},
}


def find_chromium():
    """Return where Chromium is; where it is not, say how to get it."""
    given = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if given is None:
        pytest.fail(
            "Chromium is not there; get it with: apt-get install chromium, or say where it is in "
            "the variable CHROMIUM"
        )
    return given


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Serve a planned rotation and a learned one, with some history."""
    where = str(tmp_path_factory.mktemp("studio") / "studio.sqlite")
    database = Database(where, synchronous="NORMAL")
    database.create()
    put_rotation(database, "week", WEEK)
    put_rotation(database, "learned", LEARNER)
    found = Server(where, "--synchronous", "NORMAL").start()
    headers = {"authorization": f"Bearer {found.key}"}
    found.client = httpx2.Client(base_url=found.url, headers=headers, timeout=60)
    for k in range(12):
        asked = {"decisions": [{"subject": f"<i>s{i}</i>"} for i in range(8)]}
        answers = found.client.post("/v1/rotations/learned/decisions/batch", json=asked).json()
        ids = [entry["decision"]["id"] for entry in answers["answers"]][: 7 if k else 8]
        rewards = [{"id": name, "reward": float((k + at) % 3 > 0)} for at, name in enumerate(ids)]
        found.client.post("/v1/decisions/reward", json={"rewards": rewards})
    yield found
    found.client.close()
    found.stop()


@pytest.fixture(scope="module")
def browser():
    """Start Chromium."""
    flags = [*FLAGS, "--no-sandbox"] if os.getuid() == 0 else FLAGS
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=find_chromium(), args=list(flags))
        yield found
        found.close()


@pytest.fixture
def open_page(browser, server):
    """Give a function that opens the studio; at the end nothing was said on the console."""
    contexts, said = [], []

    def open_at(place="", *, width=1280, height=900, scheme="light", key=True, **more):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, **more
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.goto(f"{server.url}/{f'#key={server.key}' if key else ''}")
        if place:
            page.get_by_role("link", name=place).click()
        return page

    expect.set_options(timeout=60_000)
    yield open_at
    for context in contexts:
        context.close()
    assert said == []


def edited(page, name="week"):
    """Open a rotation in the editor, and wait for its plan."""
    page.get_by_label("Open").select_option(f"served {name}")
    expect(page.get_by_label("Name", exact=True)).to_have_value(name)
    settled(page)
    return page


def settled(page):
    """Wait until the plan shown is the plan of what is edited, costs included."""
    expect(page.locator(".right .calendar")).to_be_visible()
    expect(page.locator(".right")).not_to_have_attribute("aria-busy", "true")


def plays(page):
    """Return what the calendar shows."""
    return page.locator(".calendar .play").all_inner_texts()


def test_dragging_a_point_changes_the_plan(open_page):
    """A point dragged down is typed, spoken and planned on."""
    page = edited(open_page())
    before = plays(page)
    assert "jazz" in before
    point = page.get_by_role("slider", name="jazz, after 3 rounds of rest")
    box = point.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 40, steps=5)
    page.mouse.move(x, y + 300, steps=5)
    page.mouse.up()
    assert point.get_attribute("aria-valuenow") == "0"
    expect(page.get_by_label("rested 1, 2, … rounds").first).to_have_value("0.2, 0.5, 0")
    settled(page)
    assert plays(page) != before


def test_arrow_keys_and_typing_change_the_plan(open_page):
    """Whoever has no mouse moves the same points."""
    page = edited(open_page())
    headline = page.locator(".headline").first.inner_text()
    point = page.get_by_role("slider", name="jazz, after 1 round of rest")
    point.focus()
    point.press("ArrowUp")
    assert point.get_attribute("aria-valuenow") == "0.21"
    point.press("ArrowRight")
    page.get_by_role("slider", name="jazz, after 2 rounds of rest").press("End")
    expect(page.get_by_label("rested 1, 2, … rounds").first).to_have_value("0.21, 1, 0.9")
    expect(page.locator(".headline").first).not_to_have_text(headline)
    typed = page.get_by_label("rested 1, 2, … rounds").first
    typed.fill("0.5 1.5")
    typed.press("Tab")
    assert typed.get_attribute("aria-invalid") == "true"
    typed.fill("0.5, 0.6, 0.7, 0.8")
    typed.press("Tab")
    expect(page.get_by_role("slider", name="jazz, after 4 rounds of rest")).to_be_visible()


def test_edits_are_undone_and_survive_a_reload(open_page):
    """One step back, and forth again; what was edited is there after a reload."""
    page = edited(open_page())
    undo, redo = (page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    expect(undo).to_be_disabled()
    point = page.get_by_role("slider", name="jazz, after 1 round of rest")
    point.press("ArrowUp")
    assert point.get_attribute("aria-valuenow") == "0.21"
    undo.click()
    assert point.get_attribute("aria-valuenow") == "0.2"
    expect(undo).to_be_disabled()
    redo.click()
    assert point.get_attribute("aria-valuenow") == "0.21"
    point.press("Control+z")
    assert point.get_attribute("aria-valuenow") == "0.2"
    page.get_by_label("Name", exact=True).fill("mine")
    expect(redo).to_be_disabled()
    page.reload()
    expect(page.locator("#notice")).to_contain_text("what you edited before")
    expect(page.get_by_label("Name", exact=True)).to_have_value("mine")
    page.get_by_label("Open").select_option("served week")
    page.reload()
    expect(page.get_by_label("Name", exact=True)).not_to_have_value("mine")
    expect(page.locator("#notice")).to_be_hidden()


def test_where_arms_stand_can_be_said(open_page):
    """One number or one per arm; anything else is marked, and changes nothing."""
    page = edited(open_page())
    page.get_by_text("Calendar, plays and how it decides").click()
    initial = page.get_by_label("Rested before its first round")
    for wrong in ("0", "1, 2", "often"):
        initial.fill(wrong)
        initial.press("Tab")
        assert initial.get_attribute("aria-invalid") == "true"
    before = page.locator(".headline").first.inner_text()
    initial.fill("9, 1, 1")
    initial.press("Tab")
    assert initial.get_attribute("aria-invalid") is None
    expect(page.locator(".headline").first).not_to_have_text(before)


def test_a_conflict_is_made_read_and_mended(open_page):
    """Rules that cannot hold together are named in the library's words."""
    page = edited(open_page())
    page.get_by_role("button", name="Add a rule").click()
    form = page.get_by_role("form", name="A rule")
    form.get_by_label("The rule says").select_option("never")
    form.get_by_label("talk").check()
    form.get_by_label("on", exact=True).fill("mon-sun")
    expect(form.locator(".sentence")).to_have_text("“talk: never on mon-sun”")
    form.get_by_role("button", name="Add the rule").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("cannot hold together")
    expect(alert).to_contain_text("without 'talk: never on mon-sun' the best plan is worth")
    assert page.locator(".rules > li.conflicting").count() == 2
    page.get_by_role("button", name="Remove: talk: never on mon-sun").click()
    settled(page)
    assert page.get_by_role("alert").count() == 0


def test_rules_say_what_they_cost(open_page):
    """Each rule speaks its sentence, and what it costs."""
    page = edited(open_page())
    rule = page.locator(".rules > li").first
    expect(rule.locator(".sentence")).to_have_text("words: at least 2 plays in every week")
    expect(rule.locator(".cost")).to_contain_text("cost")


def test_downloads(open_page, tmp_path):
    """What is downloaded is what is shown: a feed that parses, a table, a file."""
    page = edited(open_page())
    shown = [text.removesuffix("\npinned") for text in plays(page)]
    with page.expect_download() as found:
        page.get_by_role("button", name="ICS", exact=True).click()
    assert found.value.suggested_filename == "week.ics"
    found.value.save_as(tmp_path / "week.ics")
    feed = icalendar.Calendar.from_ical((tmp_path / "week.ics").read_bytes())
    assert [str(event["summary"]) for event in feed.walk("VEVENT")] == shown
    for form in ("TOML", "CSV"):
        with page.expect_download() as found:
            page.get_by_role("button", name=form, exact=True).click()
        assert found.value.suggested_filename == f"week.{form.lower()}"


def test_names_stay_text(open_page):
    """Markup in the name of an arm or a subject is shown, and nothing comes of it."""
    page = edited(open_page())
    assert page.locator("main img").count() == 0
    assert page.get_by_role("button", name="Remove <img src=x onerror=alert(1)>").count() == 1
    page.get_by_role("link", name="Watch").click()
    page.get_by_label("Rotation").select_option("learned")
    expect(page.locator("figcaption", has_text="<b>news</b>")).to_be_visible()
    expect(page.get_by_role("cell", name="<i>s1</i>").first).to_be_visible()
    assert page.locator("main b, main i").count() == 0


def test_a_decision_arrives(open_page, server):
    """A decision made elsewhere appears by itself, and figures follow."""
    page = open_page("Watch")
    page.get_by_label("Rotation").select_option("learned")
    expect(page.get_by_role("heading", name="What is believed")).to_be_visible()
    expect(page.get_by_role("cell", name="zoe")).to_have_count(0)
    body = {"subject": "zoe"}
    made = server.client.post("/v1/rotations/learned/decisions", json=body).json()
    expect(page.get_by_role("cell", name="zoe")).to_have_count(1)
    row = page.get_by_role("row", name="zoe")
    expect(row).to_contain_text(made["arms"][0])
    told = page.locator(".facts div", has=page.get_by_text("told", exact=True)).locator("dd")
    before = int(told.inner_text())
    server.client.post(f"/v1/decisions/{made['id']}/reward", json={"reward": 1})
    expect(page.get_by_role("cell", name="zoe")).to_have_count(2)
    expect(told).to_have_text(str(before + 1))


def test_everything_needs_a_key(open_page, server):
    """Without a key neither plans nor what happened is shown; one that is given opens both."""
    page = open_page(key=False)
    expect(page.locator("#edit")).to_contain_text("Editing needs a key")
    page.get_by_role("link", name="Watch").click()
    expect(page.locator("#watch")).to_contain_text("Watching needs a key")
    assert page.get_by_role("table").count() == 0
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Key").fill(server.key)
    page.get_by_label("Key").press("Enter")
    edited(page)


def test_a_log_becomes_a_rotation(open_page, server):
    """A log is fitted, read, made a rotation, and put into service."""
    page = open_page("Try it")
    page.get_by_role("button", name="or take an example").click()
    expect(page.locator(".fit .headline")).to_contain_text("3,600 plays of 7 arms")
    page.get_by_role("button", name="Make a rotation of it").click()
    settled(page)
    page.get_by_label("Name", exact=True).fill("fitted")
    page.get_by_role("button", name="Put into service").click()
    expect(page.locator("#notice")).to_have_text("fitted is in service, version 1.")
    assert server.client.get("/v1/rotations/fitted").json()["decide"] == "learner"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_names_and_contrast(open_page, width, scheme):
    """No page has anything that axe-core finds wrong, and none is wider than the screen."""
    page = edited(open_page(width=width, scheme=scheme))
    page.get_by_role("button", name="Add a rule").click()
    for summary in page.locator("summary").all():
        summary.click()
    checked(page)
    page.get_by_role("link", name="Watch").click()
    page.get_by_label("Rotation").select_option("learned")
    expect(page.get_by_role("heading", name="What is believed")).to_be_visible()
    checked(page)
    page.get_by_role("link", name="Try it").click()
    checked(page)


def checked(page):
    """Let axe-core look at a page."""
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_axe_would_notice(open_page):
    """The check itself: text without contrast and a button without a name are found."""
    page = edited(open_page())
    page.evaluate(
        """() => {
            const button = document.createElement("button");
            const faint = document.createElement("p");
            faint.textContent = "faint";
            faint.style.color = "#ddd";
            document.querySelector(".left").append(button, faint);
        }"""
    )
    wrong = {entry["id"] for entry in axe.Axe().run(page).response["violations"]}
    assert {"button-name", "color-contrast"} <= wrong
