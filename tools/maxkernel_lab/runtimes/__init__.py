"""Implementations of the runtime port: where the lab's work runs."""
