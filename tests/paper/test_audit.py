import pytest

from whyflag_paper.audit import PARTS, Finding, formulas, markdown, methods, rows


def test_findings_are_rows_of_a_table():
    text = markdown([Finding("comp", "Thyroid-GMM", "MRR", "0.80", "0.58")])
    assert text.splitlines()[-1] == "| comp | Thyroid-GMM | MRR | 0.80 | 0.58 |"


def test_every_part_is_measured_once():
    names = [part.__name__ for part in PARTS]
    assert len(set(names)) == len(names) == 17


def test_comparing_a_row_with_a_number_finds_fewer_culprits(raw_files):
    for finding in methods.compensation():
        assert float(finding.as_text) > float(finding.as_published) + 0.1


def test_every_weighting_but_the_kernel_is_off(raw_files):
    for finding in formulas.regression_weights():
        largest = finding.as_published.partition("(")[2]
        least = 10 if finding.what.startswith("Algorithm 1") else 1  # all are counted: 0 is right
        assert float(largest.partition("%")[0]) >= least


def test_the_anomalous_half_is_the_one_with_higher_scores(raw_files):
    for finding in rows.halves():
        assert float(finding.as_text) > float(finding.as_published)


def test_sizes_are_those_of_the_files(raw_files):
    u2r, arrhythmia, _ = rows.sizes()
    assert u2r.as_text == "15814: 12310 / 3078 / 426"
    assert arrhythmia.as_text == "64"


@pytest.mark.parametrize(
    "part",
    [formulas.equation_4, methods.marginals, methods.references, methods.contributions],
    ids=lambda part: part.__name__,
)
def test_measures_of_both_definitions_are_reciprocal_ranks(part, raw_files):
    findings = list(part())
    assert findings
    for finding in findings:
        for figure in (finding.as_text, finding.as_published.partition(" ")[0]):
            assert 0 < float(figure) <= 1


def test_ace_of_the_program_finds_little_on_lympho(raw_files):
    # All energies of planted rows are positive: the row's ones tie at the top, or its zeros below.
    finding = list(methods.contributions())[-1]
    assert (finding.where, finding.as_published[:4]) == ("Lympho-GMM", "0.15")


def test_no_score_of_lympho_has_a_logit(raw_files):
    (finding,) = methods.link()
    assert finding.as_published.endswith("(100%)")
