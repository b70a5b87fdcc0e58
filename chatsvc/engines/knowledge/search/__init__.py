"""Search in a bot's knowledge: its sections by words and topics, their facts by what a question asks for, and one calibrated number."""
