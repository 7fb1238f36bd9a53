"""A learner and an engine of another distribution, as docs/adding_a_learner.md and docs/adding_an_engine.md tell."""
