"""Settings: precedence, origins, refusals, and that no value of an unknown setting is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxkernel_lab.settings import load_settings
from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target


def _env(tmp_path: Path, **values: str) -> dict[str, str]:
    return {"HOME": str(tmp_path / "user"), "MAXKERNEL_HOME": str(tmp_path / "home"), **values}


def test_each_value_tells_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "maxkernel.toml").write_text('target = "v5e"\nauthor = "file"\n[budget]\nevaluations = 7\n')
    env = _env(tmp_path, MAXKERNEL_AUTHOR="env", MAXKERNEL_BUDGET_EVALUATIONS="9")
    settings = load_settings(environ=env, workspace=tmp_path, flags={"budget_evaluations": 11, "paradigm": None})
    assert (settings.target, settings.author, settings.budget_evaluations) == (Target.V5E, "env", 11)
    origins = {name: origin for name, _, origin in settings.described()}
    assert origins["target"] == f"file {tmp_path / 'maxkernel.toml'}"
    assert origins["author"] == "env MAXKERNEL_AUTHOR"
    assert origins["budget.evaluations"] == "flag"
    assert origins["paradigm"] == "default"
    assert origins["home"] == "env MAXKERNEL_HOME"


def test_the_home_folders_file_serves_where_the_workspace_has_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "maxkernel.toml").write_text('target = "v4"\n')
    work = tmp_path / "work"
    work.mkdir()
    assert load_settings(environ=_env(tmp_path), workspace=work).target is Target.V4
    (work / "maxkernel.toml").write_text('target = "v5p"\n')
    assert load_settings(environ=_env(tmp_path), workspace=work).target is Target.V5P


def test_device_kinds_are_targets(tmp_path: Path) -> None:
    env = _env(tmp_path, MAXKERNEL_TARGET="TPU v5 lite")
    assert load_settings(environ=env, workspace=tmp_path).target is Target.V5E


def test_neither_the_root_nor_the_users_home_is_opened_as_a_whole(tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    for folder in (Path("/"), user):
        roots = load_settings(environ=_env(tmp_path), workspace=folder).roots
        assert roots == ((tmp_path / "home").resolve(),)
    roots = load_settings(environ=_env(tmp_path), workspace=tmp_path).roots
    assert tmp_path.resolve() in roots


def test_an_unknown_setting_is_refused_without_repeating_its_value(tmp_path: Path) -> None:
    (tmp_path / "maxkernel.toml").write_text('[server]\napi_key = "sk-very-secret"\n')
    with pytest.raises(MisuseError) as caught:
        load_settings(environ=_env(tmp_path), workspace=tmp_path)
    assert "server.api_key" in str(caught.value)
    assert "sk-very-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("target = 'v9'", "v6e"),
        ("paradigm = 'magic'", "auto, search, hitl"),
        ("[budget]\nevaluations = 0", "from 1"),
        ("[pool]\nworkers = 'many'", "integer"),
        ("roots = 3", "list of folders"),
        ("target = [", "not valid TOML"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "maxkernel.toml").write_text(text)
    with pytest.raises(MisuseError, match=words):
        load_settings(environ=_env(tmp_path), workspace=tmp_path)


def test_an_author_per_role_is_a_table_in_the_file(tmp_path: Path) -> None:
    text = 'author = {planner = "openai:a", implementer = "cli:claude"}\n[budget]\ntokens = 5000\nusd = 2.5\n'
    (tmp_path / "maxkernel.toml").write_text(text)
    settings = load_settings(environ=_env(tmp_path), workspace=tmp_path)
    assert settings.author == "planner=openai:a,implementer=cli:claude"
    assert (settings.budget_tokens, settings.budget_usd) == (5000, 2.5)
