"""The command line: click, one module a noun, imported only when used. Nothing here decides business."""
