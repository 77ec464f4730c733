"""What pyproject.toml cannot say: the packages, since the root of the checkout is the package
`cotenant`, and links to the project's address, which stands there once (`tool.cotenant.home`).
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
# Only folders of modules at the root are layers of the package: a build/ or .venv/ beside them has
# no __init__.py of its own.
LAYERS = sorted(path.parent for path in HERE.glob("*/__init__.py"))
FOLDERS = [
    path.parent.relative_to(HERE) for layer in LAYERS for path in sorted(layer.rglob("__init__.py"))
]
README = (HERE / "README.md").read_text(encoding="utf-8")
HOME = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cotenant"][
    "home"
].rstrip("/")
PLACES = {
    "Homepage": "",
    "Documentation": "/blob/HEAD/docs/index.md",
    "Changelog": "/blob/HEAD/CHANGELOG.md",
    "Issues": "/issues",
}

if HOME:  # an index of packages shows the README without the files that it leads to
    README = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\g<1>{HOME}/raw/HEAD/", README)
    README = re.sub(r"(\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{HOME}/blob/HEAD/", README)

setup(
    packages=["cotenant", *(".".join(("cotenant", *folder.parts)) for folder in FOLDERS)],
    long_description=README,
    long_description_content_type="text/markdown",
    project_urls={name: HOME + place for name, place in PLACES.items()} if HOME else {},
    # a build front end has another name, and this file would then be taken for one of the package
    script_name="setup.py",
)
