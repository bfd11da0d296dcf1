import warnings

import companion

import pseudopost as pp


def test_a_warning_about_convergence_is_printed_on_the_page(capsys, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", companion.print_convergence)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning(
            pp.ConvergenceWarning("R-hat 3"), pp.ConvergenceWarning, "", 1
        )
    assert capsys.readouterr() == ("R-hat 3\n", "")


def test_any_other_warning_is_shown_as_ever(capsys):
    shown = []
    companion.print_convergence(
        "careful", UserWarning, "file", 1, shown=lambda *given: shown.append(given)
    )
    assert shown == [("careful", UserWarning, "file", 1)]
    assert capsys.readouterr() == ("", "")
