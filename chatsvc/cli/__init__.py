"""The command line (DECISIONS.md section 4): click, one module a noun, imported only when used. Nothing here decides business."""
