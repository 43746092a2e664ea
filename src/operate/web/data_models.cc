#include "operate/web/data_models.h"

#include <filesystem>

#include "base/core/url.h"
#include "base/store/hub.h"
#include "base/store/store.h"
#include "learn/pretrained/open.h"
#include "operate/web/api.h"
#include "operate/web/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

Error not_here(const std::string& what, const std::string& path) {
  return Error(err::kWebView, what + " is not on this machine")
      .at(path)
      .todo("download it with hone pull, or name a folder below --folder");
}

// Pipes and devices are not read.
Status check_files(const std::string& path) {
  if (!is_folder(path)) return Ok{};
  for (const std::string& name : names_in(path))
    if (const std::string file = path + "/" + name; !is_folder(file) && !is_regular(file))
      return Error(err::kWebView, fmt::format("'{}' is not a regular file", file))
          .todo("name a folder of a model's files");
  return Ok{};
}

// The model of the hub's cache that an adapter names.
Result<std::string> cached_model(const std::string& base, const std::string& adapter) {
  if (!is_url(base) && !fs::path(base).is_absolute()) {
    ResolveOptions cached;
    cached.offline = true;
    cached.weights = cached.progress = false;
    if (auto folder = resolve_model(base, cached); folder.ok()) return std::move(*folder);
  }
  return not_here(fmt::format("the adapter's model '{}'", base), adapter);
}

}  // namespace

Result<std::string> whole_model(const DataPlaces& places, const DataModel& model) {
  const std::string base = HONE_TRY(base_of_adapter(model.path));
  if (base.empty()) return model.path;
  const bool is_path = path_exists(base);
  std::string whole =
      is_path ? fs::absolute(base).string() : HONE_TRY(cached_model(base, model.path));
  if (is_path && !model.registered) {
    const auto inside = places.find(whole);
    if (!inside)
      return Error(err::kWebView,
                   fmt::format("the adapter's model '{}' is outside the folders of hone ui", base))
          .at(model.path)
          .todo("name its folder by --data_folders");
    whole = *inside;
  }
  HONE_TRY(check_files(whole));
  return whole;
}

Result<std::string> tokenizer_of(const DataPlaces& places, const DataModel& model) {
  if (has_tokenizer(model.path)) return model.path;
  return whole_model(places, model);
}

Result<DataModel> data_model(const DataPlaces& places, ModelsApi& models, const std::string& name) {
  DataModel model{places.find(name).value_or("")};
  std::string& path = model.path;
  // A project's folder often has the name of its registered model.
  if (path.empty() || (is_folder(path) && !is_model(path))) {
    Result<std::string> source = models.source_of(name);
    if (source.ok())
      path = std::move(*source), model.registered = true;
    else if (path.empty())
      return std::move(source.error());
  }
  if (!is_folder(path) && !is_regular(path))
    return not_here(fmt::format("the model '{}'", name), path);
  if (is_folder(path) && !is_model(path))
    return Error(err::kWebView, fmt::format("'{}' is not the folder of a model", path))
        .todo("name a folder with config.json or adapter_config.json, or a GGUF file");
  HONE_TRY(check_files(path));
  return model;
}

}  // namespace hone
