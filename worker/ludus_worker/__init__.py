"""The worker of Ludus' PyTorch engine: load, sample, forward, backward, step, snapshot, save. No algorithm lives here."""

__version__ = "0.1.0"
