"""QR codes as SVG, for authenticator apps on a telephone."""

_PIXELS, _BORDER = 4, 4  # of a module; modules around the code that scanners need


def svg(text: str) -> str:
    """Draw a text as a QR code, black on white in both colour schemes."""
    # Imported here: it is shown once for an operator, if at all.
    import segno

    code = segno.make(text, micro=False, error="m")
    drawn: str = code.svg_inline(scale=_PIXELS, border=_BORDER, dark="#000", light="#fff", svgclass=None, lineclass=None)
    return drawn
