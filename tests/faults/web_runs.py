#!/usr/bin/env python3
# nightly: --whole
"""The pages of runs in headless Chromium (Debian: chromium), over logs of runs that ended in every way.

    tests/faults/web_runs.py --hone build/hone [--keep FOLDER] [--whole]

The list, one run, a failed run, a comparison and an exported file are opened at 400, 1280 and 1920 points, light and dark: no text overlaps
another one or is cut, axe-core finds nothing where it is installed (support/page_checks.py), and the console stays empty. Zoom, smoothing,
filters and the choice of runs are in the address and survive a reload. The exported file asks for nothing. --keep keeps the pictures;
--whole: each page in all six ways, not in three.
"""
import json
import math
import os
import random
import shutil
import sys
import time

from web_peer import Browser, asked, check_page, hone_lines, start_listening

HTML = "<img src=x onerror=alert(1)>"
STEPS = 2000
ZOOM = "new URLSearchParams(location.search).get('zoom')"


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".000000Z"


def log_of(run, begun, lines):
    """lines: (seconds after the start, step or None, members)."""
    text = ""
    for after, step, members in lines:
        labels = {"run": run, "host": "vm", "rank": "0", **({} if step is None else {"step": str(step)})}
        line = {"severity": "INFO", "message": "", "time": stamp(begun + after), "logging.googleapis.com/labels": labels}
        text += json.dumps({**line, **members}) + "\n"
    return text


def run_of(run, name, begun, **settings):
    return {"id": run, "name": name, "command": f"hone train --learning_rate {settings['learning_rate']}", "task": "summarization", "model": "google/flan-t5-small",
            "output_dir": "out/" + run, "device": "cuda", "devices": 1, "batch_size": 8, "begun_s": begun, "machine": {"host": "vm", "type": "a2-highgpu-1g", "processors": 12},
            "best_metric": {"name": "eval_rouge1", "greater_is_better": True},
            "settings": {"output_dir": "out/" + run, "metric_for_best_model": "rouge1", "run_name": name, "lr_scheduler_type": "linear", "max_steps": STEPS, "seed": 42, "warmup_steps": 0, "train_file": ["train.jsonl", "more.jsonl"], **settings}}


def curve(rate, steps, seed):
    """Events of a run that logs every 10 steps, evaluates every 250 and takes 0.4 s a step."""
    dice, lines = random.Random(seed), [(0, None, {"event": "plan", "planned_bytes": 6 << 30})]
    for step in range(10, steps + 1, 10):
        after, share = step * 0.4, step / STEPS
        progress = {"total_steps": STEPS, "steps": step, "tokens": step * 4096 + dice.randrange(2000), "examples": step * 8, "seconds": after}
        metrics = {"loss": 1.2 + 3 * math.exp(-share * 6 * rate) + dice.gauss(0, 0.06), "grad_norm": math.exp(dice.gauss(0, 0.4)), "learning_rate": rate * 1e-4 * (1 - share), "epoch": share * 3}
        lines.append((after, step, {"event": "log", "metrics": metrics, "progress": progress}))
        if step % 70 == 0:
            gpu = {"index": 0, "busy_share": 0.9 + dice.random() / 12, "memory_used_bytes": (7 << 30) + dice.randrange(1 << 28)}
            lines.append((after, step, {"event": "usage", "machine_cpu_share": 0.4, "process_memory_bytes": (3 << 30) + step * 40000, "gpus": [gpu]}))
        if step % 250 == 0:
            scores = {"eval_loss": 1.3 + 2 * math.exp(-share * 5 * rate), "eval_rouge1": 0.42 - 0.3 * math.exp(-share * 4 * rate) - (0.02 if share > 0.9 else 0), "eval_rougeLsum": 0.3 * share}
            lines.append((after, step, {"event": "log", "metrics": {**scores, "eval_runtime": 3.5, "eval_samples_per_second": 30.1}}))
            lines.append((after, step, {"message": f"evaluated   step {step}: loss {scores['eval_loss']:.4f}, rouge1 {scores['eval_rouge1']:.4f}"}))
    return lines


def write_runs(folder):
    now = time.time()
    def put(run, name, begun, rate, steps, end=None, tags=(), more=()):
        out = os.path.join(folder, run)
        os.makedirs(out)
        lines = [(0, None, {"event": "begin", "run": run_of(run, name, begun, learning_rate=rate * 1e-4, lora_r=8 if rate < 3 else 64)}), (1, None, {"message": "hone 0.1.0: hone train"}),
                 *curve(rate, steps, run), *more, *([(steps * 0.4 + 2, steps, end)] if end else []), *([(steps * 0.4 + 3, None, {"event": "tags", "tags": list(tags)})] if tags else [])]
        with open(os.path.join(out, "hone_log.jsonl"), "w") as f:
            f.write(log_of(run, begun, lines))
    def done(steps):
        return {"event": "end", "status": "finished", "step": steps, "seconds": steps * 0.4, "examples_per_second": 19.8, "usage": {"machine_cpu_share": 0.41, "process_memory_peak_bytes": 4 << 30, "gpu_busy_share": 0.93},
                "results": {"train_loss": 1.52, "train_tokens_per_second": 10212.5}}
    put("base0001", "flan-t5-small baseline", now - 90000, 1, STEPS, done(STEPS), ["baseline", "flan"])
    put("fast0002", "learning rate times three, and a name that is longer than most of the names of runs", now - 50000, 3, STEPS, done(STEPS), ["sweep"])
    put("html0003", HTML, now - 40000, 2, 1500, done(1500), ["sweep", "long tag of several words"])
    # Two runs of another task, evaluated on different rows: no mark, and a note that names their metric alone.
    for run, samples in ("long0007", 100), ("long0008", 200):
        out = os.path.join(folder, run)
        os.makedirs(out)
        of = {**run_of(run, "chats", now - 60000, learning_rate=1e-4), "task": "sft", "model": "models/SmolLM2-135M-Instruct-of-a-long-name.Q4_1.gguf"}
        of["settings"]["model_name_or_path"] = of["model"]
        scores = {"eval_accuracy": samples / 1000, "eval_samples": samples}
        with open(os.path.join(out, "hone_log.jsonl"), "w") as f:
            f.write(log_of(run, now - 60000, [(0, None, {"event": "begin", "run": of}), (5, 10, {"event": "log", "metrics": scores}), (6, 10, {**done(10), "results": scores})]))
    for run in "base0001", "fast0002":  # other rows of the same file
        with open(os.path.join(folder, run, "hone_run.json"), "w") as f:
            json.dump({"run": {"data": run, "settings": {"source": {"train_file": ["train.jsonl", "more.jsonl"]}}}}, f)
    put("live0004", "live", now - 100, 2, 1000)  # its last lines are of minutes to come, so it runs as long as the test
    put("lost0005", "lost", now - 9000, 1, 300)
    put("fail0006", "too-large", now - 30000, 4, 20, {"event": "end", "status": "failed", "code": "H2404", "reason": "the run needs 92.0 GiB with one row of 512 tokens, 78.3 GiB may be used",
        "where": ["--per_device_train_batch_size 1"], "todo": "--offload_optimizer_device nvme fits; or use a smaller model", "step": 20, "seconds": 9},
        more=[(8, 20, {"severity": "WARNING", "message": "the device has less memory than the last time"})])


def expect(condition, text):
    if not condition:
        sys.exit(text)


def place(browser, selector):
    return browser.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }})()")


def drag(browser, selector, begin, end):
    box = place(browser, selector)
    at = [(box[0] + box[2] * x, box[1] + box[3] / 2) for x in (begin, (begin + end) / 2, end)]
    for kind, (x, y) in zip(("mousePressed", "mouseMoved", "mouseMoved", "mouseReleased"), (at[0], at[1], at[2], at[2])):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)


def touch(browser, kind, points):
    browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])


def check_touch(browser, page, ready):
    """A finger moves the crosshair, two fingers zoom."""
    browser.look(400, 900)
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    browser.open(page, ready)
    left, top, width, height = place(browser, "[data-chart=loss] .plot")
    y = top + height / 2
    touch(browser, "touchStart", [(left + width * 0.4, y)])
    touch(browser, "touchMove", [(left + width * 0.6, y)])
    touch(browser, "touchEnd", [])
    at = browser.run("document.querySelector('[data-chart=loss] .readout').textContent")
    expect(at.startswith("step ") and not browser.run("location.search").count("zoom"), f"a finger shows '{at}'")
    touch(browser, "touchStart", [(left + width * 0.45, y), (left + width * 0.55, y)])
    touch(browser, "touchMove", [(left + width * 0.3, y), (left + width * 0.7, y)])
    touch(browser, "touchEnd", [])
    zoom = browser.until(ZOOM)
    expect(zoom and float(zoom.split(":")[1]) - float(zoom.split(":")[0]) < 1200, f"two fingers zoom to {zoom}")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.look()


def check_list(browser, url, pictures):
    ready = "document.querySelector('tbody a')"
    check_page(browser, "runs", url + "/", ready, pictures)
    def names():
        return browser.run("[...document.querySelectorAll('.runs tbody th > a')].map(a => a.textContent)")
    browser.open(url + "/", ready)
    expect(len(names()) == 8 and names()[0] == "live", f"the newest run is not first: {names()}")
    for width in 1280, 1024:
        browser.look(width, 900)
        browser.open(url + "/", ready)
        wide = browser.run("[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)")
        expect(wide == [0], f"at {width} the table of runs is wider than its card by {wide}")
        cut = browser.run("[...document.querySelectorAll('.runs td.text, .runs th')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)")
        expect(not cut, f"at {width} cells are cut: {cut}")
    browser.look()
    browser.open(url + "/", ready)
    best = browser.run("[...document.querySelectorAll('.best-value')].map(e => e.closest('tr').querySelector('th a').textContent)")
    expect(len(best) == 1 and best[0].startswith("learning rate"), f"best values are marked in {best}")
    notes = browser.run("[...document.querySelectorAll('#content p.muted')].map(e => e.textContent)")
    expect(notes == ["Evaluation accuracy: no best value has a mark: the runs were evaluated on different rows"], f"the notes below the table are {notes}")
    browser.run("document.getElementById('q').focus()")
    browser.call("Input.insertText", text="sweep")
    expect(browser.run("location.search") == "?q=sweep" and len(names()) == 2, f"a search gives {names()} at {browser.run('location.search')}")
    browser.open(url + "/runs?tag=baseline", ready)
    expect(names() == ["flan-t5-small baseline"], f"a tag gives {names()}")
    browser.open(url + "/runs?sort=name&status=finished&task=summarization", ready)
    expect(names() == sorted(names()) and len(names()) == 3, f"sorted by name: {names()}")
    for box in 1, 2:
        browser.run(f"document.querySelectorAll('.runs tbody input')[{box}].click()")
    link = browser.run("document.querySelector('.picked a').href")
    expect("compare=" in link and "pick=" in browser.run("location.search"), f"two runs are chosen: {link}")
    print("runs: search, filters, order and choice are in the address")
    return link


def check_charts(browser, url, pictures):
    page, ready = url + "/runs?id=base0001", "document.querySelectorAll('.chart:not([hidden]) .line').length > 5"
    check_page(browser, "run", page, ready, pictures)
    browser.open(page, ready)
    titles = browser.run("[...document.querySelectorAll('.chart:not([hidden]) h2')].map(e => e.textContent)")
    wanted = ["Evaluation rouge1", "Training loss", "Gradient norm", "Learning rate", "Throughput, tokens a second", "Memory of the process"]
    expect(titles[:6] == wanted, f"the charts are {titles}")
    breaks = browser.run("[...document.querySelectorAll('.facts div')].find(e => e.firstChild.textContent === 'Model').querySelectorAll('wbr').length")
    expect(breaks == 1, f"the path of the model has {breaks} places where it may break")
    drag(browser, "[data-chart=loss] .plot", 0.4, 0.7)
    zoom = browser.until(ZOOM)
    low, high = map(float, zoom.split(":"))
    expect(600 < low < 1000 < high < 1600, f"a drag zooms to {zoom}")
    browser.run("document.getElementById('smooth').value = 0.8, document.getElementById('smooth').dispatchEvent(new Event('input'))")
    browser.run("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'Log scale').click()")
    browser.until("location.search.includes('smooth=0.8')")
    address = browser.run("location.href")
    browser.open(address, ready)
    state = browser.run("[document.getElementById('smooth').value, document.querySelector('[data-chart=loss] .plot').getAttribute('aria-valuemin'), !!document.querySelector('.faint'),"
                        " [...document.querySelectorAll('.tools button')].find(b => b.textContent === 'Log scale').getAttribute('aria-pressed')]")
    expect(state[0] == "0.8" and abs(float(state[1]) - low) < 1 and state[2] and state[3] == "true", f"a reload of {address} gives {state}")
    browser.picture(os.path.join(pictures, "run-zoomed.png"))
    # The crosshair is at one step in every chart.
    browser.run("document.querySelector('[data-chart=loss] .plot').focus()")
    browser.press("Home", 36)
    for _ in range(5):
        browser.press("ArrowRight", 39)
    marks = browser.run("[...document.querySelectorAll('.chart:not([hidden])')].map(c => [!!c.querySelector('.crosshair'), c.querySelector('.readout').textContent.split(' · ')[0]])")
    expect(all(mark == marks[0] and mark[0] and mark[1].startswith("step ") for mark in marks), f"the crosshair is at {marks}")
    browser.press("0", 48, "0")
    browser.until("!location.search.includes('zoom')")
    check_touch(browser, page, ready)
    for tab in "settings", "log":
        check_page(browser, "run-" + tab, f"{page}&tab={tab}", f"document.querySelector('[data-tab={tab}][aria-current]') && document.querySelector('.settings tr, .log span')", pictures)
    browser.open(url + "/runs?id=live0004", ready)
    told = browser.run("document.querySelector('.progress p').textContent")
    expect(told.startswith("step 1,000 of 2,000 · 50 % · ") and " left · " in told and told.endswith(" tokens/s"), f"a running run says {told}")
    browser.picture(os.path.join(pictures, "run-live.png"))
    check_page(browser, "failed", url + "/runs?id=fail0006", "document.querySelector('.failure .page p')", pictures)
    said = browser.run("document.querySelector('.failure').innerText")
    for text in "H2404: the run needs 92.0 GiB", "--per_device_train_batch_size 1", "--offload_optimizer_device nvme fits", "WARNING: the device has less memory", "When.":
        expect(text in said, f"a failed run does not show '{text}': {said}")
    print("one run: charts in their order, zoom, smoothing and log scale survive a reload, the crosshair is shared, a failure is explained")


def check_compare(browser, link, pictures):
    ready = "document.querySelectorAll('.compare').length === 2 && document.querySelectorAll('[data-chart=loss] .line:not(.faint)').length >= 2"
    check_page(browser, "compare", link, ready, pictures)
    colors = browser.run("new Set([...document.querySelectorAll('[data-chart=loss] .plot polyline')].map(e => getComputedStyle(e).stroke)).size")
    expect(colors == 2, f"{colors} colours for two runs")
    settings = browser.run("[...document.querySelectorAll('.compare')[1].querySelectorAll('tbody th')].map(e => e.textContent)")
    expect("learning_rate" in settings and "lora_r" in settings and "seed" not in settings, f"settings that differ: {settings}")
    browser.run("document.querySelector('.runs-legend input').click()")
    expect("hide=" in browser.run("location.search"), "a hidden run is not in the address")
    changed = browser.run("[...document.querySelectorAll('.panel > div > p')].map(e => e.textContent).find(t => t.includes('changed between the runs'))")
    expect(changed and changed.startswith("train_file: changed"), f"a changed file is not named: {changed}")
    print("a comparison: one colour a run, settings that differ, hidden runs in the address")


def check_data(browser, url, pictures):
    ready = "document.querySelector('h1 a') && document.querySelector('#sets table')"
    check_page(browser, "data-of-run", url + "/data?run=base0001", ready, pictures)
    told = browser.run("[document.querySelector('h1').textContent, document.querySelector('h1 a').getAttribute('href'), document.getElementById('status').textContent]")
    expect(told[:2] == ["Data sets of the run flan-t5-small baseline", "/runs?id=base0001"] and told[2].startswith("2 data sets of the run"), f"the data of a run are titled {told}")
    print("the data of a run are below its name")


def check_export(browser, hone, folder, pictures):
    for run in "base0001", "fail0006":
        path = os.path.join(folder, run + ".html")
        hone_lines(hone, folder, "runs", "export", run, "--folder", ".", "--output", path)
        asked = len(browser.requests)
        check_page(browser, "export-" + run, "file://" + path, "document.querySelectorAll('.chart:not([hidden]) .line').length > 1", pictures)
        others = [u for u in browser.requests[asked:] if not u.startswith("file://" + path)]
        expect(not others, f"an exported run asks for {others}")
    expect("When." in browser.run("document.querySelector('.failure').innerText"), "an exported failure is not explained")
    browser.run("document.querySelector('[data-tab=log]').click()")
    expect(browser.run("location.hash") == "#tab=log" and "hone 0.1.0" in browser.run("document.querySelector('.log.tall').innerText"), "an exported run has no log")
    print(f"an exported run has {os.path.getsize(os.path.join(folder, 'base0001.html')) >> 10} KiB and asks for nothing")


def main():
    options = asked(__doc__, "hone_web_runs_")
    hone, folder, pictures = options.hone, options.folder, options.pictures
    browser, ui = None, None
    try:
        write_runs(folder)
        ui, url = start_listening(hone, folder, {**os.environ, "HONE_REGISTRY": os.path.join(folder, "registry.db")}, "ui", "--port", "0", "--folder", ".")
        browser = Browser(options.chromium, os.path.join(folder, "profile"), options.whole)
        link = check_list(browser, url, pictures)
        check_charts(browser, url, pictures)
        check_compare(browser, link, pictures)
        check_data(browser, url, pictures)
        check_export(browser, hone, folder, pictures)
        expect(not browser.faults, "the console has:\n" + "\n".join(browser.faults))
        return 0
    finally:
        if browser:
            browser.close()
        if ui:
            ui.kill()
            ui.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
