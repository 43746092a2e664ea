#include "learn/models/gguf_layout.h"

#include "base/core/text.h"

namespace hone {

std::optional<GgufModelType> gguf_type(const std::string& architecture,
                                       const std::string& general_name,
                                       const std::function<bool(const std::string& key)>& has) {
  std::optional<GgufModelType> found, marked;
  for (const Family& family : families())
    for (const ModelType& type : family.model_types) {
      if (type.gguf == nullptr || type.gguf->architecture != architecture) continue;
      if (!type.gguf->marker.empty()) {
        if (has(type.gguf->marker)) marked = GgufModelType{&family, &type};
        continue;
      }
      const std::string& name = type.gguf->general_name;
      if (name.empty() ? !found : name == general_name) found = GgufModelType{&family, &type};
    }
  return marked ? marked : found;
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
      if (type.gguf != nullptr) names.push_back(type.name);
  return join(names, ", ");
}

}  // namespace hone
