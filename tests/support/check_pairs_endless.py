import json, shutil, sys
shutil.copytree(sys.argv[1], "endless")
tokenizer = json.load(open("endless/tokenizer.json"))
tokenizer["post_processor"] = None
json.dump(tokenizer, open("endless/tokenizer.json", "w"))
