import struct, sys
data, at, tags = open(sys.argv[1], "rb").read(), 0, []
while at < len(data):
    (size,) = struct.unpack_from("<Q", data, at)
    record, at = data[at + 12:at + 12 + size], at + 16 + size
    for tag in (b"train/loss", b"train/learning_rate", b"train/grad_norm", b"train/epoch", b"eval/loss", b"args/text_summary", b"train/train_runtime"):
        if bytes([10, len(tag)]) + tag in record:
            tags.append(tag.decode())
print(sorted({t: tags.count(t) for t in tags}.items()))
