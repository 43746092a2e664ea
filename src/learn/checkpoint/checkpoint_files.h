// The files of a checkpoint and of the folders in it.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

// By name; those of a folder as "1_Pooling/config.json". Errors: those of the store.
Result<std::vector<Store::Entry>> checkpoint_files(const std::string& path, Store& store);
// Whether a manifest may name the file: parts without "." and "..", none of them empty.
bool is_checkpoint_file(const std::string& name);

inline constexpr const char* kManifestFile = "hone_manifest.json";
inline constexpr int64_t kManifestVersion = 1;
struct ManifestEntry {
  std::string name;
  int64_t bytes;
  std::string xxh64;
};
// H2212: what is wrong with the checkpoint.
Error damaged_checkpoint(const std::string& path, std::string what);
// The files of a checkpoint of hone. Errors: H2212, those of the store.
Result<std::vector<ManifestEntry>> read_manifest(const std::string& path, Store& store);

}  // namespace hone
