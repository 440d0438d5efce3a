"""Sizes that the service accepts; each one over is a 4xx that stores nothing."""

MAX_NAME_CHARS = 255
MAX_DESCRIPTION_BYTES = 8 * 1024
MAX_PROPERTIES_BYTES = 16 * 1024
MAX_PROPERTIES_DEPTH = 8
MAX_MESSAGE_BYTES = 256 * 1024
MAX_BODY_BYTES = 1024 * 1024
MAX_QUERY_CHARS = 8 * 1024
MAX_PAGE_SIZE = 100
MAX_PAGE_WINDOW = 10_000
MAX_PAGE_BYTES = 4 * 1024 * 1024
ID_PATTERN = r"^[A-Za-z0-9._:@-]{1,128}$"
MAX_TOOL_CALLS = 90
"""Calls of one message: it is stored with all its results in one transaction of 100 rows."""
