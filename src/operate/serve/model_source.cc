#include "operate/serve/model_source.h"

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "operate/registry/pinned_files.h"
#include "operate/serve/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 18 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// The last part of a path or hub name.
std::string name_of_path(const std::string& given) {
  const std::string path = without_end_slash(given);
  std::string name = path.substr(path.rfind('/') + 1);
  for (const char* end : {".gguf", ".safetensors", ".bin"})
    if (name.ends_with(end)) name.erase(name.size() - std::string_view(end).size());
  return name.empty() || name == "." || name == ".." ? "model" : name;
}

std::string label_of(const ModelVersion& v, const char* key) {
  const auto it = v.labels.find(key);
  return it == v.labels.end() ? "" : it->second;
}

}  // namespace

Result<ModelSource> registered_source(const ModelVersion& v) {
  HONE_TRY(check_pinned(v));
  ModelSource m{v.model, std::to_string(v.number), v.source};
  m.task = v.task.empty() ? label_of(v, "task") : v.task;
  if (std::string prefix = label_of(v, "source_prefix"); !prefix.empty())
    m.prefix = prefix.ends_with(' ') ? prefix : prefix + ' ';
  return m;
}

Result<ModelSource> model_source(const std::string& text, const std::string& registry) {
  ModelSource m{.version = "", .source = text};
  if (const size_t equals = text.find('='); equals != std::string::npos) {
    m.name = text.substr(0, equals);
    m.source = text.substr(equals + 1);
    if (const size_t colon = m.name.find(':'); colon != std::string::npos) {
      m.version = m.name.substr(colon + 1);
      m.name.resize(colon);
    }
    if (m.name.empty() || m.source.empty())
      return Error(err::kServeFlag, fmt::format("'{}' names no model", text))
          .at("hone serve")
          .todo("write FOLDER, NAME=FOLDER or NAME:VERSION=FOLDER");
  }
  constexpr std::string_view kRegistered = "models:/";
  if (m.source.starts_with(kRegistered)) {
    std::string reference = m.source.substr(kRegistered.size());
    if (const size_t slash = reference.rfind('/');
        slash != std::string::npos && is_number(reference.substr(slash + 1)))
      reference[slash] = ':';
    Registry r = HONE_TRY(Registry::open(registry));
    ModelSource own = HONE_TRY(registered_source(HONE_TRY(resolve_model(r, reference))));
    if (!m.name.empty()) own.name = m.name;
    if (!m.version.empty()) own.version = m.version;
    return own;
  }
  if (m.name.empty()) m.name = name_of_path(m.source);
  if (m.version.empty()) m.version = "1";
  return m;
}

Result<ModelSource> in_repository(const std::string& folder, const std::string& name,
                                  const std::string& version) {
  const auto hidden = [](const std::string& part) {
    return part.find('/') != std::string::npos || part.starts_with(".");
  };
  if (name.empty() || hidden(name) || hidden(version))
    return Error(err::kServeNoModel, fmt::format("'{}' is not the name of a model", name));
  const fs::path at = fs::path(folder) / name;
  std::error_code failed;
  const auto none = [&](const std::string& what) {
    return Error(err::kServeNoModel, fmt::format("the model repository has no {}", what))
        .at(at.string());
  };
  if (!fs::is_directory(at, failed)) return none(fmt::format("model '{}'", name));
  int64_t latest = -1;
  for (const auto& entry : fs::directory_iterator(at, failed))
    if (const std::string v = entry.path().filename().string();
        entry.is_directory(failed) && is_number(v))
      latest = std::max<int64_t>(latest, std::stoll(v));
  if (latest < 0) return ModelSource{.name = name, .source = at.string()};
  const std::string chosen = version.empty() ? std::to_string(latest) : version;
  if (!fs::is_directory(at / chosen, failed))
    return none(fmt::format("version '{}' of '{}'", chosen, name));
  return ModelSource{.name = name, .version = chosen, .source = (at / chosen).string()};
}

Result<std::vector<std::string>> repository_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  const fs::directory_iterator entries(folder, failed);
  if (failed)
    return Error(err::kServeFlag, fmt::format("cannot read '{}': {}", folder, failed.message()))
        .at("--model_repository")
        .todo("name a folder that holds a folder for each model");
  for (const auto& entry : entries)
    if (const std::string n = entry.path().filename().string();
        entry.is_directory(failed) && !n.starts_with("."))
      names.push_back(n);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hone
