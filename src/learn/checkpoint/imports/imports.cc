#include "learn/checkpoint/imports/imports.h"

#include "base/core/text.h"
#include "learn/checkpoint/imports/errors.h"

namespace hone {
namespace {

Result<const ImportFormat*> format_at(const std::string& path, Store& store) {
  static const std::vector<ImportFormat> shelf = all_import();
  for (const ImportFormat& format : shelf)
    if (HONE_TRY(format.is_at(path, store))) return &format;
  return nullptr;
}

}  // namespace

Result<bool> is_import(const std::string& path, Store& store) {
  return HONE_TRY(format_at(path, store)) != nullptr;
}

Result<ImportedRun> open_import(const std::string& path, Store& store) {
  const ImportFormat* format = HONE_TRY(format_at(path, store));
  if (format != nullptr) return format->open(path, store);
  std::vector<std::string> names;
  for (const ImportFormat& known : all_import()) names.push_back(known.name);
  return Error(err::kImportDamaged,
               fmt::format("'{}' is not a training checkpoint that hone knows", path))
      .todo(fmt::format("name a checkpoint of hone or of one of these: {}", join(names, ", ")));
}

}  // namespace hone
