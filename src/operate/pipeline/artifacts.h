// Folders that steps write, with a hash of their content.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "base/store/store.h"

namespace hone {

struct ArtifactFile {
  std::string path;  // below the folder
  int64_t bytes = 0;
  std::string sha256;
};
struct Artifact {
  std::string hash;  // SHA-256 over paths, sizes and contents
  std::vector<ArtifactFile> files;
};

// Reads a folder with everything below it, or one file (its path is then ""); a URL too. Errors:
// H3166 it is missing, those of the store.
Result<Artifact> content_of(Store& store, const std::string& place);

// Creates `to` with the content of `from`: hard links if the disk can, copies elsewhere.
Status link_folder(Store& store, const std::string& from, const std::string& to);

// Moves the folder to `to` and replaces its former content.
Status replace_folder(Store& store, const std::string& from, const std::string& to);

// Copies a finished step's folder into the bucket, then its description, which marks the folder
// complete.
Status publish_step(Store& store, const std::string& folder, const std::string& description,
                    const std::string& target);

}  // namespace hone
