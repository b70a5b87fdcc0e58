"""Version of the values of a form, to detect concurrent changes. An outdated form shows both values and overwrites nothing unseen."""

import hashlib
import json
import re
from collections.abc import Mapping

from chatsvc.domain import refusals


def version_of(values: Mapping[str, object]) -> str:
    """Return one text with a digest of each value. It is the hidden field `version` of a form."""
    return ",".join(f"{name}:{_digest(value)}" for name, value in values.items())


def check_version(version: str, current: Mapping[str, object], typed: Mapping[str, object]) -> None:
    """Raise `fields_changed`, with the current texts, if somebody has changed typed fields since the form was shown.

    There is no conflict if the typed value equals the current one, or if the form has no version.
    """
    digests = dict(re.findall(r"([^:,]+):(\w+)", version))
    changed = {
        name: "\n".join(filter(None, value)) if isinstance(value, list) else str(value)
        for name, value in current.items()
        if name in digests and name in typed and typed[name] != value and digests[name] != _digest(value)
    }
    if changed:
        raise refusals.fields_changed(fields=changed)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:12]
