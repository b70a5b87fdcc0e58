"""Web widget: a site's script, the frame with the conversation, and the frame's calls.

`WebChannel` is the front end. `documents` makes the pages, `calls` reads and answers the frame's requests; static/ holds the script of
the embedding page (loader.js), that of the frame (widget.js) and its style (widget.css).
"""

from chatsvc.widget.front_end import WebChannel

__all__ = ["WebChannel"]
