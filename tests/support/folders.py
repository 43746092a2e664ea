"""Folders that must hold the same files."""
import filecmp


def differences(a, b):
    """Paths below two folders that only one has, or whose bytes differ."""
    found = []

    def walk(c, path):
        found.extend(path + name for name in c.left_only + c.right_only + c.funny_files)
        _, mismatch, errors = filecmp.cmpfiles(c.left, c.right, c.common_files, shallow=False)
        found.extend(path + name for name in mismatch + errors)
        for name, sub in c.subdirs.items():
            walk(sub, path + name + "/")

    walk(filecmp.dircmp(a, b, ignore=[]), "")
    return found
