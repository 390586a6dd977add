"""Names that load on use: told once to Python, once to type checkers, the same to both."""

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import lastswitch
from lastswitch._utils.lazy import attach


def packages_that_load_on_use():
    """Find every package whose ``__init__`` calls ``attach``."""
    inside = pkgutil.walk_packages(lastswitch.__path__, "lastswitch.")
    packages = ["lastswitch", *(info.name for info in inside if info.ispkg)]
    return [p for p in packages if "attach(" in Path(import_module(p).__file__).read_text()]


LAZY = packages_that_load_on_use()


def told_to_type_checkers(source, package):
    """Return the names and modules that the ``if TYPE_CHECKING:`` block imports."""
    names, modules = {}, set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom), ast.unparse(line)
                for alias in line.names:
                    assert alias.asname == alias.name, f"write {alias.name} as {alias.name}"
                    path = f"{line.module}.{alias.name}"
                    if is_module(path):
                        modules.add(path.removeprefix(f"{package}."))
                    else:
                        names[alias.name] = line.module
    return names, modules


def is_module(path):
    """Tell whether a dotted name is a module, and no name inside one."""
    try:
        return find_spec(path) is not None
    except ModuleNotFoundError:  # what it would be inside of is no package
        return False


def told_to_python(source, package):
    """Return the names ``attach`` was given with their homes, and the modules."""
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    (call,) = [c for c in calls if getattr(c.func, "id", "") == "attach"]
    homes = ast.literal_eval(call.args[1])
    modules = {name for keyword in call.keywords for name in ast.literal_eval(keyword.value)}
    named = {name: f"{package}.{module}" for module, names in homes.items() for name in names}
    return named, modules


def test_names_that_moved_work_and_say_where_they_are():
    """Not listed any more, they come with a warning at the line that uses them."""
    for name, home in {
        "transition": "model.states",
        "block_pays": "model.blocks",
        "Anytime": "learning",
    }.items():
        moved = getattr(import_module(f"lastswitch.{home}"), name)
        with pytest.warns(DeprecationWarning, match=rf"is now lastswitch\.{home}\.{name}") as told:
            assert getattr(lastswitch, name) is moved
        assert told[0].filename == __file__
        assert name not in lastswitch.__all__
        assert name not in dir(lastswitch)
    with pytest.warns(DeprecationWarning, match="is now"):
        exec("from lastswitch import trajectory")


@pytest.mark.parametrize("package", LAZY)
def test_python_and_type_checkers_are_told_the_same(package):
    """Each lazy package lists the same names, from the same modules, for both."""
    source = Path(import_module(package).__file__).read_text()
    names, modules = told_to_type_checkers(source, package)
    assert (names, modules) == told_to_python(source, package)


@pytest.mark.parametrize("package", LAZY)
def test_no_lazy_name_is_a_module_of_its_package(package):
    """Importing such a module would put it in the place of the name."""
    module = import_module(package)
    inside = {info.name for info in pkgutil.iter_modules(module.__path__)}
    assert not set(module.__all__) & inside


@pytest.mark.parametrize("package", LAZY)
def test_every_lazy_name_loads_and_stays(package):
    """A name is looked up once; then it is an attribute like any other."""
    module = import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]
    assert set(module.__all__) <= set(dir(module))


def test_a_name_that_is_not_there_is_an_attribute_error():
    """Neither a name nor a module of the package."""
    get, _, _ = attach("lastswitch", {"curves": ["constant"]}, ["states"])
    with pytest.raises(AttributeError, match="module 'lastswitch' has no attribute 'Curv'"):
        get("Curv")


def test_packages_load_nothing_until_asked():
    """Importing a package brings in none of its modules; using a name brings in its own."""
    code = (
        "import sys, lastswitch.planning as p\n"
        "before = {m for m in sys.modules if m.startswith('lastswitch.planning.')}\n"
        "p.BlockProblem\n"
        "print(len(before), 'lastswitch.planning.problem' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0", "True"]
