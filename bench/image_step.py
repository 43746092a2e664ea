#!/usr/bin/env python3
"""Optimizer steps of models of images, AdamW, clipping, f32, from random weights on random pixels: hone against PyTorch
eager with channels last, in pairs; with --bf16 in bf16, on PyTorch's side by autocast. On a machine that others use the
processor's seconds (cpu) say more than those of a clock.

resnet-50   16 images of 224 x 224, against torchvision's resnet50
vit-base    8 images of 224 x 224, against Transformers' ViTForImageClassification

hone's side is the program learn_tasks_bench (cmake -DHONE_BENCHES=ON; its text is src/learn/tasks/image_step_bench.cc),
started for each sample. The memory of a peer counts if its --case runs alone. Reading and augmenting images is not in
the time of either side. Needs torchvision, so it is not among those of run.sh.
"""
import json
import time

import common

CASES = {
    "resnet-50": dict(images=16, config=dict(model_type="resnet", num_labels=1000)),
    "vit-base": dict(images=8, config=dict(
        model_type="vit", num_labels=1000, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=3072)),
}
SIDE = 224


def peer_model(name):
    if name == "resnet-50":
        import torchvision
        return torchvision.models.resnet50(weights=None)
    import transformers
    keys = {key: value for key, value in CASES[name]["config"].items() if key != "model_type"}
    return transformers.ViTForImageClassification(transformers.ViTConfig(**keys))


class PeerSteps:
    def __init__(self, name, images, side, bf16):
        import torch
        self.torch = torch
        torch.manual_seed(1)
        self.bf16 = bf16
        self.model = peer_model(name).train().to(memory_format=torch.channels_last)
        self.pixels = torch.randn(images, 3, side, side).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (images,))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.step()

    def step(self):
        with self.torch.autocast("cpu", dtype=self.torch.bfloat16, enabled=self.bf16):
            output = self.model(self.pixels)
            logits = output if self.torch.is_tensor(output) else output.logits
            loss = self.torch.nn.functional.cross_entropy(logits, self.labels)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def sample(self, steps):
        seconds, cpu = [], []
        for _ in range(steps):
            start, used = time.perf_counter(), time.process_time()
            self.step()
            seconds.append(time.perf_counter() - start)
            cpu.append(time.process_time() - used)
        return dict(seconds=sorted(seconds)[steps // 2], cpu_seconds=sorted(cpu)[steps // 2])


def probe():
    import torch
    a = torch.randn(2048, 2048)
    torch.mm(a, a)
    start = time.perf_counter()
    for _ in range(3):
        torch.mm(a, a)
    return 3 * 2 * 2048**3 / (time.perf_counter() - start) / 1e9


# The peer's seconds of the processor over hone's.
def median_ratio(pairs):
    ratios = sorted(pair["peer"]["cpu_seconds"] / pair["hone"]["cpu_seconds"] for pair in pairs)
    return ratios[len(ratios) // 2]


def main():
    parser = common.arguments(__doc__.splitlines()[0], pairs=3)
    parser.add_argument("--bench", default=str(common.ROOT / "build" / "cpu" / "bin" / "learn_tasks_bench"),
                        help="hone's program of steps")
    parser.add_argument("--steps", type=int, default=3, help="timed steps of a sample")
    parser.add_argument("--bf16", action="store_true", help="products of operands rounded to bf16")
    parser.add_argument("--case", choices=list(CASES), action="append", help="one case; default: all")
    options = parser.parse_args()
    common.limit_threads()
    import torch
    torch.set_num_threads(common.THREADS)
    common.FILES.mkdir(parents=True, exist_ok=True)
    rows, details = [], {}
    for name in options.case or CASES:
        images, side = (1, 64) if options.tiny and name == "resnet-50" else (CASES[name]["images"], SIDE)
        config = common.FILES / f"image_step-{name}" / "config.json"
        config.parent.mkdir(exist_ok=True)
        config.write_text(json.dumps(CASES[name]["config"]))
        peer = PeerSteps(name, images, side, options.bf16) if options.only != "hone" else None

        def hone_sample():
            output, _, _ = common.child([options.bench, config, str(images), str(side), str(options.steps),
                                         str(common.THREADS), "bf16" if options.bf16 else "f32"])
            return json.loads(output)

        if options.only == "hone":
            print(name, hone_sample())
            continue
        if options.only == "peer":
            print(name, peer.sample(options.steps))
            continue
        kept, dropped = common.pairs(options.pairs, options.retakes, probe, lambda: peer.sample(options.steps),
                                     hone_sample)
        s = common.summary(kept)
        details[name] = dict(pairs=kept, dropped=dropped)
        rows.append({"model": name, "images": images, "peer s": f"{s['peer_seconds']:.3f}",
                     "hone s": f"{s['hone_seconds']:.3f}", "speed": f"{s['speedup']:.2f}",
                     "cpu": f"{median_ratio(kept):.2f}",
                     "peer GiB": f"{common.own_peak_bytes() / 2**30:.2f}",
                     "hone GiB": f"{kept[0]['hone']['peak_bytes'] / 2**30:.2f}",
                     "steady pairs": f"{s['steady_pairs']} of {len(kept)}"})
    if rows:
        common.finish("Steps of models of images", rows, details, options)


if __name__ == "__main__":
    main()
