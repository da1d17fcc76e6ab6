"""The command line's grammar. Each verb names the function that runs it; those import what they need when called."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from typing import Any

from maxkernel_mcp import __version__

Run = Callable[[argparse.Namespace], int]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the ``maxkernel`` command."""
    parser = argparse.ArgumentParser(
        prog="maxkernel", description="A TPU kernel laboratory: compile, test and profile JAX Pallas kernels."
    )
    parser.add_argument("--version", action="version", version=f"maxkernel {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _kernel_verbs(verbs)
    _diff_verb(verbs)
    _task_verbs(verbs)
    _record_verbs(verbs)
    _optimize_verb(verbs)
    _hitl_verbs(verbs)
    _server_verbs(verbs)
    return parser


def _verb(verbs: Any, name: str, run: Run, help_text: str, *, json_flag: bool = True) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=help_text, description=help_text)
    parser.set_defaults(run=run)
    parser.add_argument("--home", metavar="DIR", help="the lab's home (default $MAXKERNEL_HOME or ~/.maxkernel)")
    if json_flag:
        parser.add_argument("--json", action="store_true", help="print the MCP tool's structured result, alone")
    return parser


def _lazy(module: str, function: str) -> Run:
    def run(options: argparse.Namespace) -> int:
        return getattr(importlib.import_module(f"maxkernel_mcp.cli.{module}"), function)(options)

    return run


def _tool(name: str) -> Run:
    def run(options: argparse.Namespace) -> int:
        return importlib.import_module("maxkernel_mcp.cli.tools").run_tool(name, options)

    return run


def _workload_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="FILE", help="kernel file defining workload(*inputs, **PARAMS)")
    parser.add_argument("--task", default="", help="task id or task folder")
    parser.add_argument("--input", dest="inputs", action="append", default=[], metavar="SPEC", help="f32[64,512]")
    parser.add_argument(
        "--param", dest="params", action="append", default=[], metavar="K=V", help="over the file's PARAMS"
    )
    parser.add_argument("--import-root", dest="import_roots", action="append", default=[], metavar="DIR")
    parser.add_argument("--detach", action="store_true", help="print a job id and go on in the background")


def _kernel_verbs(verbs: Any) -> None:
    compiling = _verb(verbs, "compile", _tool("compile_kernel"), "compile a kernel with the real TPU compiler")
    _workload_options(compiling)
    compiling.add_argument("--target", dest="targets", action="append", default=[], metavar="TPU", help="v5e, v6e, ...")
    compiling.add_argument(
        "--toolchain", action="append", default=[], metavar="NAME", help="see `maxkernel toolchain`; may be repeated"
    )
    compiling.add_argument(
        "--no-dumps", dest="dumps", action="store_false", help="no schedule and no time estimate, but faster"
    )
    compiling.add_argument("--passes", action="store_true", help="keep each pass of the Mosaic compiler")
    testing = _verb(verbs, "test", _tool("test_kernel"), "judge a kernel against its reference")
    _workload_options(testing)
    testing.add_argument("--reference", dest="reference_path", default="", metavar="REF.py")
    testing.add_argument("--level", default="quick", help="quick, full or sanitize")
    testing.add_argument("--target", default="", metavar="TPU")
    profiling = _verb(
        verbs, "profile", _tool("profile_kernel"), "estimate or measure a kernel's time and what bounds it"
    )
    _workload_options(profiling)
    profiling.add_argument("--reference", dest="reference_path", default="", metavar="REF.py")
    profiling.add_argument("--target", default="", metavar="TPU")
    profiling.add_argument("--mode", default="auto", help="auto, estimate or device")
    profiling.add_argument("--against", default="reference", help="reference, none or a run id")
    profiling.add_argument("--toolchain", default="", metavar="NAME", help="see `maxkernel toolchain`")
    tuning = _verb(verbs, "autotune", _tool("autotune_kernel"), "find the fastest values of a kernel's PARAMS")
    _workload_options(tuning)
    tuning.add_argument("--reference", dest="reference_path", default="", metavar="REF.py")
    tuning.add_argument("--target", default="", metavar="TPU")
    tuning.add_argument(
        "--space", action="append", default=[], metavar="K=V,V,...", help="values to try (default: the file's SPACE)"
    )
    tuning.add_argument("--budget", type=int, default=0, metavar="N", help="configurations to compile at most")


def _diff_verb(verbs: Any) -> None:
    parser = _verb(verbs, "diff", _lazy("diff", "diff"), "say where the time went between two captures or runs")
    parser.epilog = (
        "exit codes: 0 compared, and no condition met; 1 a condition is met, or nothing could be compared or judged; "
        "2 misuse; 3 the lab failed"
    )
    parser.add_argument("baseline", metavar="A", help="capture, its folder, or a profiled run (r-…, r-…@v5e, r-…~1)")
    parser.add_argument("candidate", metavar="B", help="the same kind; negative deltas mean B is faster")
    parser.add_argument("--core", type=int, default=-1, metavar="N", help="core to compare (default: A's lowest)")
    parser.add_argument("--candidate-core", type=int, default=-1, metavar="N", help="core of B (default: the same)")
    parser.add_argument("--target", default="", metavar="TPU", help="chip, where a capture does not name its own")
    parser.add_argument(
        "--fail-on", action="append", default=[], metavar="COND", help="slower:1%%, kernel-slower:2%% or row-slower:5us"
    )
    parser.add_argument("--html", default="", metavar="OUT", help="also write the HTML view here")
    parser.add_argument("--csv", default="", metavar="OUT", help="also write the whole table here")


def _task_verbs(verbs: Any) -> None:
    tasks: argparse.ArgumentParser = verbs.add_parser("tasks", help="list or show tasks")
    kinds = tasks.add_subparsers(dest="kind", required=True, metavar="list|show")
    listing = _verb(kinds, "list", _tool("list_tasks"), "list the tasks")
    listing.add_argument("query", nargs="?", default="", help="words in id, title or operator")
    listing.add_argument("--tier", default="")
    listing.add_argument("--limit", type=int, default=60)
    showing = _verb(kinds, "show", _tool("get_task"), "show one task, or a reference of your own")
    showing.add_argument("task", nargs="?", default="", help="task id or task folder")
    showing.add_argument("--reference", dest="reference_path", default="", metavar="REF.py")
    showing.add_argument("--input", dest="inputs", action="append", default=[], metavar="SPEC")


def _record_verbs(verbs: Any) -> None:
    docs = _verb(verbs, "docs", _tool("lookup_docs"), "look up the installed jax and Pallas, and the guide")
    docs.add_argument("query", help="a name, also misspelt, or words")
    docs.add_argument("--limit", type=int, default=5)
    _verb(verbs, "env", _tool("describe_environment"), "what this lab is and where its settings come from")
    runs: argparse.ArgumentParser = verbs.add_parser("runs", help="list, show or export runs")
    kinds = runs.add_subparsers(dest="kind", required=True, metavar="list|show|export")
    listing = _verb(kinds, "list", _tool("list_runs"), "list the newest runs")
    for name in ("--task", "--kind", "--verdict"):
        listing.add_argument(name, dest=f"{name[2:]}" if name != "--kind" else "run_kind", default="")
    listing.add_argument("--limit", type=int, default=20)
    showing = _verb(kinds, "show", _tool("get_run"), "show one run")
    showing.add_argument("run_id")
    export = _verb(kinds, "export", _lazy("records", "export"), "write all results as CSV", json_flag=False)
    export.add_argument("file", metavar="FILE.csv")
    read = _verb(kinds, "read", _lazy("records", "read"), "print an artifact, by its uri", json_flag=False)
    read.add_argument("uri", metavar="maxkernel://runs/RUN/ARTIFACT")
    verifying = _verb(
        verbs, "verify", _tool("verify_run"), "recompute what an accepted verdict rests on, and judge again"
    )
    verifying.add_argument("run_id", metavar="RUN")
    verifying.add_argument("--hashes-only", action="store_true", help="compare hashes; do not judge the kernel again")
    jobs: argparse.ArgumentParser = verbs.add_parser("jobs", help="look at, stop or continue jobs")
    acts = jobs.add_subparsers(dest="act", required=True, metavar="get|cancel|resume")
    getting = _verb(acts, "get", _tool("get_job"), "how a job stands")
    getting.add_argument("job_id")
    getting.add_argument("--wait-s", type=float, default=0)
    _verb(acts, "cancel", _tool("cancel_job"), "stop a job").add_argument("job_id")
    _verb(acts, "resume", _lazy("optimize", "resume"), "continue a job, here, to its end").add_argument("job_id")


def _optimize_verb(verbs: Any) -> None:
    parser = _verb(verbs, "optimize", _lazy("optimize", "optimize"), "search for a faster kernel, unattended")
    _optimize_options(parser)
    parser.add_argument("--paradigm", default="", help="auto, search or hitl")
    parser.add_argument("--policy", default="", help="of a search: parallel, beam, mcts, islands or random")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of a search")
    parser.add_argument("--detach", action="store_true", help="print a job id and go on in the background")


def _optimize_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", nargs="?", default="", help="task id or task folder")
    parser.add_argument("--start-from", default="", metavar="K.py", help="a kernel of your own to improve")
    parser.add_argument("--reference", dest="reference_path", default="", metavar="REF.py")
    parser.add_argument("--input", dest="inputs", action="append", default=[], metavar="SPEC")
    parser.add_argument("--author", default="", help="who writes kernels: builtin, openai:MODEL, cli:claude, ...")
    parser.add_argument("--target", default="", metavar="TPU")
    parser.add_argument("--budget", type=int, default=0, metavar="N", help="kernels to try at most")
    parser.add_argument("--budget-tokens", type=int, default=0, metavar="N", help="tokens the author may use")
    parser.add_argument("--budget-usd", type=float, default=0, metavar="USD", help="what those may cost")


def _hitl_verbs(verbs: Any) -> None:
    parser = _verb(verbs, "hitl", _lazy("optimize", "hitl"), "optimise step by step: you approve plan, code and finish")
    _optimize_options(parser)
    plans: argparse.ArgumentParser = verbs.add_parser("plans", help="look at, approve or reject proposed plans")
    acts = plans.add_subparsers(dest="act", required=True, metavar="list|show|approve|reject")
    _verb(acts, "list", _lazy("plans", "listing"), "list the newest plans", json_flag=False)
    _verb(acts, "show", _lazy("plans", "show"), "show a plan", json_flag=False).add_argument("plan_id")
    _verb(acts, "approve", _lazy("plans", "approve"), "approve a plan", json_flag=False).add_argument("plan_id")
    _verb(acts, "reject", _lazy("plans", "reject"), "reject a plan", json_flag=False).add_argument("plan_id")
    short = _verb(verbs, "approve", _lazy("plans", "approve"), "approve a proposed plan", json_flag=False)
    short.add_argument("plan_id", metavar="PLAN")


def _server_verbs(verbs: Any) -> None:
    serve = _verb(verbs, "serve", _lazy("serve", "serve"), "serve MCP on stdin and stdout, or HTTP", json_flag=False)
    serve.add_argument(
        "--root", dest="roots", action="append", default=[], metavar="DIR", help="folder files may be read from"
    )
    serve.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    serve.add_argument("--log-file", metavar="FILE", help="append log events there instead of stderr")
    serve.add_argument("--http", action="store_true", help="streamable HTTP, for any number of clients")
    serve.add_argument("--host", default="", help="address to listen on (default 127.0.0.1; others need a token)")
    serve.add_argument("--port", type=int, default=0, help="default: any free one, which is printed")
    serve.add_argument("--token-file", default="", metavar="FILE", help="clients must bear the token in it")
    serve.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name clients may call this server by"
    )
    toolchains: argparse.ArgumentParser = verbs.add_parser(
        "toolchain", help="add, list or remove other versions of jax and libtpu"
    )
    acts = toolchains.add_subparsers(dest="act", required=True, metavar="add|list|remove")
    adding = _verb(acts, "add", _lazy("toolchains", "add"), "make an environment with another jax and libtpu")
    adding.add_argument("specs", nargs="+", metavar="SPEC", help="jax==0.6.2 libtpu==0.0.17, or an environment's path")
    adding.add_argument("--name", default="", help="what to call it (default: jax-VERSION)")
    _verb(acts, "list", _lazy("toolchains", "show"), "list the toolchains, and what each lacks")
    removing = _verb(acts, "remove", _lazy("toolchains", "remove"), "remove one, with what was installed for it")
    removing.add_argument("name", metavar="NAME")
    connect = _verb(
        verbs, "connect", _lazy("connect", "connect"), "serve a lab elsewhere on stdin and stdout", json_flag=False
    )
    connect.add_argument("place", metavar="URL|ssh:HOST", help="http://HOST:PORT/mcp, https://HOST/mcp or ssh:HOST")
    connect.add_argument("--token-file", default="", metavar="FILE", help="the token the lab's server wants")
    connect.add_argument("--remote-command", default="", help="what starts the server there (maxkernel serve)")
    install = _verb(verbs, "install", _lazy("install", "install"), "add this server to an MCP client's settings")
    install.add_argument(
        "client", help="claude-desktop, claude-code, cursor, vscode, gemini or codex", metavar="CLIENT"
    )
    install.add_argument("--write", action="store_true", help="write the change that is shown; keeps a backup")
    install.add_argument("--undo", action="store_true", help="take the server out again")
    install.add_argument("--root", dest="roots", action="append", default=[], metavar="DIR", help="folder with kernels")
    install.add_argument("--connect", default="", metavar="URL|ssh:HOST", help="use a lab elsewhere")
    install.add_argument("--token-file", default="", metavar="FILE", help="for --connect")
    install.add_argument(
        "--folder", default="", metavar="DIR", help="project whose .vscode is meant (default: this one)"
    )
    _verb(verbs, "doctor", _lazy("doctor", "doctor"), "what works here, what does not, and the cure")
