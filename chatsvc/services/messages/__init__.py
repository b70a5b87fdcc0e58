"""Messages: a visitor's message is accepted, answered and recorded, whatever way it came."""
