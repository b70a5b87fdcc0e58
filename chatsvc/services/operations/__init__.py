"""Operation of the installation: store, backups, mails, processes and health."""
