"""Toolchains of the user's: other lines of jax and libtpu, each in an environment of its own under the lab's home.

Owns their folders, how they are made and what is recorded of them. Their processes belong to the runtime.
"""
