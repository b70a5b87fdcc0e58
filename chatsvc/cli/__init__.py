"""The command line, with click. Each noun has a module, which is imported only when used. There are no business rules here."""

CONFIG_FILE = "config_file"  # the parameter of -c in the root context
