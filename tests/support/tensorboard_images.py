"""Images, texts and vectors in the events of a run, read without TensorBoard.

    tensorboard_images.py FOLDER        prints the tags with the sizes of images, the tables, and the projector's files
    tensorboard_images.py FOLDER TO     also writes each image into the folder TO: train_images_1.png
"""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from protobuf_fields import fields  # noqa: E402


def events(folder):
    """The values of all summaries, with their steps."""
    name, = (n for n in os.listdir(folder) if n.startswith("events."))
    with open(os.path.join(folder, name), "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        event = dict(fields(data[at + 12:at + 12 + length]))
        at += 16 + length
        for _, value in fields(event.get(5, b"")):
            yield event.get(2, 0), dict(fields(value))


def png_size(png):
    """Width and height; the rows of all pixels must be there."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", png[:8]
    at, rows, size = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8:at + 8 + length]
        assert zlib.crc32(kind + data) == struct.unpack_from(">I", png, at + 8 + length)[0], kind
        at += 12 + length
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", data)
            assert size[2:4] == (8, 2), size
        rows += data if kind == b"IDAT" else b""
    assert len(zlib.decompress(rows)) == size[1] * (1 + 3 * size[0])
    return size[:2]


def main():
    folder = sys.argv[1]
    for step, value in events(folder):
        tag = value[1].decode()
        if 4 in value:
            image = dict(fields(value[4]))
            width, height = png_size(image[4])
            assert (height, width) == (image[1], image[2]), image
            print(f"step {step} {tag}: {width} x {height}")
            if len(sys.argv) > 2:
                os.makedirs(sys.argv[2], exist_ok=True)
                with open(os.path.join(sys.argv[2], tag.replace("/", "_") + ".png"), "wb") as f:
                    f.write(image[4])
        elif tag.endswith("s/text_summary") and not tag.startswith("args"):
            text = dict(fields(value[8]))[8].decode()
            print(f"step {step} {tag}: {text.splitlines()[0]}, {len(text.splitlines()) - 2} rows")
    config = os.path.join(folder, "projector_config.pbtxt")
    if not os.path.exists(config):
        return
    with open(config) as f:
        words = dict(line.split(": ") for line in f.read().splitlines() if ": " in line)
    named = {key.strip(): os.path.join(folder, value.strip('"')) for key, value in words.items() if "path" in key}
    with open(named["tensor_path"]) as f:
        vectors = [[float(x) for x in line.split("\t")] for line in f]
    with open(named["metadata_path"]) as f:
        head, *labels = [line.rstrip("\n").split("\t") for line in f]
    with open(named["image_path"], "rb") as f:
        width, height = png_size(f.read())
    assert len(labels) == len(vectors) and all(len(x) == len(head) for x in labels), (len(labels), len(vectors))
    assert all(any(x != 0 for x in v) for v in vectors)
    print(f"projector: {len(vectors)} vectors of {len(vectors[0])}, {' '.join(head)}, "
          f"{len({x[0] for x in labels})} labels, sprite {width} x {height} of {words['    single_image_dim']}")


if __name__ == "__main__":
    main()
