"""Settings of the documentation site; everything it needs is on the disk."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "treerank"
author = "the treerank developers"
copyright = "2026, the treerank developers"
version = release = installed_version("treerank-ml")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "live_report",  # the report that the guide links to
    "checked_pages",  # runs the code of the guide and compares what it prints
    "mathml",  # formulas without a script from elsewhere
    "public_names",  # lists what the public modules offer
]

exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say the types in words
add_module_names = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_first_tree.py",
            "plot_pruning.py",
            "plot_shrinkage.py",
            "plot_categories_and_missing.py",
            "plot_monotone.py",
            "plot_level_sets.py",
            "*",
        ]
    ),
    "doc_module": ("treerank",),
    "backreferences_dir": "generated/used_by",
    "reference_url": {"treerank": None},
    "download_all_examples": False,
    "thumbnail_size": (480, 300),
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,  # its page loads scripts from elsewhere
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "treerank"
html_static_path = ["_static"]
html_css_files = ["treerank.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
toc_object_entries_show_parents = "hide"
html_sidebars = {"changelog": [], "reference": [], "index": []}
html_theme_options = {
    "logo": {"text": "treerank"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    # A list of headings beside the page would take its width from code, output and tables.
    "secondary_sidebar_items": {
        "guide/algorithm": ["page-toc"],
        "reference": ["page-toc"],
        "generated/**": ["page-toc"],
    },
    "pygments_light_style": "default",
    "pygments_dark_style": "monokai",
}
