"""What leaves the house: deliveries to the customers' servers (SPEC.md section 6)."""
