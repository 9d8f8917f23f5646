#!/usr/bin/env python3
"""The differential test: the same requests to Apache Kafka 4.4.0 and to Klamm, answers compared.

usage: run.py [--only CASE,...] [--dump DIR] [--apache-twice] [--verbose]
Differences that differences.py explains are counted apart; any other one fails. Maven fetches
Apache Kafka once. --apache-twice compares Apache Kafka with itself, to check the script.
"""
import argparse
import os
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]
import cases_absent  # noqa: E402
import cases_cluster  # noqa: E402
import cases_groups  # noqa: E402
import cases_mutants  # noqa: E402
import cases_records  # noqa: E402
import cases_topics  # noqa: E402
import cases_transactions  # noqa: E402
import differ  # noqa: E402
import differences  # noqa: E402
import nodes  # noqa: E402

CASES = [case for module in (cases_absent, cases_cluster, cases_topics, cases_records, cases_groups,
                            cases_transactions, cases_mutants)
         for case in module.CASES]


def name_of(case):
    return case.__module__.removeprefix("cases_") + "." + case.__name__


def play(node, cases, answers):
    """Runs the cases on one node; answers[case] = {label: answer}."""
    for case in cases:
        side = differ.Side(node)
        try:
            case(side)
        except Exception:
            side.keep("script broke off", traceback.format_exc().splitlines()[-1])
            answers[name_of(case) + " trace"] = traceback.format_exc()
        answers[name_of(case)] = side.answers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--dump")
    parser.add_argument("--apache-twice", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    cases = [c for c in CASES if not options.only or
             any(name_of(c).startswith(o) for o in options.only.split(","))]
    pair = [nodes.Apache(), nodes.Apache() if options.apache_twice else nodes.Klamm()]
    answers = [{}, {}]
    clock = int(time.time() * 1000)
    try:
        for node in pair:
            node.clock = clock
            node.start()
        threads = [threading.Thread(target=play, args=(n, cases, a)) for n, a in zip(pair, answers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for node in pair:
            node.clean()
    if options.dump:
        os.makedirs(options.dump, exist_ok=True)
        for side, given in zip(("first", "second"), answers):
            differ.dump(given, os.path.join(options.dump, side + ".json"))
    report(cases, answers, options.verbose)


def report(cases, answers, verbose):
    explained = 0
    for case in cases:
        name = name_of(case)
        one, two = (a.get(name, {}) for a in answers)
        open_rows = []
        for label, path, first, second in differ.compare(one, two):
            why = differ.explained(f"{name} {label}", path, differences.RULES)
            if why:
                explained += 1
                if verbose:
                    print(f"  explained: {name} {label} {path}: {first!r} / {second!r}: {why}")
            else:
                open_rows.append((label, path, first, second))
        nodes.check(f"{name}: {len(one)} answers alike", not open_rows and one,
                    f"({len(open_rows)} fields differ)")
        for label, path, first, second in open_rows[:400 if verbose else 25]:
            print(f"      {label} {path}\n        apache {str(first)[:300]!r}\n"
                  f"        klamm  {str(second)[:300]!r}")
        for a in answers:
            if name + " trace" in a:
                print(a[name + " trace"])
    print(f"{explained} differences are explained (docs/COMPATIBILITY.md)")
    nodes.finish()


main()
