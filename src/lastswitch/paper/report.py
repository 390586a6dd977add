"""The report: one HTML file with everything in it, to open, keep or send on."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from lastswitch._utils.intervals import STATED
from lastswitch.experiments.comparison import Comparison
from lastswitch.paper.figures import PICTURES, Picture
from lastswitch.paper.findings import Finding, findings_table, table_1_table
from lastswitch.paper.settings import RUNS, PaperExperiment
from lastswitch.paper.table_1 import Cell


def render_report(
    parts: Mapping[str, PaperExperiment],
    found: Mapping[str, Comparison],
    rows: Sequence[Finding],
    cells: Sequence[Cell],
    conclusions: Sequence[str],
    figures: Path,
) -> str:
    """Return the report as HTML that needs nothing from elsewhere; ``figures`` holds the SVGs."""
    import jinja2

    template = files("lastswitch.paper").joinpath("templates/report.html.j2")
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
        pictures=[_picture(picture, figures) for picture in PICTURES],
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


def _picture(picture: Picture, figures: Path) -> dict[str, Any]:
    """Return a picture with its figure as a data address."""
    data = base64.b64encode((figures / f"{picture.name}.svg").read_bytes()).decode()
    return {"picture": picture, "source": f"data:image/svg+xml;base64,{data}"}
