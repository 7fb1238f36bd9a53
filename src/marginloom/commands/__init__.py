"""What the commands of tasks are made of: options, training from files, reports."""
