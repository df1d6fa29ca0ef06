"""How Sphinx builds the site from these pages: see `make docs`. Built pages load nothing from other places."""

project = "QuantumTrainingJob"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = [".trees"]

myst_heading_anchors = 4

html_theme = "furo"
html_title = "QuantumTrainingJob"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# Only commands are copied, without the prompt.
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_here_doc_delimiter = "END"
