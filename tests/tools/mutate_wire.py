#!/usr/bin/env python3
"""Damages golden messages at random, for a comparison of what Kafka and we refuse.

usage: mutate_wire.py messages.txt COUNT SEED     prints lines "NAME VERSION HEX"
"""
import random
import sys

SIZE_MAX = 150
BYTES = (0, 1, 2, 3, 0x7F, 0x80, 0xFF)


def damage(data):
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(data) or 1)
        kind = random.randrange(6) if data else 3
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at] = random.choice(BYTES)
        elif kind == 2:
            del data[at]
        elif kind == 3:
            data.insert(at, random.choice(BYTES))
        elif kind == 4:
            del data[at + 1:]
        else:
            data[at:at] = data[at:at + random.randrange(1, 9)]
    return data


def main():
    path, count, seed = sys.argv[1:4]
    random.seed(int(seed))
    with open(path, encoding="utf-8") as lines:
        messages = [line.split(" ")[:3] for line in lines]
    messages = [m for m in messages if len(m[2]) <= 2 * SIZE_MAX]
    for name, version, text in random.sample(messages * 10, int(count)):
        print(name, version, damage(bytearray.fromhex(text.lstrip("="))).hex() or "-")


main()
