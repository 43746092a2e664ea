"""pack.py FILE   the file as b.csv.bz2, x.csv.xz and z.csv.zip, without needing these programs."""
import bz2
import lzma
import sys
import zipfile

with open(sys.argv[1], "rb") as f:
    data = f.read()
with open("b.csv.bz2", "wb") as f:
    f.write(bz2.compress(data))
with open("x.csv.xz", "wb") as f:
    f.write(lzma.compress(data))
with zipfile.ZipFile("z.csv.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr(sys.argv[1], data)
