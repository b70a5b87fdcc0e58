"""The team: operators, their sessions and second factors, and what waits for them."""
