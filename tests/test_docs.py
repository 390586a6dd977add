"""The documentation is run, not trusted: its code, its outputs, its links and its paper map.

What a page means by a block of code:

- ``python`` runs, in the page's one namespace; ``{ .python .engines }`` runs with the engine tests;
- ``sh`` runs, line by line, as the command line;
- ``toml title="name"`` is a file of that name in the folder the page runs in;
- ``text`` right after one that runs is what it prints;
- anything else (``console``) is for reading.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
import shlex
import types
from dataclasses import dataclass
from pathlib import Path

import pytest

import lastswitch as ls
from lastswitch.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAP = ROOT / "docs" / "paper" / "map.md"
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```[ ]*$", re.S | re.M)
#: How a page marks code that needs Ray, Dask or Spark.
ENGINES = "{ .python .engines }"


@dataclass
class Example:
    """One block of a page that is run or written, and the output the page claims for it."""

    language: str
    line: int
    code: str
    shown: str | None = None


def examples(page: Path) -> list[Example]:
    """Return what ``page`` runs and writes, in order."""
    text = page.read_text(encoding="utf-8")
    found: list[Example] = []
    ended: int | None = None  # where the last Python block ended, if nothing came after it
    for fence in FENCE.finditer(text):
        indent, language, body = fence[1], fence[2].strip(), fence[3]
        body = re.sub(rf"^{indent}", "", body, flags=re.M)
        follows = ended is not None and not text[ended : fence.start()].strip()
        ended = None
        if language == "text" and follows:
            found[-1].shown = body
        elif language in ("python", "sh", ENGINES) or language.startswith("toml title="):
            line = text.count("\n", 0, fence.start()) + 1
            found.append(Example(language, line, body))
            ended = fence.end()
    return found


def run(page: Path, tmp_path: Path, monkeypatch, capsys, *, engines: bool) -> None:
    """Run the blocks of ``page`` top to bottom in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # starting processes costs more than the work
    namespace = {"__name__": "__main__"}  # as when pasted into a script
    for example in examples(page):
        if example.language == ENGINES and not engines:
            continue
        if example.language.startswith("toml"):
            (tmp_path / example.language.split('"')[1]).write_text(example.code)
        elif example.language == "sh":
            for command in example.code.splitlines():
                program, *arguments = shlex.split(command)
                assert program == "lastswitch"
                assert main(arguments) == 0, command
        else:
            source = "\n" * example.line + example.code  # tracebacks point at the page
            exec(compile(source, str(page), "exec"), namespace)
        printed = capsys.readouterr().out
        if example.shown is not None:
            assert alike(printed, example.shown), f"{page.name}:{example.line} printed\n{printed}"


def alike(printed: str, shown: str) -> bool:
    """Tell whether ``shown`` is what was printed; spaces are free, and how many seconds it took."""
    first, second = (re.sub(r"[\d.]+ s\b", "0 s", " ".join(t.split())) for t in (printed, shown))
    return first == second


def page_name(page: Path) -> str:
    """Return the name a test of ``page`` carries."""
    return str(page.relative_to(ROOT))


WITH_CODE = [page for page in PAGES if examples(page)]
WITH_ENGINES = [page for page in PAGES if any(e.language == ENGINES for e in examples(page))]


@pytest.mark.parametrize("page", WITH_CODE, ids=page_name)
def test_page_runs_as_written(page, tmp_path, monkeypatch, capsys):
    """Every code block runs, and prints what the page says it prints."""
    run(page, tmp_path, monkeypatch, capsys, engines=False)


@pytest.mark.engines
@pytest.mark.parametrize("page", WITH_ENGINES, ids=page_name)
def test_page_runs_on_real_engines(page, tmp_path, monkeypatch, capsys):
    """The blocks that need a cluster engine run on one."""
    run(page, tmp_path, monkeypatch, capsys, engines=True)


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    """Every relative link and picture is a file, and every page is plain about its language."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|#", target):
            continue
        assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_navigation():
    """No page is reachable by luck only."""
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {page_name(page).removeprefix("docs/") for page in PAGES[1:]}
    assert listed == pages


def map_rows() -> list[list[str]]:
    """Return the cells of every row of the paper map."""
    lines = MAP.read_text(encoding="utf-8").splitlines()
    rows = [line.strip().strip("|").split("|") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows if not set("".join(row)) <= set("-: ")]


def test_the_paper_map_has_no_empty_cell():
    """Statement, function, test and measurement: all four are there in every row."""
    rows = map_rows()
    assert all(len(row) == 4 and all(row) for row in rows)
    statements = " ".join(row[0] for row in rows)
    expected = [f"Proposition {n}" for n in range(1, 6)] + [f"Figure {n}" for n in range(1, 5)]
    expected += ["Lemma 1", "Lemma 2", "Theorem 1", "Theorem 2", "Example 1", "Example 2"]
    expected += ["Table 1", "Algorithm 1", "Algorithm 2", "Definition 1"]
    assert [name for name in expected if name not in statements] == []


def test_every_entry_of_the_paper_map_exists():
    """Each function can be imported, each test is a test in that file."""
    for row in map_rows()[1:]:
        functions = re.findall(r"\]\[(lastswitch\.[\w.]+)\]", row[1])
        assert functions, row
        for function in functions:
            assert resolve(function) is not None
        tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row[2])
        assert tests, row
        for path, name in tests:
            source = (ROOT / path).read_text(encoding="utf-8")
            names = {n.name for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)}
            assert not name or name in names, f"{path}::{name}"


def resolve(dotted: str) -> object:
    """Import the module part of ``dotted`` and follow the rest."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{dotted} cannot be imported")


@pytest.mark.parametrize("name", ls.__all__)
def test_public_names_explain_themselves(name):
    """Every public class and function has a docstring with an example; modules one on each part."""
    thing = getattr(ls, name)
    if isinstance(thing, types.ModuleType):
        parts = [
            part
            for part in vars(thing).values()
            if inspect.isfunction(part) and part.__module__ == thing.__name__
            if not part.__name__.startswith("_")
        ]
        assert thing.__doc__
    else:
        parts = [thing]
    for part in parts:
        assert inspect.getdoc(part)
        if not (inspect.isclass(part) and issubclass(part, BaseException)):
            assert ">>>" in part.__doc__, f"{part.__name__} has no example"


def benchmarks_page():
    """Load what fills pages with results."""
    spec = importlib.util.spec_from_file_location("page", ROOT / "benchmarks" / "page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_marked_figure_is_among_the_results(page):
    """A figure a page quotes is one that was measured; none is left as its mark."""
    assert "{{" not in benchmarks_page().with_figures(page.read_text(encoding="utf-8"))


def test_figures_in_the_text_follow_the_results(tmp_path):
    """Other results, other figures; one that is not there is an error that names it."""
    rows = [{"instance": "five", "policy": "a", "total": 1234.5}]
    (tmp_path / "made.json").write_text(json.dumps({"rows": rows}))
    fill = benchmarks_page().with_figures
    assert fill("it is {{made; rows; five, a; total; ,.1f}}.", tmp_path) == "it is 1,234.5."
    assert fill("{{made; rows; five; total}}", tmp_path) == "1234"
    for wrong in ("none; rows; five; total", "made; rows; six; total", "made; rows; five; sum"):
        with pytest.raises(LookupError, match=re.escape(wrong)):
            fill(f"{{{{{wrong}}}}}", tmp_path)


def test_the_figures_of_the_paper_are_marked_not_typed():
    """What the reproduction collected stands in the paper map as marks alone."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "reproduction.json").read_text())
    text = re.sub(r"\{\{.*?\}\}", "", MAP.read_text(encoding="utf-8"))
    typed = {int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", text)}
    measured = {round(row["total"]) for row in kept["policies"]}
    assert len(measured) == 10
    assert not typed & measured


def test_benchmark_results_become_a_page(tmp_path):
    """Results turn into tables under the date and machine they were measured on."""
    module = benchmarks_page()
    assert "make bench" in module.page(tmp_path)
    results = {
        "title": "Planning",
        "date": "2022-03-28",
        "machine": {"cores": 2, "processor": "x86_64"},
        "certified_against_ilp": [{"size": "5 x 20", "ratio": 0.00123456}, {"size": "2 x 4"}],
        "failures": 0,
    }
    (tmp_path / "planning.json").write_text(json.dumps(results))
    page = module.page(tmp_path)
    assert "## Planning" in page
    assert "*Measured 2022-03-28, on cores 2, processor x86_64.*" in page
    assert "| 5 x 20 | 0.001235 |" in page
    assert "- failures: 0" in page
