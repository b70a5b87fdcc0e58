"""REST interface, version 2 (SPEC.md): route table, gates, bodies, rendering."""

BASE_PATH = "/api/v2"
