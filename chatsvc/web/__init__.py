"""HTTP server of the service. It adds deadlines, limits of connections, and error responses of our own to aiohttp.web.

A front end is a `web.Application` with middlewares of its own. The module `listeners` serves them all as one application.
"""
