#include "learn/checkpoint/open_weights.h"

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/checkpoint/imports/imports.h"
#include "learn/checkpoint/safetensors/errors.h"
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/checkpoint/safetensors/strict_json.h"
#include "learn/checkpoint/torch/torch_file.h"

namespace hone {
namespace fs = std::filesystem;

namespace {

std::vector<std::string> files_ending(const fs::path& folder, const std::string& suffix) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(folder))
    if (name.ends_with(suffix)) found.push_back((folder / name).string());
  return found;
}

// The only GGUF file of a folder, or the first of one model's; "" when there is none.
Result<std::string> only_gguf(const fs::path& folder) {
  const auto found = first_gguf_parts(files_ending(folder, ".gguf"));
  if (found.size() > 1)
    return Error(err::kNoWeights, fmt::format("'{}' holds {} GGUF files: {}", folder.string(),
                                              found.size(), join(found, ", ")))
        .todo("name one of them");
  return found.empty() ? std::string() : found.front();
}

bool exists(const fs::path& p) { return path_exists(p.string()); }

}  // namespace

Result<std::unique_ptr<WeightSource>> open_weights(const std::string& path) {
  static constexpr const char* kKnown =
      "name a folder with model.safetensors or pytorch_model.bin, or a .safetensors, .gguf, .bin, "
      ".pt or .pth file";
  if (!is_folder(path)) {
    if (!exists(path))
      return Error(err::kNoWeights, fmt::format("'{}' does not exist", path)).todo(kKnown);
    if (path.ends_with(".safetensors")) return open_safetensors(path);
    if (path.ends_with(".safetensors.index.json")) return open_safetensors_index(path);
    if (path.ends_with(".gguf")) return open_gguf_weights(path);
    if (is_torch_file_name(path)) return open_torch(path);
    if (path.ends_with(".bin.index.json")) return open_torch_index(path);
    return Error(err::kNoWeights,
                 fmt::format("'{}' is not a file of weights that hone knows", path))
        .todo(kKnown);
  }
  const fs::path folder(path);
  const auto in = [&](const char* name) { return (folder / name).string(); };
  if (exists(in("model.safetensors"))) return open_safetensors(in("model.safetensors"));
  if (exists(in("model.safetensors.index.json")))
    return open_safetensors_index(in("model.safetensors.index.json"));
  const std::string gguf = HONE_TRY(only_gguf(folder));
  if (!gguf.empty()) return open_gguf_weights(gguf);
  if (exists(in("pytorch_model.bin"))) return open_torch(in("pytorch_model.bin"));
  if (exists(in("pytorch_model.bin.index.json")))
    return open_torch_index(in("pytorch_model.bin.index.json"));
  if (HONE_TRY(is_import(path))) return std::move(HONE_TRY(open_import(path)).weights);
  Error none(
      err::kNoWeights,
      fmt::format("'{}' has neither model.safetensors nor pytorch_model.bin, nor an index of "
                  "either, nor a .gguf file",
                  path));
  const auto others = files_ending(folder, ".safetensors");
  none.todo(others.empty() ? "name the folder that holds the weights, or download them again"
                           : fmt::format("to use '{}', name that file itself", others.front()));
  return none;
}

// The first folders with a config.json in a folder: a user of it may mean one of them.
static std::vector<std::string> models_below(const std::string& folder) {
  constexpr size_t kMost = 3;
  std::vector<std::string> found;
  for (const std::string& name : names_in(folder))
    if (const fs::path below = fs::path(folder) / name;
        found.size() < kMost && path_exists(below / "config.json"))
      found.push_back(below.string());
  return found;
}

Result<Json> load_config(const std::string& path) {
  const bool in_folder = is_folder(path);
  if (!in_folder && path.ends_with(".gguf")) return gguf_config(path);
  const fs::path folder = in_folder ? fs::path(path) : fs::path(path).parent_path();
  if (path_exists(folder / "config.json"))
    return read_json_object((folder / "config.json").string(), err::kConfigUnreadable);
  std::vector<std::string> models = in_folder ? models_below(path) : std::vector<std::string>{};
  if (in_folder) {
    const std::string gguf = HONE_TRY(only_gguf(folder));
    if (!gguf.empty() && models.empty()) return gguf_config(gguf);
    if (!gguf.empty()) models.push_back(gguf);
  }
  return Error(err::kConfigUnreadable, in_folder
                                           ? fmt::format("'{}' has no config.json", path)
                                           : fmt::format("'{}' has no config.json beside it", path))
      .todo(models.empty()
                ? "put the model's config.json beside its weights, or name it with --config_name"
                : "did you mean " + join(models, " or ") + "?");
}

}  // namespace hone
