"""The REST interface, version 2 (SPEC.md): route table, gates, bodies, rendering. Nothing here decides business."""

BASE_PATH = "/api/v2"
