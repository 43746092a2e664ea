// Megatron-LM's checkpoints: iter_<step>/mp_rank_<rank>/model_optim_rng.pt, recognised to be refused by name: their weights
// have other names, fused and cut between ranks by rules of each model, which its own converters know.
#include <algorithm>

#include "learn/checkpoint/imports/errors.h"
#include "learn/checkpoint/imports/folder_names.h"
#include "learn/checkpoint/imports/import_format.h"

namespace hone {
namespace {

constexpr const char* kLatest = "latest_checkpointed_iteration.txt";

Result<bool> is_megatron(const std::string& path, Store& store) {
  const FolderNames names = HONE_TRY(names_of(path, store));
  if (names.has_file(kLatest)) return true;
  for (const std::string& folder : names.folders)
    if (folder.starts_with("mp_rank_") &&
        HONE_TRY(names_of(path + "/" + folder, store)).has_file("model_optim_rng.pt"))
      return true;
  return false;
}

Result<ImportedRun> open_megatron(const std::string& path, Store&) {
  return Error(err::kImportNotSupported, fmt::format("'{}' is a checkpoint of Megatron-LM", path))
      .todo(
          "convert it with Megatron's tools/checkpoint/convert.py or Megatron Bridge to a folder "
          "of "
          "Transformers, and begin a new run from its weights: --model_name_or_path FOLDER");
}

}  // namespace

ImportFormat import_megatron() {
  return {.name = "Megatron-LM", .is_at = is_megatron, .open = open_megatron};
}

}  // namespace hone
