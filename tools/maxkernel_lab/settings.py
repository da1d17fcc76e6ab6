"""Settings: read once, each value with its origin. The only module of the lab that looks at the environment.

Precedence, strongest first: flags, ``MAXKERNEL_*`` variables, the workspace's ``maxkernel.toml`` (else the home
folder's), defaults. No key of any model provider is read or kept here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, cast

import tomli

from maxkernel_tools.errors import MisuseError
from maxkernel_tools.records.targets import Target, parse_target

FILE_NAME: Final = "maxkernel.toml"
ENV_PREFIX: Final = "MAXKERNEL_"
PARADIGMS: Final = ("auto", "search", "hitl")
POLICIES: Final = ("parallel", "beam", "mcts", "islands", "random")
_LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_GIB: Final = 1 << 30
AUTHOR_LENGTH: Final = 1000
"""Characters of the author setting: one author per role, each with a model and an address, fits."""


@dataclass(frozen=True)
class Settings:
    """Everything the lab can be told.

    Attributes:
        home: ``$MAXKERNEL_HOME``, default ``~/.maxkernel``.
        workspace: the folder the command or server was started in; relative paths start here.
        roots: folders files may be read from, absolute and resolved.
        task_roots: the user's own task catalogues, besides the face's.
        paradigm: ``auto``, ``search`` or ``hitl``.
        search_policy: who chooses in a graph search. ``search_seed``: of its chance.
        author: who writes kernels, e.g. ``builtin``; or one per role, ``planner=...,implementer=...``.
        target: the TPU generation used where a call names none.
        budget_evaluations: kernels an optimisation may try. ``budget_minutes``: wall time it may take.
        budget_tokens: tokens its author may use. ``budget_usd``: what they may cost. Zero: no limit.
        pool_workers: sandboxed jobs at once on this machine, over all labs of the user.
        pool_memory_mb: memory those jobs may reserve together.
        server_handover_s: a call that takes longer becomes a job.
        server_log_level: of the server's log on stderr.
        origins: for each name above, ``default``, ``file ...``, ``env ...`` or ``flag``.
    """

    home: Path
    workspace: Path
    roots: tuple[Path, ...]
    task_roots: tuple[Path, ...] = ()
    paradigm: Literal["auto", "search", "hitl"] = "auto"
    search_policy: str = "parallel"
    search_seed: int = 0
    author: str = "builtin"
    target: Target = Target.V6E
    budget_evaluations: int = 24
    budget_minutes: float = 20.0
    budget_tokens: int = 0
    budget_usd: float = 0.0
    pool_workers: int = 2
    pool_memory_mb: int = 8192
    server_handover_s: float = 40.0
    server_log_level: str = "warning"
    origins: Mapping[str, str] = field(default_factory=dict[str, str])

    def described(self) -> list[tuple[str, str, str]]:
        """Return ``(name, value, origin)`` of every setting, for ``describe_environment``."""
        rows: list[tuple[str, str, str]] = []
        for name in (*_TOML_NAMES, "home", "workspace"):
            attribute = name.replace(".", "_")
            value: Any = getattr(self, attribute)
            shown = (
                os.pathsep.join(map(str, cast("tuple[Path, ...]", value))) if isinstance(value, tuple) else str(value)
            )
            rows.append((name, shown, self.origins.get(attribute, "default")))
        return rows


def load_settings(
    *,
    environ: Mapping[str, str] | None = None,
    workspace: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    extra_roots: Sequence[Path] = (),
) -> Settings:
    """Read the settings from file, environment and flags.

    Args:
        environ: the environment; this process's own by default.
        workspace: the folder to start from; the current one by default.
        flags: values from the command line by attribute name; None means not given.
        extra_roots: folders a person named on the command line, allowed besides the settings' own.

    Raises:
        MisuseError: a file cannot be read, or a value has the wrong form; the message names file or variable.
    """
    env = os.environ if environ is None else environ
    where = (workspace or Path.cwd()).resolve()
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    home, home_origin = _home(env, given)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {"home": home_origin, "workspace": "flag" if workspace else "current folder"}
    for source, raw in (
        *_from_file(where, home),
        *_from_environment(env),
        *(("flag", {k: v}) for k, v in given.items()),
    ):
        for name, value in raw.items():
            if name in {"home", "workspace"}:
                continue
            values[name] = _parsed(name, value, source, where)
            origins[name] = source
    user_home = Path(env.get("HOME") or "/").resolve()
    configured = values.pop("roots", None)
    if configured is None:
        # The folder a desktop client starts a server in is "/" or the user's home: neither may be opened as a whole.
        configured = () if where in {Path("/"), user_home} else (where,)
        origins["roots"] = "default"
    roots = _unique([home, *configured, *(root.resolve() for root in extra_roots), *values.get("task_roots", ())])
    defaults = _machine_defaults()
    for name, value in defaults.items():
        values.setdefault(name, value)
    return Settings(home=home, workspace=where, roots=roots, origins=origins, **values)


def orchestrator_environment(settings: Settings) -> dict[str, str]:
    """Return a child orchestrator's environment: the user's own, where model providers' keys are, and the home."""
    return {**os.environ, ENV_PREFIX + "HOME": str(settings.home)}


def _home(env: Mapping[str, str], flags: Mapping[str, Any]) -> tuple[Path, str]:
    if flags.get("home"):
        return Path(flags["home"]).expanduser().absolute(), "flag"
    if env.get(ENV_PREFIX + "HOME"):
        return Path(env[ENV_PREFIX + "HOME"]).expanduser().absolute(), f"env {ENV_PREFIX}HOME"
    return Path(env.get("HOME") or "/").absolute() / ".maxkernel", "default"


def _machine_defaults() -> dict[str, Any]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * _GIB
    return {"pool_workers": max(1, os.cpu_count() or 1), "pool_memory_mb": max(2048, int(total * 0.75) >> 20)}


def _from_file(workspace: Path, home: Path) -> list[tuple[str, dict[str, Any]]]:
    for path in (workspace / FILE_NAME, home / FILE_NAME):
        if not path.is_file():
            continue
        try:
            table = tomli.loads(path.read_text(encoding="utf-8"))
        except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
            raise MisuseError(
                f"{path} is not valid TOML: {error}.", allowed="TOML 1.0 text in UTF-8.", action="Correct the file."
            ) from error
        return [(f"file {path}", _flattened(table, path))]
    return []


def _flattened(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key == "author" and isinstance(value, dict):
            roles = cast("dict[str, Any]", value)
            flat[key] = ",".join(f"{role}={author}" for role, author in roles.items())
        elif isinstance(value, dict):
            for inner, inner_value in cast("dict[str, Any]", value).items():
                flat[f"{key}.{inner}"] = inner_value
        else:
            flat[key] = value
    unknown = sorted(set(flat) - set(_TOML_NAMES))
    if unknown:
        # Names only: somebody may have put a key here, and values must not reach a log.
        raise MisuseError(
            f"{path} holds unknown settings: {', '.join(unknown)}.",
            allowed=", ".join(_TOML_NAMES) + ".",
            action="Remove them; keys of model providers belong in the environment.",
        )
    return {name.replace(".", "_"): value for name, value in flat.items()}


def _from_environment(env: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for name in _TOML_NAMES:
        attribute = name.replace(".", "_")
        variable = ENV_PREFIX + attribute.upper()
        if env.get(variable):
            found.append((f"env {variable}", {attribute: env[variable]}))
    return found


def _parsed(name: str, value: object, source: str, workspace: Path) -> Any:
    parser = _PARSERS[name]
    try:
        return parser(value, workspace)
    except (ValueError, TypeError) as error:
        raise MisuseError(
            f"Setting {name} from {source} cannot be {value!r}.", allowed=f"{error}.", action="Correct it there."
        ) from None


def _unique(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path.resolve() for path in paths))


def _paths(value: object, workspace: Path) -> tuple[Path, ...]:
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(p, (str, Path)) for p in cast("list[object]", parts)):
        raise TypeError("a list of folders")
    return _unique([workspace / Path(part).expanduser() for part in cast("list[str]", parts) if str(part)])


def _choice(*allowed: str) -> Callable[[object, Path], str]:
    def parse(value: object, _: Path) -> str:
        if value not in allowed:
            raise ValueError("one of " + ", ".join(allowed))
        return cast("str", value)

    return parse


def _number(kind: type[int] | type[float], low: float, high: float) -> Callable[[object, Path], float]:
    words = f"{'an integer' if kind is int else 'a number'} from {low:g} to {high:g}"

    def parse(value: object, _: Path) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise TypeError(words)
        try:
            number = kind(value)
        except ValueError:
            raise ValueError(words) from None
        if not low <= number <= high:
            raise ValueError(words)
        return number

    return parse


def _author(value: object, _: Path) -> str:
    if not isinstance(value, str) or not value or len(value) > AUTHOR_LENGTH:
        raise ValueError(f"a text of 1 to {AUTHOR_LENGTH} characters, or a table of one author per role")
    return value


def _target(value: object, _: Path) -> Target:
    return parse_target(str(value))


_PARSERS: Final[dict[str, Callable[[object, Path], Any]]] = {
    "roots": _paths,
    "task_roots": _paths,
    "paradigm": _choice(*PARADIGMS),
    "search_policy": _choice(*POLICIES),
    "search_seed": _number(int, 0, 1 << 31),
    "author": _author,
    "target": _target,
    "budget_evaluations": _number(int, 1, 100_000),
    "budget_minutes": _number(float, 0.1, 100_000),
    "budget_tokens": _number(int, 0, 1_000_000_000),
    "budget_usd": _number(float, 0, 100_000),
    "pool_workers": _number(int, 1, 1024),
    "pool_memory_mb": _number(int, 256, 1 << 24),
    "server_handover_s": _number(float, 0.1, 45),
    "server_log_level": _choice(*_LOG_LEVELS),
}
_TOML_NAMES: Final = (
    "paradigm",
    "search.policy",
    "search.seed",
    "author",
    "target",
    "roots",
    "task_roots",
    "budget.evaluations",
    "budget.minutes",
    "budget.tokens",
    "budget.usd",
    "pool.workers",
    "pool.memory_mb",
    "server.handover_s",
    "server.log_level",
)
