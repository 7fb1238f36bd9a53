"""What passes between tasks, learners, engines and runs: the task, what `auto` looks at, rows of a trace."""
