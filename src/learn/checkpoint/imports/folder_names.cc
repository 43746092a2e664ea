#include "learn/checkpoint/imports/folder_names.h"

#include <algorithm>
#include <charconv>

#include "base/core/json.h"
#include "base/core/text.h"
#include "learn/checkpoint/imports/errors.h"

namespace hone {

bool FolderNames::has_file(std::string_view name) const {
  return std::find(files.begin(), files.end(), name) != files.end();
}

bool FolderNames::has_folder(std::string_view name) const {
  return std::find(folders.begin(), folders.end(), name) != folders.end();
}

Result<FolderNames> names_of(const std::string& path, Store& store) {
  FolderNames names;
  if (!HONE_TRY(store.info(path)).folder) return names;
  for (const Store::Entry& e : HONE_TRY(store.list(path)))
    (e.folder ? names.folders : names.files).push_back(e.name);
  return names;
}

Result<std::string> named_folder(const std::string& path, const std::string& file, Store& store) {
  const std::string from = path + "/" + file;
  const Store::Info info = HONE_TRY(store.info(from));
  if (!info.exists || info.folder) return std::string();
  std::string name = HONE_TRY(store.read(from));
  while (!name.empty() && (name.back() == '\n' || name.back() == '\r' || name.back() == ' '))
    name.pop_back();
  const bool plain = !name.empty() && name.size() <= 255 && name.front() != '.' &&
                     name.find('/') == name.npos && name.find('\0') == name.npos;
  if (plain && HONE_TRY(store.info(path + "/" + name)).folder) return path + "/" + name;
  return Error(err::kImportDamaged, fmt::format("'{}' names the folder '{}', which is not there",
                                                from, plain ? name : name.substr(0, 40)))
      .todo("copy the whole checkpoint, or name the folder of a step itself");
}

std::vector<int64_t> numbers_in_name(std::string_view name, std::string_view form) {
  std::vector<int64_t> numbers;
  while (!form.empty()) {
    if (form.front() != '*') {
      if (name.empty() || name.front() != form.front()) return {};
      name.remove_prefix(1);
    } else {
      int64_t n = -1;
      const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), n);
      if (wrong != std::errc() || n < 0) return {};
      numbers.push_back(n);
      name.remove_prefix(static_cast<size_t>(end - name.data()));
    }
    form.remove_prefix(1);
  }
  return name.empty() ? numbers : std::vector<int64_t>();
}

Result<Json> trainer_state_at(const std::string& path, bool above, Store& store) {
  const std::string folder = without_end_slash(path);
  std::vector<std::string> places = {folder};
  if (const size_t slash = folder.rfind('/'); above && slash != folder.npos && slash > 0)
    places.push_back(folder.substr(0, slash));
  for (const std::string& place : places) {
    const std::string file = place + "/trainer_state.json";
    if (HONE_TRY(store.exists(file))) return parse_json(HONE_TRY(store.read(file)), file);
  }
  return Json();
}

int64_t steps_of_trainer_state(const Json& state, int64_t otherwise) {
  if (!state.is_object() || !state.contains("global_step")) return otherwise;
  const Json& steps = state["global_step"];
  return steps.is_number_integer() && steps.get<int64_t>() >= 0 ? steps.get<int64_t>() : otherwise;
}

}  // namespace hone
