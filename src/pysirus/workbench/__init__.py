"""A table in, a signed and exported rule list out, for people who write no code: ``pysirus workbench``.

``session`` is the whole of it without a page; ``server`` puts it on a page of this computer.
"""

from pysirus.workbench.session import Session

__all__ = ["Session"]
