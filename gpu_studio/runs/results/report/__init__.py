"""Reports on runs as one self-contained HTML file, and their curves as SVG.

Independent of the window.
"""
