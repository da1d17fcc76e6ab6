"""How choosing and recording scale: a search of many nodes without a lab, per policy.

Prints the time of one choice with its record at the median and the 99th percentile, the time to resume, and the peak
memory. Each policy runs in a process of its own, so that memory is its own too.

    python benchmarks/search_scaling.py [--nodes 100000] [--policy mcts]
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from random import Random

from maxkernel_orchestrators.searching import Graph
from maxkernel_orchestrators.searching.nodes import ROOT, Ask, Node
from maxkernel_orchestrators.searching.policies import POLICIES, Policy, make_policy

MOVES = tuple(f"tiling: BLOCK_{axis} {way}" for axis in "MNK" for way in ("up", "down"))
BOUNDS = ("mxu", "vpu", "dma-in", "latency")
WIDTH = 4


def outcome(ask: Ask, parent: Node) -> Node:
    """A random walk downhill: most moves cost, some gain, one in five gives no kernel."""
    chance = Random(f"outcome/{ask.id}")
    if chance.random() < 0.2:
        return Node(id=ask.id, parent=ask.parent, move=ask.move, key=f"k{ask.id}", state="failed")
    before = parent.time_us or 1000.0
    return Node(
        id=ask.id,
        parent=ask.parent,
        move=ask.move,
        key=f"k{ask.id}",
        state="verified",
        time_us=before * (0.97 + 0.1 * chance.random()),
        bound_by=chance.choice(BOUNDS),
        vmem=chance.random(),
        moves=MOVES,
    )


def search(graph: Graph, policy: Policy, nodes: int) -> list[float]:
    """Search until the graph holds ``nodes``; return milliseconds per choice with its record."""
    took: list[float] = []
    while graph.next_id <= nodes:
        began = time.perf_counter()
        asks: list[Ask] = []
        for node_id in range(graph.next_id, graph.next_id + WIDTH):
            choice = policy.ask(Random(f"0/{node_id}"))
            if choice is not None:
                asks.append(Ask(id=node_id, parent=choice[0], move=choice[1]))
        graph.planned(asks)
        for ask in asks:
            node = outcome(ask, policy.frontier.nodes[ask.parent])
            graph.finished(node)
            policy.tell(node)
        took.extend([(time.perf_counter() - began) * 1000 / len(asks)] * len(asks))
    return took


def resume(path: Path, policy: Policy) -> float:
    """Read a graph and tell it to a fresh policy; return seconds."""
    began = time.perf_counter()
    graph = Graph(path)
    policy.tell(root())
    for batch in graph.batches:
        for ask in batch.asks:
            policy.take(ask.parent, ask.move)
        for ask in batch.asks:
            policy.tell(graph.nodes[ask.id])
    graph.close()
    return time.perf_counter() - began


def root() -> Node:
    """A root with four designs."""
    return Node(id=ROOT, moves=tuple(f"design {number}" for number in range(1, 5)))


def measure(name: str, nodes: int) -> None:
    """Print one policy's line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.sqlite3"
        policy, graph = make_policy(name), Graph(path)
        policy.tell(root())
        took = sorted(search(graph, policy, nodes))
        graph.close()
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        resumed_s = resume(path, make_policy(name))
    print(
        f"{name:<10} {len(took):>8} {took[len(took) // 2]:>10.3f} {took[int(len(took) * 0.99)]:>10.3f}"
        f" {resumed_s:>10.2f} {peak_mb:>9.0f}"
    )


def main() -> None:
    """Measure every policy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--policy", choices=tuple(POLICIES), action="append")
    options = parser.parse_args()
    print(f"{'policy':<10} {'nodes':>8} {'median ms':>10} {'99 % ms':>10} {'resume s':>10} {'peak MB':>9}")
    for name in options.policy or POLICIES:
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(name, options.nodes))
        process.start()
        process.join()


if __name__ == "__main__":
    main()
