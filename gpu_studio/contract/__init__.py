"""What processes exchange: the run directory, its events, samples, commands, locks and consents.

Every package may import this one; it imports only `common` and `plan`.
"""
