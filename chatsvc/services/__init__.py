"""Use-cases, with a module for each noun. They are async functions over `Services`, the same for every front end."""
