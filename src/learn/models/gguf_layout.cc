#include "learn/models/gguf_layout.h"

#include <algorithm>

#include "base/core/text.h"

namespace hone {

namespace {

// Whether the file has what distinguishes the type; none: nothing does.
std::optional<bool> has_mark(const GgufTraits& file, const GgufLayout& layout) {
  if (!layout.marker.empty()) return file.has && file.has(layout.marker);
  if (!layout.lacks.empty()) return file.has_tensor && !file.has_tensor(layout.lacks);
  if (!layout.holds.empty()) return !file.has_tensor || file.has_tensor(layout.holds);
  return std::nullopt;
}

}  // namespace

std::optional<GgufModelType> gguf_type(const GgufTraits& file) {
  std::optional<GgufModelType> first, named, marked;
  for (const Family& family : families())
    for (const ModelType& type : family.model_types) {
      if (type.gguf == nullptr || type.gguf->architecture != file.architecture) continue;
      const GgufLayout& layout = *type.gguf;
      if (!layout.tokenizer.empty() && !file.tokenizer.empty() &&
          layout.tokenizer != file.tokenizer)
        continue;
      const GgufModelType found{&family, &type};
      if (const std::optional<bool> has = has_mark(file, layout)) {
        if (*has) marked = found;
        continue;
      }
      if (type.name == file.general_name) named = found;
      if (layout.general_name.empty() && !first) first = found;
    }
  if (marked) return marked;
  return named ? named : first;
}

const GgufLayout* gguf_layout_of(const ModelConfig& c) {
  const std::string name = c.text("model_type", "");
  for (const ModelType& type : family_of(c).model_types)
    if (type.name == name) return type.gguf;
  return nullptr;
}

std::string gguf_type_names() {
  std::vector<std::string> names;
  for (const Family& family : families())
    for (const ModelType& type : family.model_types)
      if (type.gguf != nullptr && std::ranges::count(names, type.name) == 0)
        names.push_back(type.name);
  return join(names, ", ");
}

}  // namespace hone
