"""Configure `make docs`: Markdown to HTML, strict and offline."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "mhpc"
author = "The mhpc developers"
project_copyright = "The mhpc developers"
version = release = installed("mhpc")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_reference",
    "drawn_figures",
    "mathml",
    "offline",
    "python_reference",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_dmath_double_inline = True
myst_heading_anchors = 4

nitpicky = True
default_role = "literal"
smartquotes = False
toc_object_entries = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_preprocess_types = False
napoleon_use_param = False
napoleon_use_keyword = False

html_theme = "furo"
html_title = "mhpc"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_search_summary = False  # a page opened from disk cannot fetch excerpts
html_copy_source = False
html_show_copyright = False
templates_path: list[str] = []
pygments_style = "friendly"
