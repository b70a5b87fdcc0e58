"""E-mail addresses and telephone numbers in a text, and other numbers that look like them."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

import phonenumbers

from chatsvc.domain.contacts import abroad
from chatsvc.language import symbols
from chatsvc.language.folding import Folded, folded, masked
from chatsvc.language.tokens import Kind, Mention
from chatsvc.language.wordlists import LanguageWords

_LOCAL = r"[a-z0-9](?:[a-z0-9._%+-]{0,62}[a-z0-9_+-])?"
_DOMAIN = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,6}[a-z]{2,24}"
_EMAIL = re.compile(rf"(?<![a-z0-9.@])(?:mailto:)?({_LOCAL}@{_DOMAIN})(?![a-z0-9@])")
# "ayse [at] example [dot] com", "ayse @ example . com", "ayse at example dot com", "ayse et ornek nokta com"
_WORDS = LanguageWords("contacts.txt")
_AT = _WORDS.any_of("at", r"(?: ?[\[({<] ?(?:{}|@) ?[\])}>] ?| ?@ ?| (?:{}) )").pattern
_DOT = _WORDS.any_of("dot", r"(?: ?[\[({<] ?(?:{}|\.) ?[\])}>] ?| (?:{}) | \. |\.)").pattern
_TLD = r"(?:com|net|org|edu|gov|info|io|co|biz|tr|uk|de|fr|eu|test|example)"
_SPELLED = re.compile(
    rf"(?<![a-z0-9.@])([a-z0-9][a-z0-9_+-]{{0,63}}+(?:{_DOT}[a-z0-9_+-]{{1,63}}+){{0,3}}){_AT}"
    rf"([a-z0-9-]{{1,63}}+(?:{_DOT}[a-z0-9-]{{1,63}}+){{0,3}}{_DOT}{_TLD})(?![a-z0-9@])"
)
_TLD_WITH_SUFFIX = _WORDS.any_of("ending", r"^([^ ]{1,200}\.(?:com|net|org|tr))(?:{})$")
_DOTS = re.compile(_DOT)
_SAID_AT = _WORDS.any_of("at", r" (?:{}|a) |[\[({<] ?(?:{})")
_SPOKEN_AT = _WORDS.any_of("at", " (?:{}) ")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,4})?(?![a-z0-9])")
_PLATE = re.compile(r"(?<![a-z0-9./:])(?<!\d )(?:0[1-9]|[1-7]\d|8[01])[ -]?(?P<letters>[a-z]{1,3})[ -]?\d{2,4}(?![a-z0-9.:])")
# a run of digits with the separators people use
_DIGITS = re.compile(r"(?<![\w.,/])(?:\+ ?|00 ?)?\(?\d(?:[ .\-/()\t]{0,3}\d){5,18}(?![\d])")
_DATE_LIKE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)(?!\d)|\d{4}-\d\d-\d\d")
_OTHER_NUMBER = re.compile(
    _WORDS.any_of("other_number", r"\b(?:{})\w{0,30}+").pattern
    + _WORDS.any_of("other_number_of", r"(?:['\s:#.\-]{1,9}(?:{})){0,6}[\s:#.,\-]{0,20}$").pattern
)
_TELEPHONE = _WORDS.any_of("telephone", r"\b(?:{})[a-z']*")
# any address and any long number, to be masked: more than can be read as contact data
_ANY_CONTACT = re.compile(
    # e-mail address; telephone number; account name; "12 Hidden Street"; "Gül Sok. No: 4"
    r"[^\s@]{1,64}+@\S+|\+?\d(?:[ ()./-]{0,2}\d){8,}|(?<!\w)@\w[\w.]{2,50}|"
    + _WORDS.any_of("road", r"\b\d{1,5}[A-Za-z]? (?:[A-Z][\w'’]{0,30} ){1,3}(?:{})\b").pattern
    + "|"
    + _WORDS.any_of("street", r"\b(?:[A-ZÇĞİÖŞÜ]\w{0,30} ){1,2}(?:{})\b\.?(?: No:? ?\d+)?").pattern
)
_NO_PLATES = symbols.NUMBER_OF.keys() | symbols.CASE_OF.keys()
_E164 = phonenumbers.PhoneNumberFormat.E164
_LEAST_DIGITS = 10  # of a bare number in a country whose mobile numbers are not described
_MOST = 12  # runs of digits looked at in one text
_TYPED_NUMBER = re.compile(r"(?<![\w+])(?:\+|0)[\d ()./-]{8,18}\d(?!\w)")
_FULL = 9  # digits of a number that begins with 0 or a plus and is listed in no plan; a shorter one lacks some
_MONEY_BEHIND = _WORDS.any_of("money", r"\s{0,2}(?:{}|₺|\$|€|£)")
_EXTENSION = _WORDS.any_of("extension", r"\s?(?:{})\.? ?\d{1,5}")
_PLUS = LanguageWords("numbers.txt").words("plus")
_PLUS_WORD = re.compile(rf"\b(?:{'|'.join(_PLUS)}) (?=\d)")
_MOBILE = {country: _WORDS.any_of(f"mobile {country}") for country in _WORDS.group("mobile ")}


def emails(folded: Folded, raw: str) -> list[Mention[str]]:
    """Return the e-mail addresses in lower-case ASCII; a Turkish ending behind one is cut off."""
    matches = [Mention(_cut(match[1]), match.start(1), match.start(1) + len(_cut(match[1]))) for match in _EMAIL.finditer(folded.text)]
    if not matches and ("@" in raw or _SAID_AT.search(folded.text)):
        for match in _SPELLED.finditer(folded.text):
            address = _DOTS.sub(".", match[1]) + "@" + _DOTS.sub(".", match[2])
            if "@" in match[0] or len(_SPOKEN_AT.findall(match[0])) < 2:
                matches.append(Mention(_cut(address), match.start(), match.end()))
    return matches


def _cut(address: str) -> str:
    match = _TLD_WITH_SUFFIX.match(address)
    return match[1] if match else address


def other_numbers(folded: Folded) -> list[tuple[int, int]]:
    """Return the spans of links, IBANs and number plates, whose digits are no telephone numbers."""
    matches = [match.span() for pattern in (_URL, _IBAN) for match in pattern.finditer(folded.text)]
    plates = (match for match in _PLATE.finditer(folded.text) if match["letters"] not in _NO_PLATES)
    return matches + [match.span() for match in plates if symbols.symbol_of(match["letters"]) == Kind.UNKNOWN.value]


def phones(folded: Folded, country: str, spans: Iterable[tuple[int, int]]) -> list[Mention[str]]:
    """Return the telephone numbers (E.164) of a text, except in `spans`. `country` is used for numbers without a country code."""
    text = _PLUS_WORD.sub(lambda match: "+".rjust(len(match[0])), masked(folded.text, spans))
    mentions: list[Mention[str]] = []
    for match in islice(_DIGITS.finditer(text), _MOST):
        if mention := _phone(match, text, country, mentions[-1].end if mentions else 0):
            mentions.append(mention)
    return mentions


def _phone(match: re.Match[str], text: str, country: str, floor: int) -> Mention[str] | None:
    run = match[0]
    if _DATE_LIKE.match(run) or _MONEY_BEHIND.match(text, match.end()):
        return None
    before = text[max(floor, match.start() - 45) : match.start()]
    clause = re.split(r"(?<!\bno)(?<!\bnr)[.;!?](?= )|\n", before)[-1]
    if _OTHER_NUMBER.search(clause):
        return None
    called = bool(_TELEPHONE.search(clause))
    digits = re.sub(r"\D", "", run)
    plus = run.lstrip().startswith(("+", "00"))
    # ten digits in one piece that begin like no mobile number may as well be an order number
    is_mobile = bool(_MOBILE[country].fullmatch(run)) if country in _MOBILE else len(run) >= _LEAST_DIGITS
    if run.isdigit() and not called and not plus and not run.startswith("0") and not is_mobile:
        return None
    number = _valid(run.replace("+ ", "+"), country)
    if number is None and called and len(digits) > 10 and not plus:
        number = _valid("+" + digits, country)
    if number is None:
        return None
    extension = _EXTENSION.match(text, match.end())
    return Mention(number, match.start() + len(run) - len(run.lstrip()), extension.end() if extension else match.end())


@lru_cache(maxsize=4_000)
def _valid(number: str, country: str) -> str | None:
    parsed = _parsed(number, country)
    return phonenumbers.format_number(parsed, _E164) if parsed and phonenumbers.is_valid_number(parsed) else None


def _parsed(number: str, country: str) -> phonenumbers.PhoneNumber | None:
    try:
        return phonenumbers.parse(number, country)
    except phonenumbers.NumberParseException:
        return None


def is_announced(text: str, start: int) -> bool:
    """Return whether the words before `start` say that a telephone number follows."""
    before = folded(text[max(0, start - 30) : start])
    return bool(_TELEPHONE.search(before)) and not _OTHER_NUMBER.search(before)


def names_other_number(text: str, end: int) -> bool:
    """Return whether the words right before `end` announce a number of another kind: "the label number"."""
    return bool(_OTHER_NUMBER.search(folded(text[max(0, end - 45) : end])))


def possible(text: str, country: str) -> tuple[str, tuple[int, int]] | None:
    """Return the first telephone number of a possible length as E.164, with its span. It need not be in the country's numbering plan.

    A number that does not begin like those of `country` is a foreign one without its country code: its digits are returned as typed.
    """
    for match in _TYPED_NUMBER.finditer(text):
        if names_other_number(text, match.start()) or (parsed := _parsed(match[0], country)) is None:
            continue
        digits = re.sub(r"\D", "", match[0])
        if not match[0].startswith(("+", "00")) and abroad(digits, country) is None and knows_country(country):
            return digits, match.span()
        long = len(phonenumbers.national_significant_number(parsed)) >= _FULL
        if long and phonenumbers.is_possible_number_with_reason(parsed) == phonenumbers.ValidationResult.IS_POSSIBLE:
            return phonenumbers.format_number(parsed, _E164), match.span()
    return None


def in_local_form(number: str, country: str) -> str:
    """Format a number in E.164 as people of `country` (ISO 3166) write it. A number without a country code is returned unchanged."""
    if not number.startswith("+") or (parsed := _parsed(number, country)) is None:
        return number
    own = phonenumbers.country_code_for_region(country) == parsed.country_code
    form = phonenumbers.PhoneNumberFormat.NATIONAL if own else phonenumbers.PhoneNumberFormat.INTERNATIONAL
    shown = phonenumbers.format_number(parsed, form)
    if own and shown == phonenumbers.national_significant_number(parsed):  # no form fits it, and its first 0 went with the form
        return f"{phonenumbers.ndd_prefix_for_region(country, True) or ''}{shown}"
    return shown


def is_number_of_any_plan(digits: str, country: str) -> str | None:
    """Return the digits of an answer to "what is your number?" as E.164. Return None if they are no valid number."""
    return _valid(digits, country) or (_valid("+" + digits, country) if len(digits) > 10 else None)


def knows_country(code: str) -> bool:
    """Return whether `code` (ISO 3166, capitals) is a country whose telephone numbers can be read."""
    return code in phonenumbers.SUPPORTED_REGIONS


def mask_contacts(text: str, mask: str) -> str:
    """Replace e-mail and postal addresses, account names and telephone numbers by `mask`."""
    return _ANY_CONTACT.sub(mask, text)
