"""Dialogue around the answers: small talk, forms, and questions back to the visitor."""
