# SPDX-License-Identifier: MIT
"""Sphinx configuration; needs nothing but Debian's python3-sphinx."""

project = "Tofu interconnect"
author = "the project's authors"
copyright = author  # pylint: disable=redefined-builtin

root_doc = "index"
exclude_patterns = ["_build"]
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {
    "description": "The interconnect without the supercomputer",
    "page_width": "1040px",
    "sidebar_width": "230px",
}
html_show_copyright = False
html_show_sphinx = False
