"""The tests on every Python that is supported: `nox`."""

import nox

nox.options.default_venv_backend = "venv"


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """Install and test."""
    session.install("--editable", ".[stats,notebooks,dev]")
    session.run("pytest", "-n", "2", "--dist", "loadscope", *session.posargs)
