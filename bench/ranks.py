#!/usr/bin/env python3
"""Optimizer steps on several ranks, AdamW, f32, dropout 0: hone beside PyTorch's DDP and FSDP on Gloo, in rounds.

All sides have the same rows of real text and take turns:
  ddp, fsdp                 two processes with a thread each; fsdp cuts weights, gradients and optimizer states
  hone 2x1, hone 2x1 zero 3 two ranks of hone with a thread each, with whole states or all of them cut
  hone 1x2                  one process of hone with two threads
speed is the median over the rounds of seconds of the side that it is beside / seconds of hone. Memory is the most
anonymous bytes (RssAnon) of one process. Sent are bytes a step of the loopback interface, from both ranks: run nothing
else that uses it.

--rate 100mbit 1gbit 10gbit: the ranks are on two hosts, network namespaces joined by a cable of that rate. A step is
compared with max(compute, traffic / rate): compute is a step of two processes of hone at a time that know nothing of each
other and have the rows of one rank each; traffic is what a host sends in a step. It needs root.

--weak 1 2 4: so many ranks with a thread each and the same rows on each. A step is compared with one of as many processes
at a time that know nothing of each other: ranks that have to share a processor do so on both sides.

The first losses of all sides must agree within 1e-4.
"""
import dataclasses
import json
import math
import pathlib
import statistics

import common
import models
import peer
import task_step
from rank_sides import RANKS, ApartSide, HoneSide, PeerSide
from two_hosts import TwoHosts, missing

# Side of hone, the sides that it is beside.
BESIDE = {"hone 2x1": ["ddp", "fsdp", "hone 1x2"], "hone 2x1 zero 3": ["fsdp"]}
MIB = 2**20


@dataclasses.dataclass
class Case:
    """A model and rows: flags of hone train for them, and batches[step][rank], the arguments of the peer's model."""
    folder: pathlib.Path
    flags: list
    rows: int
    batches: list
    weight_bytes: int

    def of_rank(self, ranks):
        return dataclasses.replace(self, rows=self.rows // ranks)


def weight_bytes(folder):
    with open(folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return 4 * sum(math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__")


def gpt2(options, rows, steps):
    """GPT-2 124M on blocks of Shakespeare."""
    import transformers
    text = (models.data_folder() / "tinyshakespeare" / "input.txt").read_text().split("\n\n")
    if options.tiny:
        folder = tokenizer_folder = common.ROOT / "tests" / "goldens" / "tiny_text_gpt2"
    else:
        folder, tokenizer_folder = models.folder(0.0, False)[0], models.data_folder() / "tok-gpt2"
    block = 64 if options.tiny else 512
    tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_folder)
    ids, used = [], []
    while len(ids) < rows * steps * block:
        used.append(text[len(used)])
        ids += tokenizer(used[-1])["input_ids"]
    file = common.FILES / f"ranks-gpt2-{block}.jsonl"
    file.write_text("".join(json.dumps(dict(text=paragraph)) + "\n" for paragraph in used))
    blocks = [ids[i * block:(i + 1) * block] for i in range(rows * steps)]
    part = lambda begin, end: dict(input_ids=blocks[begin:end], labels=blocks[begin:end], use_cache=False)
    return Case(folder, ["--task", "clm", "--tokenizer_name", str(tokenizer_folder), "--train_file", str(file),
                         "--validation_file", str(file), "--block_size", str(block)], rows, cut(rows, steps, part),
                weight_bytes(folder))


def roberta(options, rows, steps):
    """roberta-base on premises and hypotheses of MNLI that fill 128 tokens."""
    import transformers
    kind = task_step.Classification(full=True)
    folder, config = kind.folder(0.0, options.tiny)
    texts = kind.rows()[:rows * steps]
    file = common.FILES / "ranks-mnli.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in texts))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    part = lambda begin, end: dict(kind.arguments(tokenizer, texts[begin:end], config))
    return Case(folder, [*kind.flags(str(file)), "--validation_file", str(file)], rows, cut(rows, steps, part),
                weight_bytes(folder))


def cut(rows, steps, part):
    """part(begin, end) of each step and rank."""
    each = rows // RANKS
    return [[part(begin, begin + each) for begin in range(step * rows, (step + 1) * rows, each)] for step in range(steps)]


# Rows of a step, the case.
CASES = {"gpt2": (4, gpt2), "roberta": (16, roberta)}


def rounds(options, sides):
    """Samples of all sides, in turn; each round begins with the next side. The first one is not counted."""
    kept, retaken, names = [], 0, list(sides)
    first = {name: side.sample() for name, side in sides.items()}
    check_losses(first)
    while len(kept) < options.pairs:
        turn = len(kept) % len(names)
        probes, found = [peer.probe()], {}
        for name in names[turn:] + names[:turn]:
            found[name] = sides[name].sample()
            probes.append(peer.probe())
        steady = max(probes) / min(probes) <= common.PROBE_SPREAD
        print(f"  round {len(kept) + 1}: " + ", ".join(f"{name} {found[name]['seconds']:.3f} s" for name in names)
              + f", probes {min(probes):.0f} to {max(probes):.0f} GFLOP/s" + ("" if steady else ", drifting"), flush=True)
        if steady or retaken >= options.retakes:
            kept.append(dict(found, steady=steady))
        else:
            retaken += 1
    return first, kept, retaken


def check_losses(first):
    losses = {name: sample["loss"] for name, sample in first.items() if sample["loss"]}
    known = next(iter(losses.values()), [])
    for name, loss in losses.items():
        if len(loss) != len(known) or max(abs(a - b) / abs(b) for a, b in zip(loss, known)) > 1e-4:
            raise SystemExit(f"losses differ: {losses}")


def middle(kept, name, what):
    return statistics.median(found[name][what] for found in kept)


def most(kept, name):
    return max(found[name]["memory"] for found in kept)


def on_this_machine(options, name, case):
    makers = {"ddp": lambda: PeerSide(case, "ddp"), "fsdp": lambda: PeerSide(case, "fsdp"),
              "hone 2x1": lambda: HoneSide(options, case),
              "hone 2x1 zero 3": lambda: HoneSide(options, case, zero_stage=3),
              "hone 1x2": lambda: HoneSide(options, case, ranks=1, threads=common.THREADS)}
    wanted = [side for side in makers if not options.only or side.startswith("hone") == (options.only == "hone")]
    sides = {side: makers[side]() for side in wanted}
    first, kept, retaken = rounds(options, sides)
    for side in sides.values():
        side.close()
    rows = []
    for mine, others in BESIDE.items():
        for other in others:
            if mine in sides and other in sides:
                rows.append({
                    "model": name, "side": mine, "beside": other,
                    "s a step": f"{middle(kept, other, 'seconds'):.3f} / {middle(kept, mine, 'seconds'):.3f}",
                    "speed": f"{statistics.median(k[other]['seconds'] / k[mine]['seconds'] for k in kept):.2f}x",
                    "MiB a process": f"{most(kept, other) / MIB:.0f} / {most(kept, mine) / MIB:.0f}",
                    "sent MiB a step": f"{middle(kept, other, 'sent') / MIB:.1f} / {middle(kept, mine, 'sent') / MIB:.1f}",
                    "weights MiB": f"{case.weight_bytes / MIB:.1f}",
                    "rounds": f"{sum(k['steady'] for k in kept)} steady of {len(kept)}, {retaken} retaken"})
    for side in sides if options.only == "peer" else []:
        rows.append({"model": name, "side": side, "s a step": f"{middle(kept, side, 'seconds'):.3f}",
                     "MiB a process": f"{most(kept, side) / MIB:.0f}",
                     "sent MiB a step": f"{middle(kept, side, 'sent') / MIB:.1f}"})
    return rows, dict(first=first, rounds=kept)


def over_a_cable(options, name, case, rate):
    with TwoHosts(rate) as hosts:
        sides = {"apart": ApartSide(options, case)} if options.only != "peer" else {}
        if options.only != "peer":
            sides |= {"hone 2x1": HoneSide(options, case, hosts=hosts),
                      "hone 2x1 zero 3": HoneSide(options, case, zero_stage=3, hosts=hosts)}
        if options.only != "hone":
            sides |= {kind: PeerSide(case, kind, hosts) for kind in ("ddp", "fsdp")}
        first, kept, retaken = rounds(options, sides)
        for side in sides.values():
            side.close()
    rows = []
    for side in sides:
        if side == "apart":
            continue
        seconds, traffic = middle(kept, side, "seconds"), middle(kept, side, "sent")
        row = {"model": name, "rate": rate, "side": side, "s a step": f"{seconds:.3f}",
               "sent MiB": f"{traffic / MIB:.1f}", "traffic s": f"{traffic / hosts.bytes_per_second:.3f}"}
        if "apart" in sides:
            compute = middle(kept, "apart", "seconds")
            row |= {"compute s": f"{compute:.3f}",
                    "step / max": f"{seconds / max(compute, traffic / hosts.bytes_per_second):.2f}"}
        row["rounds"] = f"{sum(k['steady'] for k in kept)} steady of {len(kept)}, {retaken} retaken"
        rows.append(row)
    return rows, dict(first=first, rounds=kept)


def weak_scaling(options, name, case, ranks):
    """`case` has the rows of the most ranks."""
    rows, details = [], {}
    for count in ranks:
        part = dataclasses.replace(case, rows=case.rows // max(ranks) * count)
        sides = {"apart": ApartSide(options, part, count), "hone": HoneSide(options, part, ranks=count),
                 "hone zero 3": HoneSide(options, part, ranks=count, zero_stage=3)}
        first, kept, retaken = rounds(options, sides)
        details[f"{name} {count}"] = dict(first=first, rounds=kept)
        apart = middle(kept, "apart", "seconds")
        for side in ("hone", "hone zero 3") if count > 1 else ("hone",):
            seconds = middle(kept, side, "seconds")
            rows.append({"model": name, "ranks": count, "side": side, "rows a rank": part.rows // count,
                         "s a step": f"{seconds:.3f}", "rows/s": f"{part.rows / seconds:.2f}", "compute s": f"{apart:.3f}",
                         "efficiency": f"{apart / seconds:.2f}",
                         "rounds": f"{sum(k['steady'] for k in kept)} steady of {len(kept)}, {retaken} retaken"})
    return rows, details


def main():
    parser = common.arguments(__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3, help="timed steps in one sample, after the first")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rate", nargs="*", default=[], help="rates of the cable between two hosts, such as 1gbit")
    parser.add_argument("--weak", nargs="*", type=int, default=[], help="numbers of ranks with the same rows on each")
    options = parser.parse_args()
    if options.rate and (reason := missing()):
        raise SystemExit(f"skipped: {reason}")
    common.limit_threads()
    common.FILES.mkdir(parents=True, exist_ok=True)
    tables = {"Steps on two ranks, AdamW f32 (peer / hone)": [], "Steps on two ranks over a cable, AdamW f32": []}
    here, cable = tables
    details = {}
    if options.weak:
        for name in options.cases:
            count, make = CASES[name]
            case = make(options, count // RANKS * max(options.weak), 1 + options.steps)
            rows, details = weak_scaling(options, name, case, options.weak)
            common.finish("Weak scaling, AdamW f32", rows, details, options)
        return
    for name in options.cases:
        count, make = CASES[name]
        case = make(options, count, 1 + options.steps)
        for rate in options.rate or [None]:
            print(f"{name}: {case.rows} rows a step{f', {rate}' if rate else ''}", flush=True)
            title = cable if rate else here
            rows, details[f"{name} {rate or ''}".strip()] = (over_a_cable(options, name, case, rate) if rate else
                                                             on_this_machine(options, name, case))
            tables[title] += rows
            common.finish(title, tables[title], details, options)


if __name__ == "__main__":
    main()
