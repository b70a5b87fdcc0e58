"""Use-cases, one module a noun: plain async functions over `Services`, the same for every front end."""
