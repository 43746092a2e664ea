#include "learn/checkpoint/checkpoint_files.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/safetensors/strict_json.h"

namespace hone {

Result<std::vector<Store::Entry>> checkpoint_files(const std::string& path, Store& store) {
  std::vector<Store::Entry> files;
  for (const Store::Entry& e : HONE_TRY(store.list(path))) {
    if (!e.folder) {
      files.push_back(e);
      continue;
    }
    std::vector<Store::Entry> below = HONE_TRY(checkpoint_files(path + "/" + e.name, store));
    for (Store::Entry& file : below) {
      file.name = e.name + "/" + file.name;
      files.push_back(std::move(file));
    }
  }
  return files;
}

bool is_checkpoint_file(const std::string& name) {
  const std::vector<std::string> parts = split(name, '/');
  return !parts.empty() && std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
    return part.empty() || part == "." || part == "..";
  });
}

Error damaged_checkpoint(const std::string& path, std::string what) {
  return Error(err::kCheckpointDamaged, fmt::format("checkpoint '{}': {}", path, what))
      .todo("resume from an older checkpoint (--resume_from_checkpoint), and check the disk");
}

Result<std::vector<ManifestEntry>> read_manifest(const std::string& path, Store& store) {
  const Json m = HONE_TRY(parse_strict_json(HONE_TRY(store.read(path + "/" + kManifestFile)),
                                            err::kCheckpointDamaged, path + "/" + kManifestFile));
  if (!m.is_object() || !m.contains("version") || !m["version"].is_number_integer() ||
      !m.contains("files") || !m["files"].is_object())
    return damaged_checkpoint(path, "its manifest is not one");
  if (m["version"] != kManifestVersion)
    return Error(err::kCheckpointDamaged,
                 fmt::format("checkpoint '{}' has a manifest of version {}; this hone knows {}",
                             path, m["version"].dump(), kManifestVersion))
        .todo("use the hone that wrote it, or a newer one");
  std::vector<ManifestEntry> entries;
  for (const auto& [name, e] : m["files"].items()) {
    if (!e.is_object() || !e.contains("bytes") || !e["bytes"].is_number_integer() ||
        !e.contains("xxh64") || !e["xxh64"].is_string() || !is_checkpoint_file(name))
      return damaged_checkpoint(path, fmt::format("its manifest has a wrong entry '{}'", name));
    entries.push_back({name, e["bytes"].get<int64_t>(), e["xxh64"].get<std::string>()});
  }
  return entries;
}

}  // namespace hone
