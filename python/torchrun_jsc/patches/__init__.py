"""What is changed in torch: one module a target, all of them in :mod:`.table`."""
