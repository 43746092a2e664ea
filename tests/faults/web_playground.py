#!/usr/bin/env python3
# nightly: --whole
"""The pages that show a registry and its endpoints in headless Chromium (Debian: chromium): the playground fits its form to each
model, keeps a conversation with a system prompt and shows tokens with their probabilities; a failed step shows code, place and
advice in full; the graph of a pipeline takes several rows where the window is narrow.

    tests/faults/web_playground.py --hone build/hone [--keep FOLDER] [--whole]
"""
import json
import os
import shutil
import subprocess
import sys

from web_peer import Browser, asked, check_page, hone_lines, start_listening
from web_runs import expect

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDENS = os.path.join(ROOT, "tests", "goldens")
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }} {% endfor %}"
MODELS = {"talker": "tiny_text_gpt2", "labels": "classification/bert", "masked": "mlm/bert_tiny", "writer": "pairs/t5", "names": "ner/bert",
          "reader": "qa/bert", "vectors": "embedding/folders/mean_normalize", "single": "classification/bert", "twins": "classification/bert"}
# The columns that the training of a classifier read; without them it takes both forms.
COLUMNS = {"single": ["sentence"], "twins": ["question", "sentence"]}
# The parts of the form that are seen.
PARTS = "[...document.querySelectorAll('[id$=-part]')].filter(e => !e.hidden && e.checkVisibility()).map(e => e.id.slice(0, -5)).sort().join(' ')"
FORMS = {"talker": ("chat", "max_tokens probabilities prompt system temperature top_p"),
         "labels": ("classify", "answer pair prompt top_k"), "masked": ("fill", "answer prompt top_k"), "writer": ("rewrite", "answer max_tokens prompt"),
         "names": ("label", "answer prompt"), "reader": ("ask", "answer pair prompt top_k"), "vectors": ("embed", "answer prompt"),
         "single": ("classify", "answer prompt top_k"), "twins": ("classify", "answer pair prompt top_k")}
WATCH = """window.sent = []; const real = window.fetch;
  window.fetch = (url, options) => { if (options && options.body) sent.push([String(url), JSON.parse(options.body)]); return real(url, options); }"""


def deploy(hone, folder, env):
    for name, golden in MODELS.items():
        path = os.path.join(folder, name)
        if name == "vectors":  # the golden has no tokenizer
            words = os.path.join(ROOT, "tests", "support", "word_model.py")
            subprocess.run([sys.executable, words, os.path.join(GOLDENS, golden), path], check=True)
        else:
            shutil.copytree(os.path.join(GOLDENS, golden), path)
        if name == "talker":
            with open(os.path.join(path, "chat_template.jinja"), "w") as f:
                f.write(TEMPLATE)
        if name in COLUMNS:
            with open(os.path.join(path, "hone_task.json"), "w") as f:
                json.dump({"task": "classification", "settings": {}, "columns": COLUMNS[name]}, f)
        hone_lines(hone, folder, "models", "register", "--name", name, "--model", path, env=env)
        hone_lines(hone, folder, "deploy", name, "--serve_flags", "threads=1", "batch_size=2", "max_length=128", "drain_delay=0", env=env)


def set_value(browser, name, value, event="input"):
    browser.run(f"(() => {{ const e = document.getElementById({name!r}); e.value = {json.dumps(value)}; e.dispatchEvent(new Event({event!r}, {{bubbles: true}})); }})()")


def choose(browser, name):
    set_value(browser, "endpoint", name, "change")
    kind, parts = FORMS[name]
    browser.until(f"document.getElementById('kind').value === {kind!r} && new URLSearchParams(location.search).get('endpoint') === {name!r}")
    found = browser.run(PARTS)
    expect(found == parts, f"the form of {name} has {found}, not {parts}")


def ask(browser, **values):
    for name, value in values.items():
        set_value(browser, name, value)
    browser.run("document.getElementById('status').textContent = '', document.getElementById('send').click()")
    browser.until("document.getElementById('status').textContent === 'Done'", 60)


def check_playground(browser, url, pictures):
    page = url + "/playground"
    check_page(browser, "playground-endpoints", page + "?endpoint=talker", "document.querySelector('#kind option')", pictures)
    browser.open(page, "document.querySelector('#kind option')")
    listed = browser.run("[...document.querySelectorAll('#endpoint option')].map(o => o.textContent)")
    expect(set(MODELS) <= set(listed), f"the playground offers {listed}")
    browser.run(WATCH)
    choose(browser, "talker")
    browser.run("document.getElementById('probabilities').click()")
    set_value(browser, "max_tokens", "4")
    ask(browser, system="Be kind.", prompt="Hello")
    first = browser.run("document.querySelector('#messages .assistant .text').firstChild.data")
    shades = browser.run("[...document.querySelectorAll('#messages .shade')].map(e => [e.textContent, e.title])")
    parts = [t for t, _ in shades if not t.startswith("bytes:")]  # else half a character
    expect(len(shades) == 4 and parts and all(t in first for t in parts) and all(p.endswith(" %") for _, p in shades),
           f"{first!r} has the tokens {shades}")
    ask(browser, prompt="And then?")
    last = browser.run("sent.at(-1)")
    expect(last[0].endswith("/api/endpoints/talker/v1/chat/completions"), last[0])
    said = [(m["role"], m["content"]) for m in last[1]["messages"]]
    expect(said == [("system", "Be kind."), ("user", "Hello"), ("assistant", first), ("user", "And then?")], f"the conversation is {said}")
    expect(browser.run("document.querySelectorAll('#messages li').length") == 4, "the page does not show the conversation")
    browser.picture(os.path.join(pictures, "playground-chat.png"))
    gap = browser.run("document.getElementById('prompt-label').getBoundingClientRect().top - document.getElementById('system').getBoundingClientRect().bottom")
    expect(gap >= 8, f"{gap} points between the system prompt and the label of the message")
    browser.run("document.getElementById('again').click()")
    ask(browser, prompt="Again")
    expect(len(browser.run("sent.at(-1)")[1]["messages"]) == 2, "a new conversation remembers the one before")
    choose(browser, "labels")
    ask(browser, prompt="A dog runs.", pair="An animal moves.")
    expect(browser.run("sent.at(-1)")[1]["instances"] == [{"text": "A dog runs.", "text_pair": "An animal moves."}], "the second text is not sent")
    expect(browser.run("document.querySelectorAll('#answer .scores tbody tr').length") > 1, "no scores are shown")
    # A second text that was typed for another model is not sent to one of single texts.
    choose(browser, "single")
    ask(browser, prompt="A dog runs.")
    expect(browser.run("sent.at(-1)")[1]["instances"] == ["A dog runs."], "a hidden second text is sent")
    choose(browser, "twins")
    expect(browser.run("document.getElementById('pair').required"), "a model of pairs does not ask for the second text")
    choose(browser, "masked")
    example = browser.run("document.getElementById('prompt').placeholder")
    expect("[MASK]" in example, f"the example is {example!r}")
    ask(browser, prompt=example)
    expect(browser.run("document.querySelectorAll('#answer .scores tbody tr').length") == 5, "no words are shown")
    choose(browser, "names")
    ask(browser, prompt="The ferry to the old town leaves at nine.")
    expect(browser.run("document.querySelectorAll('#answer .scores tbody tr').length") > 1, "no names are shown")
    choose(browser, "reader")
    expect(browser.run("document.getElementById('pair-label').textContent") == "Context", "the context has another label")
    ask(browser, prompt="When?", pair="The ferry leaves at nine.")
    expect(browser.run("sent.at(-1)")[1]["instances"] == [{"question": "When?", "context": "The ferry leaves at nine."}], "the context is not sent")
    expect(browser.run("document.querySelector('#answer .scores th').textContent") == "Answer", "no answer is shown")
    choose(browser, "vectors")
    ask(browser, prompt="The ferry leaves at nine.\nA ferry leaves.\nThe ferry leaves at nine.")
    last = browser.run("sent.at(-1)")
    expect(last[0].endswith("/v1/embeddings") and len(last[1]["input"]) == 3, f"texts are sent as {last}")
    near = browser.run("[...document.querySelectorAll('#answer tbody tr')].map(e => Number(e.children[1].textContent))")
    expect(len(near) == 3 and near[0] == near[2] == 1 and near[1] < 1, f"the similarities are {near}")
    expect("/v1/embeddings" in browser.run("document.getElementById('curl').innerText"), "the curl line has another route")
    choose(browser, "writer")
    ask(browser, prompt="The ferry leaves at nine.")
    address = browser.run("location.href")
    browser.open(address, "document.getElementById('kind').value === 'rewrite'")
    print("playground: a form for each of nine endpoints, a conversation with a system prompt, tokens with probabilities, all in the address")


def check_stopped(browser, url, hone, folder, env):
    hone_lines(hone, folder, "endpoints", "stop", "labels", env=env)
    browser.open(url + "/playground?endpoint=labels", "document.getElementById('status').textContent.includes('hone deploy')")


def check_failed(browser, url, hone, folder, env, pictures):
    names = [f"step{i}" for i in range(7)]
    with open(os.path.join(folder, "long.yaml"), "w") as f:
        f.write("name: long\nsteps:\n")
    with open(os.path.join(folder, "broken.jsonl"), "w") as f:
        f.write('{"text": "a"}\n{"text": }\n')
    with open(os.path.join(folder, "long.yaml"), "a") as f:
        for before, name in zip([None, *names], names):
            f.write(f"  - name: {name}\n    run: sh -c 'touch ${{out}}/ok'\n" + (f"    after: {before}\n" if before else ""))
        f.write(f"  - name: train\n    run: hone train --task clm --model_name_or_path {folder}/talker --train_file {folder}/broken.jsonl --do_train --output_dir ${{out}}\n"
                f"    after: {names[-1]}\n")
    done = subprocess.run([hone, "pipeline", "run", "long.yaml", "--run", "long"], cwd=folder, env=env, capture_output=True, text=True)
    expect(done.returncode == 1, done.stderr)
    page, ready = url + "/pipelines?id=long", "document.querySelectorAll('.node').length === 8 && document.querySelector('.failure, .error')"
    check_page(browser, "pipeline-failed", page, ready, pictures)
    browser.look(1280, 1000)
    browser.open(page, ready)
    said = browser.run("document.getElementById('content').innerText")
    for text in "Step train failed", "H21", "broken.jsonl:2", "What to do", "hone help H21":
        expect(text in said, f"the page of a failed step does not show '{text}': {said}")
    box, advice = browser.run("(() => { const e = document.querySelector('.failure'); return [e.innerText, e.querySelector('h3 + p').innerText]; })()")
    expect(box.count(advice) == 1, f"the advice appears twice: {box}")
    browser.until("!!document.querySelector('.shell pre')")
    line = browser.run("document.querySelector('.shell pre').innerText")
    expect("${" not in line and f"cd {folder}" in line and browser.run("!!document.querySelector('.shell button')"), f"the command of the step is {line}")
    again = subprocess.run(["sh", "-c", line.replace("&& hone", f"&& {hone}")], cwd="/", env=env, capture_output=True, text=True)
    expect(again.returncode == 1 and "broken.jsonl:2" in again.stderr, f"the copied command gives {again.stderr}")
    def rows(width):
        browser.look(width, 1000)
        browser.open(page, ready)
        spots = browser.run("[...document.querySelectorAll('.node')].map(e => [e.getBoundingClientRect().right, e.offsetTop])")
        expect(all(right <= width for right, _ in spots), f"at {width} a step is outside: {spots}")
        return len({top for _, top in spots})
    counts = [rows(w) for w in (1920, 1280, 400)]
    expect(counts[0] <= counts[1] < counts[2], f"rows at 1920, 1280 and 400: {counts}")
    print(f"a failed step with code, place and advice; eight steps in {counts} rows at 1920, 1280 and 400")


def main():
    options = asked(__doc__, "hone_web_play_")
    hone, folder, pictures = options.hone, options.folder, options.pictures
    env = {**os.environ, "HONE_REGISTRY": os.path.join(folder, "registry.db"), "XDG_STATE_HOME": os.path.join(folder, "state")}
    env.pop("HONE_API_KEY", None)
    ui, browser = None, None
    try:
        deploy(hone, folder, env)
        ui, url = start_listening(hone, folder, env, "ui", "--port", "0", "--folder", ".")
        browser = Browser(options.chromium, os.path.join(folder, "profile"), options.whole)
        check_playground(browser, url, pictures)
        expect(not browser.faults, "the console has:\n" + "\n".join(browser.faults))
        check_failed(browser, url, hone, folder, env, pictures)
        check_stopped(browser, url, hone, folder, env)
        return 0
    finally:
        if browser:
            browser.close()
        if ui:
            ui.kill()
            ui.wait()
        for name in MODELS:
            subprocess.run([hone, "endpoints", "delete", name], env=env, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
