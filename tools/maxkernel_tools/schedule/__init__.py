"""Reads what the TPU compiler dumps about its final schedule, and runs its scalar part. No model, no chip."""
