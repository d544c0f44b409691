import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyflag.table.forms import PLAIN, Form, affix_of, decimals_of, form_of
from whyflag.table.header import is_number

WRITTEN = {
    "plain": (["1.5", "-2", "3e5", ".5"], [1.5, -2, 3e5, 0.5]),
    "thousands": (["19,876", "1,234,567", "5"], [19876, 1234567, 5]),
    "currency": (["$1,987.65", "-$5.00", "$0.10"], [1987.65, -5, 0.1]),
    "currency behind": (["1.987,65 €", "5,00 €"], [1987.65, 5]),
    "per cent": (["20.6%", "5%", "-1%"], [20.6, 5, -1]),
    "German": (["20.838,51", "5,2", "-1.000,5"], [20838.51, 5.2, -1000.5]),
    "German with exponents": (["5,432E+07", "1,5e-3", "7"], [5.432e7, 1.5e-3, 7]),
    "French": (["1 234,5", "12\u202f345", "7"], [1234.5, 12345, 7]),
    "Swiss": (["1'234.5", "12'345.25"], [1234.5, 12345.25]),
    "accounts": (["(1,234)", "5,678"], [-1234, 5678]),
    "Indian": (["1,89,663", "12,34,567.5", "89,663", "500"], [189663, 1234567.5, 89663, 500]),
    "units": (["5.1 cm", "12 cm", "7cm"], [5.1, 12, 7]),
}


@pytest.mark.parametrize(("texts", "values"), WRITTEN.values(), ids=WRITTEN)
def test_numbers_are_read_as_people_write_them(texts, values):
    form = form_of(texts)
    assert form.numbers(np.array(texts, dtype=object)).tolist() == values


@pytest.mark.parametrize("text", ["1_000", "n/a", "1,2,3", "$5", "0x10", "", "12 34", "1e", "--5"])
def test_what_people_do_not_write_is_no_number(text):
    assert np.isnan(PLAIN.number(text))
    assert np.isnan(PLAIN.numbers(np.array([text, "1"], dtype=object))[0])


def test_a_comma_is_taken_as_the_other_numbers_have_it():
    assert form_of(["1,234", "5,678"]) == Form(",", ".")
    assert form_of(["1,234", "5,678"], commas_are_decimal=True) == Form("", ",")


def test_a_number_with_an_exponent_has_no_thousands():
    assert np.isnan(Form(",", ".").number("5,432E+07"))
    assert Form(",", ".").numbers(np.array(["5,432.5", "5E+07"], dtype=object)).tolist() == [
        5432.5,
        5e7,
    ]


def test_codes_with_letters_are_no_units():
    form = form_of(["12A", "13B", "14C", "15A"])
    assert np.isnan(form.numbers(np.array(["12A", "13B"], dtype=object))).any()


@pytest.mark.parametrize(
    ("form", "decimals", "value", "text"),
    [
        (Form(), 0, 71000.0, "71000"),
        (Form(), 2, 2.5, "2.50"),
        (Form(), None, 57.727212345, "57.7272"),
        (Form(",", ".", "$"), 2, -1987.654, "-$1,987.65"),
        (Form(".", ",", "", " €"), 1, 20838.51, "20.838,5 €"),
        (Form(), 0, -0.2, "0"),
        (Form(",", ".", group=2), 0, 189663.0, "1,89,663"),
        (Form(",", ".", "₹", group=2), 4, -12345678.125, "-₹1,23,45,678.1250"),
        (Form(",", ".", group=2), None, 12345678.125, "1.23457e+07"),
    ],
)
def test_numbers_are_written_as_they_were(form, decimals, value, text):
    assert form.text(value, decimals) == text


def test_decimals_are_those_that_were_written():
    assert decimals_of(["1", "2.50", "3.1"], PLAIN) == 2
    assert decimals_of(["1", "2"], PLAIN) == 0
    assert decimals_of(["0.123456789"], PLAIN) is None
    assert decimals_of(["1e5"], PLAIN) is None
    assert decimals_of(["5,432E+07"], Form("", ",")) is None
    assert decimals_of(["5 e", "7.5 e"], Form(suffix=" e")) == 1
    assert decimals_of(["Rs. 1,234.50", "-Rs. 5"], Form(",", ".", "Rs. ")) == 2


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_digit_of_a_number_is_lost(value):
    assert PLAIN.number(repr(value)) == value
    assert PLAIN.numbers(np.array([repr(value)], dtype=object))[0] == value


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_none(text):
    form = form_of([text, "1.5"])
    assert isinstance(form.number(text), float)


@pytest.mark.parametrize(
    "text",
    [" " * 20_000 + "x", "1" * 20_000 + "x", "-" + " " * 20_000 + "see note!", "1 " * 9_000 + "!"],
)
def test_long_texts_that_are_no_numbers_are_told_at_once(text):
    begin = time.process_time()
    assert not is_number(text)
    assert affix_of(text + "?") is None
    assert np.isnan(Form(",", ".", "$", " kg").number(text))
    assert time.process_time() - begin < 1  # some tried minutes of ways to divide them


@pytest.mark.parametrize("setting", [{"minus": "5"}, {"group": 4}])
def test_a_way_to_write_numbers_that_nobody_has_is_refused(setting):
    with pytest.raises(ValueError, match=f"`{next(iter(setting))}` must be"):
        Form(**setting)
