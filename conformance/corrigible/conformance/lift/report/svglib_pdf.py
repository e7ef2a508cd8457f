"""A figure as PDF, by svglib and reportlab. The same figure is the same bytes: no date stands in it."""

from __future__ import annotations

import io


def pdf(figure: str) -> bytes:
    """Return an SVG that stands alone as one page of PDF. Raises ModuleNotFoundError where svglib is not installed."""
    from reportlab.graphics import renderPDF
    from reportlab.pdfgen.canvas import Canvas
    from svglib.svglib import svg2rlg

    # A font that every reader of PDF has: none is embedded.
    drawing = svg2rlg(io.BytesIO(figure.replace("system-ui,sans-serif", "Helvetica").encode()))
    if drawing is None:
        raise ValueError("no SVG")
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(drawing.width, drawing.height), invariant=1)
    renderPDF.draw(drawing, canvas, 0, 0)
    canvas.showPage()
    canvas.save()
    return out.getvalue()
