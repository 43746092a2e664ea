#include "learn/models/module_order.h"

#include <algorithm>

#include "learn/models/family.h"

namespace hone {
namespace {

// Children of a layer of PEFT, in the order in which it makes them.
constexpr const char* kAdapterChildren[] = {"lora_A", "lora_B", "lora_magnitude_vector"};

// A weight below a module: its name there, and its place in the order of the graph.
struct WeightBelow {
  std::string_view name;
  size_t weight;
};
struct ChildModule {
  std::string_view name;
  std::vector<WeightBelow> weights;
};

// Adds a module's weights: its own ones, then those of its children.
void add_module_weights(const std::vector<WeightBelow>& module,
                        const std::vector<std::string>& order, std::vector<size_t>& found) {
  std::vector<ChildModule> children;
  for (const WeightBelow& w : module) {
    const size_t dot = w.name.find('.');
    if (dot == w.name.npos) {
      found.push_back(w.weight);
      continue;
    }
    const std::string_view child = w.name.substr(0, dot);
    auto at = std::find_if(children.begin(), children.end(),
                           [&](const ChildModule& c) { return c.name == child; });
    if (at == children.end()) at = children.insert(at, {child, {}});
    at->weights.push_back({w.name.substr(dot + 1), w.weight});
  }
  const auto rank = [&](const ChildModule& child) {
    return std::find(order.begin(), order.end(), child.name) - order.begin();
  };
  std::stable_sort(children.begin(), children.end(),
                   [&](const ChildModule& a, const ChildModule& b) { return rank(a) < rank(b); });
  for (const ChildModule& child : children) add_module_weights(child.weights, order, found);
}

}  // namespace

std::optional<std::vector<ParamSpec>> weights_in_module_order(const ModelConfig& c) {
  const Family& family = family_of(c);
  if (!family.module_order) return {};
  std::vector<ParamSpec> specs;
  for (ParamSpec& spec : family.params(c))
    if (spec.is_trained()) specs.push_back(std::move(spec));
  std::vector<WeightBelow> weights;
  for (size_t i = 0; i < specs.size(); ++i) weights.push_back({specs[i].name, i});
  std::vector<std::string> order = *family.module_order;
  order.insert(order.end(), std::begin(kAdapterChildren), std::end(kAdapterChildren));
  std::vector<size_t> found;
  add_module_weights(weights, order, found);
  std::vector<ParamSpec> ordered;
  for (size_t i : found) ordered.push_back(specs[i]);
  return ordered;
}

}  // namespace hone
