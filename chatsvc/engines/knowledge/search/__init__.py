"""Search in a bot's knowledge: find entries by words and topics, judge their facts, and compute a calibrated confidence."""
