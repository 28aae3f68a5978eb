"""Fields that hold lists in the Elastic Common Schema: a condition holds where it does for one of the values.

Their columns are text as all others; a list is there as its JSON text, a value that stands alone as itself, and both are looked at.
"""

from __future__ import annotations

VOCABULARY = frozenset({"event.category", "event.type"})  # whose values are words of the schema
FIELDS = VOCABULARY | frozenset(
    {
        "tags",
        "process.args",
        "process.parent.args",
        "process.env_vars",
        "process.supplemental_groups.name",
        "host.ip",
        "host.mac",
        "observer.ip",
        "observer.mac",
        "dns.resolved_ip",
        "dns.header_flags",
        "file.attributes",
        "user.roles",
        "container.image.tag",
        "rule.author",
        "x509.alternative_names",
    }
)
PREFIXES = ("related.", "threat.")


def is_multivalued(name: str) -> bool:
    """Whether a field may hold a list."""
    return name in FIELDS or name.startswith(PREFIXES)
