// Hashes, copies, replaces and publishes the folders that pipeline steps write.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "base/store/store.h"

namespace hone {

struct ArtifactFile {
  std::string path;  // relative to the folder
  int64_t bytes = 0;
  std::string sha256;  // of its content, in hexadecimal
};
struct Artifact {
  std::string hash;  // SHA-256 over the paths, sizes and contents of all files, in hexadecimal
  std::vector<ArtifactFile> files;
};

// Reads all files below `place`, a folder or a URL. If `place` is one file, the result has this file with path "".
// Errors: H3166 `place` is missing; those of the store.
Result<Artifact> content_of(Store& store, const std::string& place);

// Creates the folder `to` with the files of `from`, as hard links if the file system can, else as copies. Errors: those
// of the store.
Status link_folder(Store& store, const std::string& from, const std::string& to);

// Renames the folder `from` to `to`, and removes the folder that was at `to`. Errors: those of the store.
Status replace_folder(Store& store, const std::string& from, const std::string& to);

// Copies a finished step's folder to the URL `target`, then the file `description` to <target>.json, which marks the
// copy complete. Errors: those of the store.
Status publish_step(Store& store, const std::string& folder, const std::string& description,
                    const std::string& target);

}  // namespace hone
