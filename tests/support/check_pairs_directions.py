import json, shutil, sys
shutil.copytree(sys.argv[1], "german")
config = json.load(open("german/config.json"))
config["task_specific_params"] = {"translation_en_to_de": {"prefix": "translate English to German: "}}
json.dump(config, open("german/config.json", "w"))
