"""Reads protobuf messages without their descriptions."""


def fields(message):
    """(number, value) of a message's members: integers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: lambda: 8, 2: varint, 5: lambda: 4}[key & 7]()
        yield key >> 3, message[at:at + size]
        at += size
