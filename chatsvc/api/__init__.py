"""REST interface, version 2 (help/interface.md): route table, gates, bodies, rendering."""

BASE_PATH = "/api/v2"
