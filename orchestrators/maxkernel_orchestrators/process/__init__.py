"""The orchestrator as a process: arguments, connection, the job's life from lock to result, exit codes."""
