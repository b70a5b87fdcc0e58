# ruff: noqa: INP001  # a script, no package
# Runs in the binary before anything else: the time zones are in a zip (see chatsvc.spec).
import sys
from pathlib import Path

sys.path.append(str(Path(sys._MEIPASS) / "tzdata.zip"))
