"""Web widget: the script for websites, the frame with the conversation, and the frame's calls.

`WebChannel` is the front end. `documents` makes the pages, `calls` answers the frame's requests. static/ contains the script of the
embedding page (loader.js), the script of the frame (widget.js) and its style (widget.css).
"""

from chatsvc.widget.front_end import WebChannel

__all__ = ["WebChannel"]
