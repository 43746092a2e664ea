import json, shutil, sys
shutil.copytree(sys.argv[1], "named")
config = json.load(open("named/config.json"))
config["id2label"] = {"0": "contradiction", "1": "entailment", "2": "neutral"}
config["label2id"] = {v: int(k) for k, v in config["id2label"].items()}
json.dump(config, open("named/config.json", "w"))
