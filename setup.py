"""The package list, which setuptools cannot find by itself here: the root of the checkout is the
package `cotenant`.
"""

from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
# Only folders of modules at the root are floors of the house: a build/ or .venv/ beside them has no
# __init__.py of its own.
FLOORS = sorted(path.parent for path in HERE.glob("*/__init__.py"))
FOLDERS = [
    path.parent.relative_to(HERE) for floor in FLOORS for path in sorted(floor.rglob("__init__.py"))
]

setup(
    packages=["cotenant", *(".".join(("cotenant", *folder.parts)) for folder in FOLDERS)],
    # a build front end has another name, and this file would then be taken for one of the package
    script_name="setup.py",
)
