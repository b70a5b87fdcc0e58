"""HTTP/1.1 server toolkit: connections, requests, responses, routing, forms, cookies and static files.

It knows nothing of the REST interface or of pages. A front end implements `skin.Skin` and is mounted under a path prefix.
"""
