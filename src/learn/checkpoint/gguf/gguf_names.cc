// Names of tensors in GGUF files to the names of Hugging Face checkpoints.
#include <algorithm>
#include <charconv>

#include "learn/checkpoint/gguf/gguf_weights.h"

namespace hone {
namespace {

std::string_view look_up(const std::vector<GgufName>& names, std::string_view name) {
  for (const GgufName& n : names)
    if (n.gguf == name) return n.weight;
  return {};
}
std::string_view look_back(const std::vector<GgufName>& names, std::string_view name) {
  for (const GgufName& n : names)
    if (n.weight == name) return n.gguf;
  return {};
}

bool has_ending(const std::string& name, const std::vector<const char*>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

std::string hf_name_of(const GgufLayout& layout, const std::string& ggml_name) {
  const size_t dot = ggml_name.rfind('.');
  if (dot == std::string::npos) return "";
  std::string_view base = std::string_view(ggml_name).substr(0, dot);
  const std::string suffix = ggml_name.substr(dot);  // ".weight", ".bias"
  if (suffix != ".weight" && suffix != ".bias") return "";
  if (!base.starts_with("blk.")) {
    const auto hf = look_up(layout.once, base);
    return hf.empty() ? "" : std::string(hf) + suffix;
  }
  base.remove_prefix(4);
  int64_t layer = 0;
  const auto [end, ec] = std::from_chars(base.data(), base.data() + base.size(), layer);
  if (ec != std::errc() || end == base.data() + base.size() || *end != '.' || layer < 0) return "";
  base.remove_prefix(static_cast<size_t>(end - base.data()) + 1);
  const auto hf = look_up(layout.of_layer, base);
  if (hf.empty()) return "";
  return fmt::format("{}{}.{}{}", layout.layers, layer, hf, suffix);
}

std::string ggml_name_of(const GgufLayout& layout, const std::string& hf_name) {
  const size_t dot = hf_name.rfind('.');
  if (dot == std::string::npos) return "";
  std::string_view base = std::string_view(hf_name).substr(0, dot);
  const std::string suffix = hf_name.substr(dot);
  if (!base.starts_with(layout.layers)) {
    const auto ggml = look_back(layout.once, base);
    return ggml.empty() ? "" : std::string(ggml) + suffix;
  }
  base.remove_prefix(layout.layers.size());
  const size_t end = base.find('.');
  if (end == base.npos) return "";
  const auto ggml = look_back(layout.of_layer, base.substr(end + 1));
  return ggml.empty() ? "" : fmt::format("blk.{}.{}{}", base.substr(0, end), ggml, suffix);
}

bool is_turned(const GgufLayout& layout, const std::string& hf_name) {
  return has_ending(hf_name, layout.turned);
}

bool is_plus_one(const GgufLayout& layout, const std::string& hf_name) {
  return has_ending(hf_name, layout.plus_one);
}

bool is_of_rotation(const std::string& ggml_name) {
  return ggml_name == kRopeFreqs || ggml_name == kShortFactors || ggml_name == kLongFactors;
}

}  // namespace hone
