// What steps write: folders whose content has a hash.
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

// A folder and all below it, or one file (its path is then ""); a URL too. Errors: H3166 it is not
// there, those of the store.
Result<Artifact> content_of(Store& store, const std::string& place);

// Makes `to` hold what `from` holds: hard links where the disk can, copies elsewhere. `to` is made.
Status link_folder(Store& store, const std::string& from, const std::string& to);

// The folder appears at `to`, and what was there before is gone.
Status replace_folder(Store& store, const std::string& from, const std::string& to);

// Copies a finished step's folder into the bucket, and then its description, by which readers know that
// the folder is whole.
Status publish_step(Store& store, const std::string& folder, const std::string& description,
                    const std::string& target);

}  // namespace hone
