"""Load the package before its doctests are collected.

Pytest imports a module to be doctested by its path; one that its own package imports on the way
would be executed twice, and its classes would not be those the rest of the package knows.
"""

import importlib
import pkgutil

import lastswitch

for module in pkgutil.walk_packages(lastswitch.__path__, "lastswitch."):
    importlib.import_module(module.name)
