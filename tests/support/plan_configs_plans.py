import glob, json, os, resource, subprocess, sys
decoders = ("gpt2", "llama", "mistral", "qwen2", "smollm2", "tinyllama")
wrong, planned, refused = [], 0, 0
for path in sorted(glob.glob(sys.argv[1] + "/configs/*.json")):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = subprocess.run(["hone", "plan", "--task", "clm", "--config_name", path, "--json", "--device_memory", "16GiB"],
                       capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if os.path.basename(path).startswith(decoders):
        plan = json.loads(r.stdout or "{}")
        if r.returncode != (0 if plan.get("fits") else 1) or plan["peak_bytes"]["device"] != sum(plan["by_purpose"].values()) or seconds >= 1:
            wrong.append((path, r.returncode, seconds, r.stderr))
        if plan["fits"] == ("would_fit" in plan) or plan["fits"] != (plan["peak_bytes"]["device"] + plan["peak_bytes"]["host"] <= 16 << 30):
            wrong.append((path, plan))
        planned += 1
    else:
        if r.returncode != 1 or not ("H2301  hone has no model family '" in r.stderr or "H2304  " in r.stderr):
            wrong.append((path, r.returncode, r.stderr))
        refused += 1
print(wrong, planned >= 12, refused >= 30)
