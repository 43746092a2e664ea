# Prints the metrics of the first file that the second has not, times aside.
import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:3])
print([k for k in a if a[k] != b.get(k) and "second" not in k and "runtime" not in k])
