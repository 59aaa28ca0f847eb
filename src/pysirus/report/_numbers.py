"""Numbers in, the same to nine digits out, which is more than a page shows."""

from __future__ import annotations

from typing import Any

import numpy as np


def short(values: Any) -> Any:
    """Numbers to nine digits, in lists as deep as the array."""
    if isinstance(values, (tuple, list, np.ndarray)):
        return [short(v) for v in values]
    return None if values is None or not np.isfinite(values) else float(f"{float(values):.9g}")
