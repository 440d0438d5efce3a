"""What can go wrong here."""


class LocalOpenSearchError(Exception):
    """The node can not be installed, started or stopped; the message is one line for people."""
