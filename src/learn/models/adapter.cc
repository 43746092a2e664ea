#include "learn/models/adapter.h"

#include <algorithm>
#include <cmath>

#include "learn/models/config.h"
#include "learn/models/layer_pattern.h"

namespace hone {

bool names_part(const std::string& name, const std::string& part) {
  return ("." + name + ".").find("." + part + ".") != std::string::npos;
}

double Adapter::scale() const {
  return alpha / (rslora ? std::sqrt(static_cast<double>(r)) : static_cast<double>(r));
}

bool Adapter::saves(const ModelConfig& c, const std::string& weight) const {
  const auto named = [&](const std::string& part) { return names_part(weight, part); };
  if (classifies(c.head) &&
      std::any_of(std::begin(kClassifierModules), std::end(kClassifierModules), named))
    return true;
  return std::any_of(saved.begin(), saved.end(), named);
}

bool Adapter::keeps(const std::string& weight) const {
  return std::find(kept.begin(), kept.end(), weight) != kept.end();
}

bool Adapter::adapts(const ModelConfig& c, const std::string& layer) const {
  if (saves(c, layer)) return false;
  if (pattern == kAllLinear) return true;
  if (!pattern.empty()) return matches_layer(pattern, layer);
  const std::vector<std::string> list = targets.empty() ? c.adapted : targets;
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& t) { return layer == t || layer.ends_with("." + t); });
}

}  // namespace hone
