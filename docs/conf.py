"""Sphinx configuration of the documentation's site.

python -m pip install '.[docs]' && python -m sphinx -W --keep-going -d build/doctrees -b html docs build/site
"""

from __future__ import annotations

import importlib
import sys
import tomllib
from pathlib import Path

# autodoc rewrites the annotations of pydantic's BaseModel, from which documents that keep extra
# fields can then not be made.
importlib.import_module("cotenant.papers.page")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))
_PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = _PROJECT["name"]
version = release = _PROJECT["version"]
author = copyright = "the cotenant developers"
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "mathml",
    "generated",
    "numpydoc_compat",
]
exclude_patterns = ["_build", "extensions", "extra"]

myst_enable_extensions = ["dollarmath", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # a page of the reference is put together from parts

autosummary_generate = False  # numpydoc brings autosummary along
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
default_role = "name"

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["static"]
html_extra_path = ["extra"]  # a page of its own: the one that judges proofs in a browser
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "scorer.js")
html_use_index = html_domain_indices = False  # the search finds names
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
