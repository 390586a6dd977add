"""The paper stands beside the library: it imports the library, never the other way round."""

import ast
import subprocess
import sys
from pathlib import Path

import lastswitch

PACKAGE = Path(lastswitch.__file__).parent
#: Who may name it: the command that runs it, and the list of what there is.
COMMAND, LIST = PACKAGE / "cli" / "reproduce.py", PACKAGE / "__init__.py"


def imported(path):
    """Return the dotted names a module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names} | {str(node.module)}
    return found


def names_the_paper(path):
    """Tell whether a module imports anything of ``lastswitch.paper``."""
    return any((name + ".").startswith("lastswitch.paper.") for name in imported(path))


def test_nothing_general_imports_the_paper():
    """Only the paper's own modules and its command do."""
    outside = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE / "paper"]
    assert {path for path in outside if names_the_paper(path)} == {COMMAND, LIST}


def test_importing_the_library_does_not_import_the_paper():
    """The list of what there is loads on use."""
    code = "import sys, lastswitch.experiments.sweeps; print('lastswitch.paper' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_paper_s_own_modules_would_be_found():
    """The walk sees imports inside functions and under TYPE_CHECKING too."""
    assert names_the_paper(PACKAGE / "paper" / "report.py")
    assert names_the_paper(COMMAND)  # inside its function
