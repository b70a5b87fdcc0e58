"""A language that is nothing but a folder: its dates, numbers, choices, names and its detection are read."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatsvc.language import wordlists

ESPERANTO = {
    "symbols.txt": (
        "# Words of dates and times in a language made for this test.\n"
        "D0: lundo\nD0'acc: lundon\nD4: vendredo\nD4'acc: vendredon\nM12: decembro\nsaat: horo\nnextweek: venonta_semajno\n"
    ),
    "numbers.txt": "# Number words of the language of this test.\n2: du\n3: tri\n5: kvin\n10: dek\n20: dudek\ntens: 20\n",
    "name_cues.txt": "# Cues of names of the language of this test.\nstrong: \\bmia nomo (?:estas )?\n",
    "detection.txt": (
        "# Words by which the language of this test is detected.\n"
        "often: kaj la estas mi vi ni de en por kun ne jes kiu kio kiom kie kiam mia via nia tio tiu sed ankaŭ saluton dankon bonvolu ĉu\n"
        "words: nomo tago horo semajno vendredo lundo rendevuo prezo kostas malfermita ĉambro tablo homoj domo libro\n"
    ),
}
READ = """
import json, sys
from datetime import datetime
from pathlib import Path
from chatsvc.language import wordlists
wordlists.FOLDER = Path(sys.argv[1])
from chatsvc.language import language_detection, values
now = datetime(2026, 11, 20, 10, 30)
readings = [values.read(text, now=now) for text in json.loads(sys.argv[2])]
print(json.dumps({
    "dates": [reading.date and reading.date.value.isoformat() for reading in readings],
    "times": [reading.time and reading.time.value.isoformat("minutes") for reading in readings],
    "names": [reading.name and reading.name.value for reading in readings],
    "languages": [reading.language for reading in readings],
}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "languages"
    shutil.copytree(wordlists.FOLDER, copy)
    (copy / "eo").mkdir()
    for name, text in ESPERANTO.items():
        (copy / "eo" / name).write_text(text, encoding="utf-8")
    return copy


def test_a_folder_is_all_that_a_language_needs(folder: Path) -> None:
    texts = [
        "mia nomo estas Zamenhof, mi venos vendredon kun tri homoj",
        "ĉu vi estas malfermita venonta semajno lundo",
        "la 5 decembro",
        "dudek tri decembro, horo 15",
        "yarın saat 3'te, adım Ayşe",
        "next Friday at 4, I'm Jane",
    ]
    done = subprocess.run([sys.executable, "-c", READ, str(folder), json.dumps(texts)], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["dates"] == ["2026-11-27", "2026-11-23", "2026-12-05", "2026-12-23", "2026-11-21", "2026-11-27"]
    assert result["times"] == [None, None, None, "15:00", "15:00", "16:00"]
    assert result["names"] == ["Zamenhof", None, None, None, "Ayşe", "Jane"]
    assert result["languages"][:2] == ["eo", "eo"]
    assert result["languages"][4:] == ["tr", "en"]
