"""`chatsvc nodes`: list the processes over the store."""

from __future__ import annotations

from chatsvc.cli.operations import operation

nodes = operation("nodes", "node.list", columns=("id", "since", "listen", "version"))
