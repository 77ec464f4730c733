"""The package list, which setuptools cannot find by itself here: the root of the checkout is the
package `cotenant`.
"""

from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
# Only folders of modules at the root are layers of the package: a build/ or .venv/ beside them has
# no __init__.py of its own.
LAYERS = sorted(path.parent for path in HERE.glob("*/__init__.py"))
FOLDERS = [
    path.parent.relative_to(HERE) for layer in LAYERS for path in sorted(layer.rglob("__init__.py"))
]

setup(
    packages=["cotenant", *(".".join(("cotenant", *folder.parts)) for folder in FOLDERS)],
    # a build front end has another name, and this file would then be taken for one of the package
    script_name="setup.py",
)
