"""Version of a form's values: a page that is older than what it changes says so and shows both, and overwrites nothing unseen."""

import hashlib
import json
import re
from collections.abc import Mapping


def version_of(values: Mapping[str, object]) -> str:
    """Return a digest of each value, for the hidden field `version` of a form."""
    return ",".join(f"{name}:{_digest(value)}" for name, value in values.items())


def changed_since(version: str, current: Mapping[str, object], typed: Mapping[str, object]) -> dict[str, str]:
    """Return the current texts of typed fields that somebody has changed since the form was shown.

    A field whose typed value is the current one is no conflict. A form without a version has none.
    """
    digests = dict(re.findall(r"([^:,]+):(\w+)", version))
    return {
        name: "\n".join(filter(None, value)) if isinstance(value, list) else str(value)
        for name, value in current.items()
        if name in digests and name in typed and typed[name] != value and digests[name] != _digest(value)
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:12]
