"""Charts as SVG, coloured by CSS classes, for the pipeline's report and the page.

`time_plot.py` computes positions, `chart.html.jinja` draws, `chart.css` sets the look. Both users of charts have
Jinja2; nothing in this package imports it, and no broker loads it.
"""
