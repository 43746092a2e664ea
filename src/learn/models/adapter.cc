#include "learn/models/adapter.h"

#include <algorithm>
#include <cmath>

#include "learn/models/config.h"
#include "learn/models/layer_pattern.h"

namespace hone {

bool names_part(const std::string& name, const std::string& part) {
  return ("." + name + ".").find("." + part + ".") != std::string::npos;
}

namespace {

// PEFT's get_pattern_key.
double value_by_pattern(const Adapter::Patterns& patterns, const std::string& layer,
                        double otherwise) {
  for (const auto& [pattern, value] : patterns)
    if (matches_layer("(.*\\.)?(" + pattern + ")", layer)) return value;
  return otherwise;
}

}  // namespace

int64_t Adapter::rank_of(const std::string& layer) const {
  return static_cast<int64_t>(value_by_pattern(ranks, layer, static_cast<double>(r)));
}

double Adapter::scale_of(const std::string& layer) const {
  const auto rank = static_cast<double>(rank_of(layer));
  return value_by_pattern(alphas, layer, alpha) / (rslora ? std::sqrt(rank) : rank);
}

bool Adapter::saves(const ModelConfig& c, const std::string& weight) const {
  const auto named = [&](const std::string& part) { return names_part(weight, part); };
  // PEFT takes modules whose names end so: DistilBERT's pre_classifier too.
  const auto ends = [&](const std::string& module) {
    return (weight + ".").find(module + ".") != std::string::npos;
  };
  const bool classifier = classifies(c.head) || c.head == Head::multiple_choice;
  if (classifier && std::any_of(std::begin(kClassifierModules), std::end(kClassifierModules), ends))
    return true;
  if (c.head == Head::question_answering && named(kAnswerModule)) return true;
  return std::any_of(saved.begin(), saved.end(), named);
}

bool Adapter::keeps(const std::string& weight) const {
  return std::find(kept.begin(), kept.end(), weight) != kept.end();
}

bool Adapter::adapts(const ModelConfig& c, const std::string& layer) const {
  if (saves(c, layer) || adapts_no_layers()) return false;
  if (pattern == kAllLinear) return true;
  if (!pattern.empty()) return matches_layer(pattern, layer);
  const std::vector<std::string> list = targets.empty() ? c.adapted : targets;
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& t) { return ends_in_layer(layer, t); });
}

bool Adapter::adapts_parameter(const std::string& name) const {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const std::string& p) { return ends_in_layer(name, p); });
}

}  // namespace hone
