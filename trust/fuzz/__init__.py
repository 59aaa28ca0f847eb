"""Coverage-guided fuzzing: libFuzzer on the core, Atheris on what reads files, texts and command lines.

    python -m trust.fuzz --seconds 120 --seed 1      # all targets, two at a time
    python -m trust.fuzz --planted                   # bugs put in on purpose: how fast each is found

``core/`` has the targets in C++, ``doors/`` those in Python, ``corpus/`` inputs for each, one a line in base64.
"""
