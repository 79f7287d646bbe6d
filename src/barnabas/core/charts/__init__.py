"""Charts as SVG that is coloured by CSS classes, for the pipeline's report and for the page.

`time_plot.py` works out where all lies, `chart.html.jinja` draws it, `chart.css` says how that looks. Both who show
charts have Jinja2; nothing in here imports it, and no broker loads it.
"""
