"""Fields of forms, a module each. A form is a list of them; a new kind is one file and a line in `form.py`."""
