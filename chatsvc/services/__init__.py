"""Use-cases, one module a noun. Plain async functions over `Services`, the same for every front end."""
