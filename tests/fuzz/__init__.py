"""Thousands of damaged files and inputs, and killed runs: nothing may crash, hang, show a traceback or lose a file.

``python -m fuzz --help``, in the folder tests, or ``make fuzz``. A case is made from a seed and its number alone, so
both together reproduce it.
"""
