"""Sample knowledge of `chatsvc demo`: a fictional bicycle shop, in two languages.

Its telephone numbers have an area code that is not assigned in Turkey, and its addresses end in example.com.
"""

from importlib import resources

BOT_NAME = "Keçiyolu Bisiklet"
BOT_DESCRIPTION = "Bisiklet kiralama, tamir ve turlar · bicycle rental, repairs and tours"
BOT_INSTRUCTIONS = (
    "You answer visitors of Keçiyolu Bisiklet, a small bicycle shop by the sea in Çamlıkoy that rents and repairs bicycles and "
    "runs guided tours. Be friendly and brief, and answer in the visitor's language. Say nothing about prices, hours or terms "
    "that the shop's own knowledge does not say."
)
OPENING_HOURS = "mon-fri 09:00-18:00; sat 10:00-14:00"
QUESTION = "Cumartesi kaça kadar açıksınız?"
REQUEST = (
    "Beni arar mısınız? Çocuk koltuğu olan iki bisiklet istiyorum. Adım Deniz Yılmaz, e-postam deniz@example.com",
    "Evet",
)

# A visitor of a second bot, and one who waits there: it has no opening hours, so that visitors may wait at any time.
SECOND_BOT = "Keçiyolu Turları"
TOUR_REQUEST = ("Tur hakkında bilgi almak istiyorum, beni arayın. Adım Cem Aksoy, e-postam cem@example.com", "Evet")
WAITING = ("Turlarınızda yemek var mı?", "Bir yetkiliyle görüşmek istiyorum")

KNOWLEDGE_FILES = ("bicycles.tr.md", "bicycles.en.md")


def knowledge() -> dict[str, str]:
    """Return the texts of the sample knowledge files, by file name."""
    here = resources.files(__package__)
    return {name: here.joinpath(name).read_text(encoding="utf-8") for name in KNOWLEDGE_FILES}


def conversations() -> list[tuple[int, str, list[str]]]:
    """Return the sample conversations of past days. Each has its age in days, its visitor and the visitor's messages."""
    lines = resources.files(__package__).joinpath("conversations.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if not line.startswith("#")]
    return [(int(days), visitor, messages) for days, visitor, *messages in rows]
