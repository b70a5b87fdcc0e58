"""HTTP server of the service: aiohttp.web with what it lacks, which is deadlines, limits of connections, and refusals in our own words.

A front end is a `web.Application` with middlewares of its own; `listeners` serves them all as one.
"""
