"""Knowledge of bots: entries, files, websites, checks, previews, tests and unanswered questions."""
