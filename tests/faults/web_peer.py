#!/usr/bin/env python3
# nightly: --whole
"""The pages of hone ui in headless Chromium (Debian: chromium), beside a training run, a pipeline, a registry and a server.

    tests/faults/web_peer.py --hone build/hone [--keep FOLDER] [--whole]

Every page is opened, 400, 1280 and 1920 wide, light and dark; axe-core finds nothing where it is installed (support/page_checks.py). Nothing may be written to the console, no page may be wider than
its window, the tab key must reach every control, the curve of a run must grow while it trains, names that are HTML
must stay text, and the playground must show an answer in pieces. --keep keeps the
pictures; --whole: each page in all six ways, not in three.
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from kill_resume import command, prepare
from page_checks import check_axe, check_texts

HTML = "<img src=x onerror=alert(1)>"
CONTROLS = "a[href], button:not([disabled]), input, select, textarea, summary, [tabindex='0']"
# Controls that are seen, each with a number; those of the page in the order of the document.
NUMBER = f"""[...document.querySelectorAll(`{CONTROLS}`)].filter(e => e.checkVisibility() && !(e.closest('details:not([open])') && e.tagName !== 'SUMMARY')
  && e.tabIndex >= 0).map((e, i) => (e.dataset.n = i, e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent || e.id).trim().slice(0, 40)))"""


class Browser:
    """Chromium by its pipe: messages of the DevTools protocol, each ended by a NUL."""

    def __init__(self, program, folder, whole):
        self.whole = whole
        ours, theirs = os.pipe(), os.pipe()
        def keep():  # as 3 and 4 of the browser
            a, b = os.dup(ours[0]), os.dup(theirs[1])
            os.dup2(a, 3)
            os.dup2(b, 4)
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
             "--disable-background-networking", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=keep, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.to, self.back, self.rest, self.number = ours[1], theirs[0], b"", 0
        self.session, self.faults, self.requests = None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            piece = os.read(self.back, 1 << 16)
            if not piece:
                sys.exit("the browser ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    sys.exit(f"{method}: {m['error']}")
                return m["result"]
            what = m.get("method")
            if what == "Runtime.exceptionThrown" or what == "Runtime.consoleAPICalled":
                self.faults.append(json.dumps(m["params"])[:600])
            if what == "Log.entryAdded" and m["params"]["entry"]["level"] in ("error", "warning"):
                self.faults.append(json.dumps(m["params"]["entry"])[:600])
            if what == "Network.requestWillBeSent":
                self.requests.append(m["params"]["request"]["url"])

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def until(self, script, seconds=30):
        end = time.time() + seconds
        while time.time() < end:
            if value := self.run(script):
                return value
            time.sleep(0.1)
        sys.exit(f"not so after {seconds} s: {script}\n{self.run('document.body.innerText')}\n{self.faults}")

    def look(self, width=1280, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url, ready):
        self.call("Page.navigate", url=url)
        self.until(f"document.readyState === 'complete' && location.href === {json.dumps(url)} && !!({ready})")

    def picture(self, path):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"])
        with open(path, "wb") as f:
            f.write(data)
        return data

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **({"text": text} if kind == "keyDown" and text else {}))

    def close(self):
        self.process.kill()
        self.process.wait()


def tab_through(browser, name):
    """Every control that is seen is reached by the tab key, and shows that it is."""
    wanted = browser.run(NUMBER)
    browser.run("document.activeElement.blur(), window.getSelection().removeAllRanges(), document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')")
    reached = []
    for _ in range(len(wanted) + 3):
        browser.press("Tab", 9)
        n = browser.run("document.activeElement && document.activeElement.dataset.n !== undefined ? Number(document.activeElement.dataset.n) : -1")
        if n >= 0 and n not in reached:
            reached.append(n)
    missing = [wanted[n] for n in range(len(wanted)) if n not in reached]
    if missing:
        sys.exit(f"{name}: the tab key does not reach {missing}")
    if reached != sorted(reached):
        sys.exit(f"{name}: the tab key jumps about: {[wanted[n] for n in reached]}")
    unnamed = browser.run("[...document.querySelectorAll('input, select, textarea, button')].filter(e => !(e.labels && e.labels.length) && !e.textContent.trim()"
                          " && !e.getAttribute('aria-label')).map(e => e.outerHTML)")
    if unnamed:
        sys.exit(f"{name}: without a name: {unnamed}")


# The ratio of contrast of every text that is seen to the background beneath it, as WCAG 2 computes it.
CONTRAST = """(() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = (c) => { const [r, g, b] = rgb(c).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const seen = (c) => { const v = rgb(c); return v.length < 4 || v[3] > 0; };
  const back = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (seen(c)) return c; } return 'rgb(255, 255, 255)'; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('button:disabled, .hidden, .skip, .node') || !e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const style = getComputedStyle(e), ink = e.closest('svg') ? style.fill : style.color;
    const [a, b] = [light(ink), light(back(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(`${e.tagName}.${e.getAttribute('class')} ${ink} on ${back(e)} ${e.textContent.slice(0, 30)}`);
  }
  return bad;
})()"""


# Light or dark, and the width; the first three of a page unless all are asked for.
LOOKS = ("light", 1280), ("dark", 1280), ("light", 400), ("dark", 400), ("light", 1920), ("dark", 1920)


def check_page(browser, name, url, ready, pictures):
    shots = []
    for light, width in LOOKS if browser.whole else LOOKS[:3]:
        browser.look(width, 1000, light == "dark")
        browser.open(url, ready)
        wide = browser.run("document.documentElement.scrollWidth")
        if wide > width:
            over = browser.run(f"[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > {width}).map(e => e.tagName + '.' + e.getAttribute('class')).slice(0, 8)")
            sys.exit(f"{name}: {wide} wide in a window of {width}: {over}")
        if poor := browser.run(CONTRAST):
            sys.exit(f"{name}: contrast below 4.5 to 1: {poor}")
        check_texts(browser, f"{name}, {width} wide")
        check_axe(browser, f"{name}, {light}, {width} wide")
        shots.append(browser.picture(os.path.join(pictures, f"{name}-{light}-{width}.png")))
    if shots[0] == shots[1]:
        sys.exit(f"{name}: light and dark look the same")
    browser.look()
    browser.open(url, ready)
    tab_through(browser, name)
    for needed in "main", "header", "nav[aria-label]", "h1", "[role=status][aria-live]", "html[lang]":
        if not browser.run(f"!!document.querySelector('{needed}')"):
            sys.exit(f"{name}: there is no {needed}")
    if browser.run("document.querySelectorAll('img').length"):
        sys.exit(f"{name}: a name became HTML")


def hone_lines(program, folder, *args, env=None):
    done = subprocess.run([program, *args], cwd=folder, capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"hone {' '.join(args)}: {done.stderr}")
    return done.stdout


def start_listening(program, folder, env, *args):
    """A server of hone and its address."""
    log = open(os.path.join(folder, args[0] + ".err"), "w+")
    process = subprocess.Popen([program, *args], cwd=folder, stderr=log, stdout=subprocess.DEVNULL, env=env)
    for _ in range(600):
        log.seek(0)
        for line in log.read().splitlines():
            if line.startswith("listens"):
                return process, line.split()[-1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    log.seek(0)
    sys.exit(f"hone {args[0]} does not listen: {log.read()}")


def check_runs(browser, url, hone, folder, env, pictures):
    """A run that trains meanwhile."""
    run = subprocess.Popen(command(hone, "live") + ["--max_steps", "100000", "--run_name", HTML, "--eval_steps", "200", "--save_steps", "100000"], cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        browser.look()
        browser.open(url + "/", "document.querySelector('tbody a')")
        browser.until(f"[...document.querySelectorAll('tbody a')].some(a => a.textContent === {json.dumps(HTML)})")
        page = browser.run(f"[...document.querySelectorAll('tbody a')].find(a => a.textContent === {json.dumps(HTML)}).href")
        browser.open(page, "document.querySelector('.chart:not([hidden]) .line')")
        last = "document.querySelector('.chart:not([hidden]) .plot').getAttribute('aria-valuemax')"
        before = browser.run(last)
        after = browser.until(f"{last} !== {json.dumps(before)} && {last}")
        if " left" not in browser.until("document.querySelector('.progress:not([hidden]) p') && document.querySelector('.progress p').textContent"):
            sys.exit("a run that trains does not say how long it still takes")
        print(f"the curve of a run that trains grew from step {before} to {after}")
        # From point to point by keys, and what it says.
        browser.run("document.querySelector('.chart:not([hidden]) .plot').focus()")
        browser.press("End", 35)
        browser.press("ArrowLeft", 37)
        said = browser.run("document.activeElement.getAttribute('aria-valuetext') + '|' + document.querySelector('.chart:not([hidden]) .readout').textContent")
        if not said.startswith("step ") or "|step " not in said:
            sys.exit(f"the keys do not move along the curve: {said}")
    finally:
        run.kill()
        run.wait()
    check_page(browser, "run", page, "document.querySelector('.chart:not([hidden]) .line')", pictures)
    check_page(browser, "runs", url + "/", "document.querySelector('tbody a')", pictures)


def check_playground(browser, url, pictures):
    page = url + "/playground"
    check_page(browser, "playground", page, "document.querySelector('#model option')", pictures)
    browser.run("document.getElementById('prompt').focus()")
    browser.call("Input.insertText", text="the cat")
    browser.press("Tab", 9)
    browser.run("document.getElementById('send').click()")
    browser.until("document.getElementById('status').textContent === 'Done'", 60)
    timing = browser.run("document.getElementById('timing').textContent")
    if " pieces in " not in timing or int(timing.split(",")[1].split()[0]) < 2 or not browser.run("document.getElementById('answer').textContent"):
        sys.exit(f"the playground shows no answer in pieces: {timing}")
    print(f"playground: {timing}")
    browser.picture(os.path.join(pictures, "playground-answer.png"))


def asked(description, prefix):
    """The flags of these programs, with the browser, a folder for the run and one for its pictures. Skips without a browser."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hone", default=os.path.join(os.path.dirname(__file__), "..", "..", "build", "hone"))
    parser.add_argument("--keep")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    options.chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not options.chromium:
        print("skipped: there is no chromium; Debian's package of this name has it")
        sys.exit(77)
    options.hone, options.folder = os.path.abspath(options.hone), tempfile.mkdtemp(prefix=prefix)
    options.pictures = os.path.abspath(options.keep) if options.keep else os.path.join(options.folder, "pictures")
    os.makedirs(options.pictures, exist_ok=True)
    return options


def main():
    options = asked(__doc__, "hone_web_")
    hone, folder, pictures = options.hone, options.folder, options.pictures
    env = {**os.environ, "HONE_REGISTRY": os.path.join(folder, "registry.db")}
    env.pop("HONE_API_KEY", None)
    running, browser = [], None
    try:
        prepare(folder)
        # A version that is promoted, and a pipeline of four steps.
        short = ["--max_steps", "4", "--eval_steps", "2", "--save_steps", "100", "--run_name"]
        subprocess.run(command(hone, "short") + short + ["short"], cwd=folder, check=True, stderr=subprocess.DEVNULL, env=env)
        hone_lines(hone, folder, "models", "register", "--name", "news", "--model", "short", "--description", HTML, env=env)
        hone_lines(hone, folder, "models", "decide", "--name", "news", "--policy", json.dumps({"metric": "eval_loss", "floor": 100}), env=env)
        with open(os.path.join(folder, "steps.yaml"), "w") as f:
            f.write("name: steps\nsteps:\n  - name: words\n    run: sh -c 'cp train.jsonl ${out}/rows.jsonl'\n"
                    "  - name: count\n    run: sh -c 'wc -l < ${steps.words}/rows.jsonl > ${out}/n'\n"
                    "  - name: check\n    run: sh -c 'test -s ${steps.words}/rows.jsonl; touch ${out}/ok'\n"
                    "  - name: publish\n    run: sh -c 'cat ${steps.count}/n ${steps.check}/ok'\n")
        hone_lines(hone, folder, "pipeline", "run", "--config", "steps.yaml", "--pipeline_root", "runs", env=env)
        server, address = start_listening(hone, folder, env, "serve", "tiny=model", "--port", "0")
        running.append(server)
        ui, url = start_listening(hone, folder, env, "ui", "--port", "0", "--folder", ".", "--endpoint_url", address)
        running.append(ui)

        browser = Browser(options.chromium, os.path.join(folder, "profile"), options.whole)
        check_runs(browser, url, hone, folder, env, pictures)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url + "/api/pipelines") as answer:
            pipeline = json.load(answer)["pipelines"][0]["id"]
        for name, path, ready in (("pipelines", "/pipelines", "document.querySelector('tbody a')"),
                                  ("pipeline", "/pipelines?id=" + pipeline, "document.querySelectorAll('.node').length === 4"),
                                  ("models", "/models", "document.querySelector('tbody a')"),
                                  ("model", "/models?name=news", "document.querySelector('article .facts')"),
                                  ("data", "/data?file=train.jsonl&model=model&task=clm&count=5", "document.querySelector('.tokens li')"),
                                  ("files", "/data", "document.querySelector('#files option')")):
            check_page(browser, name, url + path, ready, pictures)
        browser.open(url + "/models?name=news", "document.querySelector('article .badge')")
        browser.run("[...document.querySelectorAll('summary')].filter(s => s.textContent.startsWith('Evidence')).forEach(s => s.click())")
        browser.until("document.body.innerText.includes('loss') && [...document.querySelectorAll('details[open] th')].some(e => e.textContent === 'metric' || e.textContent === 'policy')", 10)
        browser.picture(os.path.join(pictures, "evidence.png"))
        check_playground(browser, url, pictures)
        elsewhere = [u for u in browser.requests if not u.startswith((url + "/", "about:", "data:"))]
        if elsewhere:
            sys.exit(f"a page asks elsewhere: {elsewhere}")
        if browser.faults:
            sys.exit("the console has:\n" + "\n".join(browser.faults))
        print(f"nine pages, light and dark, narrow and wide: nothing on the console, {len(browser.requests)} requests, all to hone ui")
        return 0
    finally:
        if browser:
            browser.close()
        for process in running:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
