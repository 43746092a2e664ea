import glob, json, os, resource, subprocess, sys

os.environ["HONE_CACHE"] = os.path.abspath("speeds")  # the first plan measures the machine, and no later one
decoders = ("gpt2", "llama", "mistral", "qwen2", "smollm2", "tinyllama")


def plan(path):
    """Plans the config; returns the process and the seconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(["hone", "plan", "--task", "clm", "--config_name", path, "--json", "--device_memory", "16GiB"],
                       capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# A plan of 48 layers that does not fit takes about 9 times the time of one of 12 layers that fits.
most = 25 * min(plan(sys.argv[1] + "/configs/gpt2.json")[1] for _ in range(3))
wrong, planned, refused = [], 0, 0
for path in sorted(glob.glob(sys.argv[1] + "/configs/*.json")):
    r, seconds = plan(path)
    if os.path.basename(path).startswith(decoders):
        made = json.loads(r.stdout or "{}")
        peak = made["peak_bytes"]
        if r.returncode != (0 if made.get("fits") else 1) or peak["device"] != sum(made["by_purpose"].values()):
            wrong.append((path, r.returncode, r.stderr))
        if made["fits"] == ("would_fit" in made) or made["fits"] != (peak["device"] + peak["host"] <= 16 << 30):
            wrong.append((path, made))
        if seconds > most and plan(path)[1] > most:
            wrong.append((path, seconds, most))
        planned += 1
    else:
        if r.returncode != 1 or not ("H2301  hone has no model family '" in r.stderr or "H2304  " in r.stderr):
            wrong.append((path, r.returncode, r.stderr))
        refused += 1
print(wrong, planned >= 12, refused >= 30)
