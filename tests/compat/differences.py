"""Differences between Apache Kafka 4.4.0 and Klamm that are meant, each with its reason.

RULES: (regex on "case label", regex on the path of the field, why). docs/COMPATIBILITY.md repeats
them for readers; whatever is not listed here must be alike.
"""
RULES = []
