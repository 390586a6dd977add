"""The service stands beside the library: nothing calls it, and without its extra it says so."""

import ast
import subprocess
import sys
from pathlib import Path

import lastswitch

PACKAGE = Path(lastswitch.__file__).parent
#: Who may name it: its commands, and the list of what there is.
NAMED = {PACKAGE / "cli" / "serve.py", PACKAGE / "cli" / "replay.py", PACKAGE / "__init__.py"}


def test_nothing_in_the_library_calls_the_service():
    """Only its own modules, its commands and the list of names do."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if PACKAGE / "service" not in path.parents:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
                if any((name + ".").startswith("lastswitch.service.") for name in names):
                    found.add(path)
    assert found == NAMED


def test_without_the_extra_it_says_what_to_install(tmp_path):
    """The command and the client name the extra; the library itself loads."""
    hidden = "fastapi uvicorn sqlalchemy alembic msgspec prometheus_client httpx2"
    code = (
        "import sys\n"
        f"for name in {hidden.split()!r}: sys.modules[name] = None\n"
        "import lastswitch as ls\n"
        "from lastswitch.cli import main\n"
        f"assert main(['serve', '--database', {str(tmp_path / 'a.sqlite')!r}]) == 2\n"
        "try: ls.Client('http://127.0.0.1', 'x', 'r')\n"
        "except ls.LastSwitchError as error: print(error, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.count("the extra 'serve' of lastswitch") == 2
