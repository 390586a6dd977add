"""The report: one HTML file with everything in it, to open, keep or send on."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from lastswitch.drawing import house_style
from lastswitch.experiments.comparison import Comparison
from lastswitch.experiments.findings import Finding, findings_table, table_1_table
from lastswitch.experiments.paper import RUNS, PaperExperiment
from lastswitch.experiments.paper_figures import Picture
from lastswitch.experiments.statistics import STATED
from lastswitch.experiments.table_1 import Cell


def render_report(
    parts: Mapping[str, PaperExperiment],
    found: Mapping[str, Comparison],
    rows: Sequence[Finding],
    cells: Sequence[Cell],
    pictures: Sequence[Picture],
    conclusions: Sequence[str],
) -> str:
    """Return the report as HTML that needs nothing from elsewhere."""
    import jinja2

    template = files("lastswitch.experiments").joinpath("templates/report.html.j2")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        conclusions=conclusions,
        settings=[_settings(part, found[key]) for key, part in parts.items()],
        paper_settings=all(
            found[key].horizon == part.horizon and part.experiment.runs == RUNS
            for key, part in parts.items()
        ),
        versions=next(iter(found.values())).provenance["versions"],
        findings=findings_table(rows),
        table_1=table_1_table(cells),
        comparisons=[(parts[key].title, comparison.table()) for key, comparison in found.items()],
        pictures=[_picture(picture) for picture in pictures],
        band=STATED,
    )


def _settings(part: PaperExperiment, found: Comparison) -> dict[str, Any]:
    return {
        "title": part.title,
        "rounds": found.horizon,
        "paper_rounds": part.horizon,
        "runs": part.experiment.runs,
        "seed": found.seed,
        "optimum": found.optimum,
        "policies": [
            (origin["name"], _parameters(origin)) for origin in found.provenance["policies"]
        ],
        "instance": found.provenance["instance"][:12],
    }


def _parameters(origin: Mapping[str, Any]) -> str:
    """Return what a policy was built with, leaving out what the instance decides."""
    given = origin.get("parameters", {})
    shown = {
        key: value
        for key, value in given.items()
        if key not in ("bandit", "n_arms", "initial", "seed") and value is not None
    }
    return ", ".join(f"{key} = {value}" for key, value in shown.items())


def _picture(picture: Picture) -> dict[str, str]:
    """Return a picture with its figure as a data address."""
    content = io.BytesIO()
    with house_style():
        picture.figure.savefig(content, format="svg", metadata={"Date": None})
    data = base64.b64encode(content.getvalue()).decode()
    return {
        "name": picture.name,
        "heading": picture.heading,
        "caption": picture.caption,
        "source": f"data:image/svg+xml;base64,{data}",
    }
