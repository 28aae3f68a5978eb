"""What is wrong with a statement that does not parse, in words that help.

Each kind of mistake has a function that looks at the place where parsing stopped and either recognises the mistake or
does not. One that does gives the diagnostic and, where the likely intention is clear, the statement as it was meant, so
that the rest of it is checked too and all mistakes of a file are reported in one run.
"""
