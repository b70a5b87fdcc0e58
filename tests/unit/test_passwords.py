"""The rules for passwords, with the list that is delivered."""

from contextlib import nullcontext

import pytest

from chatsvc.domain import operators, passwords
from chatsvc.domain.refusals import Refused
from chatsvc.services.team.sessions import _common

COMMON = [
    "password1234", "Password2026!", "P@ssw0rd!2024", "passwordpassword", "qwertyuiop12", "1q2w3e4r5t6y", "123456789012", "aaaaaaaaaaaa",
    "abcabcabcabc", "abcdefghijkl", "galatasaray1905", "Fenerbahçe1907", "iloveyou2024!", "adminadmin123", "sifresifre123", "Şifre1234567",
    "correcthorsebatterystaple", "+90 532 123 45 67", "istanbul3434", "!!welcome!!2026", "trustno1trustno1", "1qaz2wsx3edc",
    "letmein!letmein!", "qazwsxedcrfv!",
]  # fmt: skip
GOOD = [
    "violet staple harbour", "Xk9#mPq2vL!w", "three plain words", "söz gümüşse sükût altın", "qpwoeiruty-fence", "паролевый-ключ-17",
    "my password is not this", "8f3a1c9b2e7d",
]  # fmt: skip


@pytest.mark.parametrize(("password", "code"), [*((text, "password_common") for text in COMMON), *((text, "") for text in GOOD)])
def test_a_common_password_is_refused_and_another_one_taken(password: str, code: str) -> None:
    with pytest.raises(Refused, match=code) if code else nullcontext():
        assert passwords.check(password, "ada@example.com", _common()) == password


def test_length_is_counted_in_characters() -> None:
    assert passwords.check("ğ" * 3 + "violet st", "a@b", _common())
    for password, code in (("x" * 11, "password_too_short"), ("violet staple" * 20, "password_too_long")):
        with pytest.raises(Refused, match=code):
            passwords.check(password, "a@b", _common())


NO_ADDRESSES = [
    "", "ada", "ada@", "@example.com", "a b@example.com", "ada@exa_mple.com", "ada@-x.com", "ada@example..com",
    "ada@example.com\nBcc: x@y", "ada@example.com, eve@example.com", "ädä@example.com", "\u212a@example.com", f"{'a' * 250}@x.com",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_an_e_mail_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="email_invalid"):
        operators.normalised_email(text)
    assert operators.normalised_email(" Ada.Lovelace+x@Example.COM ") == "ada.lovelace+x@example.com"


def test_recovery_codes_are_ten_and_are_read_however_they_are_typed() -> None:
    codes = operators.new_recovery_codes()
    assert len(set(codes)) == 10
    assert {len(code) for code in codes} == {19}
    assert operators.recovery_digest(codes[0].upper().replace("-", " ")) == operators.recovery_digest(codes[0])
