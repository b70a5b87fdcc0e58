"""Names and contact data in a form, in any order, with titles, companies and questions."""

from __future__ import annotations

from datetime import datetime

import pytest

from chatsvc.domain import contacts
from chatsvc.language import values

NOW = datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time

# country of the bot, open question, message, name, e-mail address, telephone number
GIVEN = [
    ("GB", "time", "nora parker 07700 900123", "nora parker", None, "+447700900123"),
    ("GB", "name", "smith", "smith", None, None),
    ("GB", "date", "table for 2 on friday under wilson", "wilson", None, None),
    ("TR", "name", "isim Nuray Akın-Demir", "Nuray Akın-Demir", None, None),
    ("TR", "", "ad sevim aydın tel 05335551234", "sevim aydın", None, "+905335551234"),
    ("IE", "name", "mary kate o'brien", "mary kate o'brien", None, None),
    ("NL", "", "Joris de Boer joris@mail.example", "Joris de Boer", "joris@mail.example", None),
    ("GB", "name", "mr john smith, acme ltd, john@acme.example", "john smith", "john@acme.example", None),
    ("GB", "name", "Acme Ltd, John Smith, 020 7946 0958", "John Smith", None, "+442079460958"),
    ("GB", "name", "john smith\n07700 900123\njohn@acme.example", "john smith", "john@acme.example", "+447700900123"),
    ("GB", "name", "07700 900123 john smith", "john smith", None, "+447700900123"),
    ("GB", "name", "john@acme.example John Smith", "John Smith", "john@acme.example", None),
    ("GB", "name", "Mrs Patel", "Patel", None, None),
    ("GB", "name", "Dr. Sarah Whitmore-Hughes", "Sarah Whitmore-Hughes", None, None),
    ("GB", "name", "Gary Bell. do you have parking?", "Gary Bell", None, None),
    ("GB", "name", "gary bell and do u take cards", "gary bell", None, None),
    ("TR", "name", "Yılmaz İnşaat Ltd, Ahmet Yılmaz, 0212 555 11 22", "Ahmet Yılmaz", None, "+902125551122"),
    ("TR", "name", "firma adı Delta Makina, yetkili Serkan Tuna, serkan@delta.example", "Serkan Tuna", "serkan@delta.example", None),
    ("TR", "name", "Kaan Er, telefon vermek istemiyorum mail kaan@er.example", "Kaan Er", "kaan@er.example", None),
    ("GB", "name", "Gary Bell, no phone, gary@mail.example", "Gary Bell", "gary@mail.example", None),
    ("TR", "name", "Ayşe Yılmaz, 0532 123 45 67, otopark var mı?", "Ayşe Yılmaz", None, "+905321234567"),
    ("TR", "name", "Şükrü Saraç'ım", "Şükrü Saraç", None, None),
    ("TR", "name", "Seda hanım", "Seda", None, None),
    ("GB", "name", "just Bob", "Bob", None, None),
    ("AU", "", "sign me up. Rohit Metha 0491 570 110", "Rohit Metha", None, "+61491570110"),
    ("GB", "name", "Name Jo Bloggs\nTel 07700 900123\nEmail jo@b.example", "Jo Bloggs", "jo@b.example", "+447700900123"),
]
NONE_GIVEN = [
    ("GB", "name", "hang on"),
    ("GB", "name", "window seat if possible"),
    ("GB", "name", "gluten free"),
    ("GB", "name", "do you have parking"),
    ("TR", "name", "söylemek istemiyorum"),
    ("TR", "name", "cam kenarı olsun"),
    ("TR", "name", "bi dakika"),
    ("GB", "time", "is it Dave who does brakes"),
    ("TR", "date", "Ayşe Hanım müsait mi"),
    ("TR", "contact", "e-posta adresim yok"),
]
# country of the bot, number as typed, in E.164
NUMBERS = [
    ("TR", "0044 7700 900 321", "+447700900321"),
    ("TR", "+44 (0)7700 900321", "+447700900321"),
    ("TR", "+49 (0)151 23456789", "+4915123456789"),
    ("TR", "49 151 23456789", "+4915123456789"),
    ("TR", "+90 0532 123 45 67", "+905321234567"),
    ("NL", "+31 (0)6 12345678", "+31612345678"),
    ("IE", "+353 (0) 85 555 0127", "+353855550127"),
    ("GB", "+39 06 6982 1234", "+390669821234"),
    ("TR", "5321234567", "+905321234567"),
    ("US", "1-216-555-0143", "+12165550143"),
]


@pytest.mark.parametrize(("country", "asked", "message", "name", "email", "phone"), GIVEN, ids=[row[2] for row in GIVEN])
def test_name_and_contact_data_are_read_in_any_order(
    country: str, asked: str, message: str, name: str, email: str | None, phone: str | None
) -> None:
    read = values.read(message, now=NOW, country=country, asked=asked)
    assert tuple(one and one.value for one in (read.name, read.email, read.phone)) == (name, email, phone)


@pytest.mark.parametrize(("country", "asked", "message"), NONE_GIVEN, ids=[row[2] for row in NONE_GIVEN])
def test_other_messages_give_no_name(country: str, asked: str, message: str) -> None:
    assert values.read(message, now=NOW, country=country, asked=asked).name is None


@pytest.mark.parametrize(("country", "typed", "number"), NUMBERS, ids=[row[1] for row in NUMBERS])
def test_foreign_numbers_keep_their_code_and_lose_the_trunk_prefix(country: str, typed: str, number: str) -> None:
    phone = values.read(typed, now=NOW, country=country, asked="phone").phone
    assert phone is not None
    assert phone.value == number
    assert contacts.own_phone(number, [typed], country) == number
