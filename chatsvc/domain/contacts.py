"""Contact data. An e-mail address, telephone number or name is accepted only if the visitor typed it.

A value that a model or a slot filler proposes is looked up in the visitor's text and returned as written there, so that nothing
invented, completed or copied from elsewhere is stored. Telephone numbers get the calling code (E.164) of a country (ISO 3166).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from chatsvc.domain.folding import fold_character

MAX_NAME = 120
MAX_NAME_WORDS = 6
_ALIKE = 0.75  # similarity of two spellings of one name
_MOST_COMPARED = 200  # words
MAX_EMAIL = 254
MIN_DIGITS = 7
MAX_DIGITS = 15
LONGEST_WITHOUT_CODE = 10  # digits

# The length of each part is bounded: a visitor can type 4,000 characters that would make an unbounded one try for seconds.
_EMAIL = re.compile(r"(?<![\w.+%-])\w[\w.!#$%&'’*+?^~-]{0,63}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
# `ayse@example.comdan ulaşın`: a Turkish suffix that was written without its apostrophe.
_EMAIL_SUFFIX = re.compile(r"(?<=\.)(com|net|org|edu|gov|info|biz|tr)(?:[dt][ea]n?|y?[ea]|[dt][iıuü]r)$")
# `ayse [at] example [dot] com`, `ayse at example dot com`, `ayse @ example . com`
_SPELLED_AT = re.compile(
    r"\s?[\[({<]\s?(?:at|et|@|kuyruklu a)\s?[\])}>]\s?|\s?@\s?|\s(?:at|et|kuyruklu a)\s(?=\S{1,63}\s?[\[({<]?\s?(?:dot|nokta|\.))"
)
_SPELLED_DOT = re.compile(r"\s?[\[({<]\s?(?:dot|nokta|\.)\s?[\])}>]\s?|\s(?:dot|nokta|\.)\s")
# `soyadım da Tuna`, `my last name is spelled Hille`: what follows is a surname.
_SURNAME = re.compile(
    r"\b(?:soyad[ıi]m?|soyism?im|surname|last name|family name)(?: (?:da|de|is|was|should be|spelled|spelt|actually)){0,3}[ :=]{1,3}"
    r"([^\W\d_]{1,40}(?:['’-][^\W\d_]{1,40}){0,2})",
    re.IGNORECASE,
)
_LONGEST_READ = 1_000  # characters of a message in which a surname is looked for
_NUMBER = re.compile(r"\+?\d(?:[\d \t().\-/\u00a0\u202f]*\d)?")
# What Turkish adds to a name, folded: `Ayşe'yim`, `Mehmet'in`, `Selinden`.
_NAME_END = re.compile(r"(?:y?[iu]m|n?[iu]n|y?[iuea]|[dt][ea]n?|y?l[ea]|[dt][iu]r)?(?!\w)")


def _fold(text: str) -> str:
    """Fold case and accents of NFC text. Each character stays at its index."""
    if text.isascii():
        return text.lower()
    return "".join(" " if character.isspace() else fold_character(character)[:1] or character for character in text)


def _shaped(text: str) -> str:
    """Return a text in Unicode's NFC form, with single blanks for white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def own_name(name: str, spoken: Iterable[str]) -> str | None:
    """Return the name as the visitor wrote it, or None. A word may be their later spelling: "Linda Prescot", then "Prescott"."""
    spoken, words = list(spoken), name.split()
    if (typed := _name_in(name, spoken)) or not 2 <= len(words) <= MAX_NAME_WORDS:
        return typed
    # First name and surname that were told apart: "Serkan", then "my surname is Tuna".
    surnames = [match[1] for text in spoken for match in _SURNAME.finditer(_shaped(text)[:_LONGEST_READ])]
    for surname in surnames[:_MOST_COMPARED]:
        if _fold(surname) == _fold(words[-1]) and (first := _name_in(" ".join(words[:-1]), spoken)):
            return f"{first} {surname}"
    return _respelled(words, spoken)


def _respelled(words: list[str], spoken: list[str]) -> str | None:
    for index, word in enumerate(words):
        typed = _name_in(word, spoken)
        known = (other for text in spoken for other in re.findall(r"[^\W\d_]+", text) if _fold(other)[:1] == _fold(word)[:1])
        for other in list(dict.fromkeys(known))[:_MOST_COMPARED] if typed else ():
            alike = SequenceMatcher(None, _fold(word), _fold(other)).ratio() >= _ALIKE
            if alike and (first := _name_in(" ".join([*words[:index], other, *words[index + 1 :]]), spoken)):
                parts = first.split()
                return " ".join([*parts[:index], typed or word, *parts[index + 1 :]])
    return None


def _name_in(name: str, spoken: Iterable[str]) -> str | None:
    wanted = _fold(_shaped(name))
    words = wanted.split()
    if not 2 <= len(wanted) <= MAX_NAME or len(words) > MAX_NAME_WORDS or not any(map(str.isalpha, wanted)):
        return None
    if not all(character.isalpha() or character in " .'’-" for character in wanted):
        return None
    for text in spoken:
        shaped = _shaped(text)
        # Half of an e-mail address is no name that somebody told.
        words_alone = (
            "\0" * len(word) if any(mark in word for mark in ("@", "://", "www.")) else word for word in _fold(shaped).split(" ")
        )
        folded = " ".join(words_alone)
        for match in re.finditer(r"(?<![\w\0])" + re.escape(wanted), folded):
            if _NAME_END.match(folded, match.end()):
                return shaped[match.start() : match.end()]
    return None


def own_email(email: str, spoken: Iterable[str]) -> str | None:
    """Return the address in lower case, or None if the visitor has not typed it."""
    wanted, *texts = (unicodedata.normalize("NFC", text).replace("İ", "i").lower().replace("ı", "i") for text in (email.strip(), *spoken))
    if not wanted or len(wanted) > MAX_EMAIL:
        return None
    # As they stand, and spelled out. No address has a dotless i: it is an i of a Turkish keyboard.
    for text in texts:
        for written in (text, _SPELLED_DOT.sub(".", _SPELLED_AT.sub("@", text))):
            if any(wanted in (address, _EMAIL_SUFFIX.sub(r"\1", address)) for address in _EMAIL.findall(written)):
                return wanted
    return None


def own_phone(phone: str, spoken: Iterable[str], country: str) -> str | None:
    """Return a phone number in E.164 if the visitor typed it.

    The visitor may have typed it with a country code, or without a code as a number of `country` (ISO 3166). No other code is added, since
    the number would be somebody else's. If the country is unknown, a number without a code is returned as it was typed.
    """
    wanted = _digits(phone[:64]).removeprefix("00")
    if len(wanted) < MIN_DIGITS:
        return None
    for text in spoken:
        for typed, has_code in _typed_numbers(text):
            digits = typed.removeprefix("00")
            number = (_international(f"+{digits}") or digits) if has_code else abroad(typed, country)
            if phone.strip().startswith("+") and wanted == typed and len(typed) > LONGEST_WITHOUT_CODE and not typed.startswith("0"):
                number = typed  # `49 151 23456789`: the code is there, only the plus is not
            # The last one is `+90 (0) 532 ...`: the code before a trunk prefix.
            if {wanted, wanted.lstrip("0"), _international(f"+{wanted}")} & {number, digits, typed.lstrip("0")}:
                return typed if number is None else f"+{number}"
    return None


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(character)) for character in text if character.isdigit())


def _typed_numbers(text: str) -> Iterator[tuple[str, bool]]:
    """Yield digits that may be a phone number, and whether they have a country code. Longer runs of digit groups come first."""
    for match in _NUMBER.finditer(text):
        groups = re.findall(r"\d+", match[0])
        # A date or a price may stand next to the number, so each run of neighbours is looked at; bounded, since it is squared.
        worldwide = match[0].startswith(("+", "00"))
        before = 0
        for first in range(min(len(groups), 40)):
            # The tail of a number with a code is no number of this country; one may follow where a whole number has ended.
            if not worldwide or first == 0 or before > MIN_DIGITS:
                for last in range(min(len(groups), first + 8), first, -1):
                    typed = _digits("".join(groups[first:last]))
                    if MIN_DIGITS <= len(typed.removeprefix("00")) <= MAX_DIGITS:
                        yield typed, worldwide and first == 0
            before += len(groups[first])


# The digits with which the numbers of a country begin, behind the trunk prefix.
_FIRST_DIGITS = {"TR": "234589", "GB": "12378"}


def abroad(digits: str, country: str) -> str | None:
    """Add the code of `country` (ISO 3166) to a national number. Return None if no number of the country has these first digits."""
    known = _FIRST_DIGITS.get(country.upper())
    if known and digits[:1] == "0" and digits[1:2] not in ("0", *known):
        return None
    return _international(digits, country.upper())


def _international(number: str, country: str | None = None) -> str | None:
    """Return a number's digits with its country code. A trunk prefix is removed, such as the 0 in `+44 (0) 7700 ...`."""
    import phonenumbers  # a tenth of a second, which most commands do not need

    try:
        return phonenumbers.format_number(phonenumbers.parse(number, country), phonenumbers.PhoneNumberFormat.E164).removeprefix("+")
    except phonenumbers.NumberParseException:
        return None
