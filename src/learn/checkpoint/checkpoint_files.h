// Lists the files of a training checkpoint, and reads the manifest with their sizes and checksums.
#pragma once

#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

// All files in the folder `path` and the folders below it; their names are relative to `path`:
// "1_Pooling/config.json". Errors: those of the store.
Result<std::vector<Store::Entry>> checkpoint_files(const std::string& path, Store& store);
// Whether a manifest may have this file name: a relative path of which no part is empty, "." or "..".
bool is_checkpoint_file(const std::string& name);

inline constexpr const char* kManifestFile = "hone_manifest.json";
inline constexpr int64_t kManifestVersion = 1;  // the only version that read_manifest() accepts
struct ManifestEntry {
  std::string name;  // relative to the checkpoint's folder
  int64_t bytes;
  std::string xxh64;  // XXH64 of the file, 16 hex digits
};
// Makes the error H2212 for the checkpoint at `path`; `what`: what is wrong with it.
Error damaged_checkpoint(const std::string& path, std::string what);
// Reads the manifest of a checkpoint that hone wrote. H2212: the manifest is not valid. Errors: those of the store,
// also if there is no manifest.
Result<std::vector<ManifestEntry>> read_manifest(const std::string& path, Store& store);

}  // namespace hone
