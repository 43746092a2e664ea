// The state dict of a PyTorch optimizer: {"state": {weight: {"exp_avg": tensor, ...}}, "param_groups": [...]}.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/torch/torch_object.h"

namespace hone {

// Collects arguments of an optimizer from its groups, under the names of hone's settings: learning_rate (the
// peak, if the group has it), adam_beta1, adam_beta2, adam_epsilon, weight_decay (the largest of the
// groups); also amsgrad and maximize if they are true.
void add_argument(Json& arguments, std::string_view name, const PickleValue& value);
void add_arguments(Json& arguments, const PickleValue& param_groups);

// An integer or a real number; nullopt: neither.
std::optional<double> number_of(const PickleValue& v);

// Counts updates of the weights: one number for all of them. H2215: they differ.
class UpdateCount {
 public:
  explicit UpdateCount(std::string path) : path_(std::move(path)) {}
  Status add(double updates, const std::string& weight);
  Status add(const WeightSource& source, const std::string& tensor, const std::string& weight);
  int64_t value() const { return updates_.value_or(0); }

 private:
  std::string path_;
  std::optional<int64_t> updates_;
};

struct NamedShape {
  std::string name;
  Shape shape;
};

// Names of the parameters that groups of an optimizer count: group by group, the weights in the order in
// which the module has them, each group a part of them in that order. nullopt: the shapes allow no such
// division, or several. `groups`: the shapes that the states have; nullopt for a parameter without a state.
std::optional<std::vector<std::vector<std::string>>> names_in_groups(
    const std::vector<NamedShape>& weights,
    const std::vector<std::vector<std::optional<Shape>>>& groups);

// The tensors of an optimizer's states, taken from `file` under the names "<state>.<weight>".
struct OptimizerDict {
  std::vector<std::string> tensors;
  Json arguments = Json::object();
  int64_t updates = 0;
  std::vector<std::vector<NumberedState>> numbered = {};  // by group; empty: the states have names
};
// States are by weight, by number with "param_names", or by number alone: then `weights` names them
// (names_in_groups). H2214 the dict has another form; H2215 numbers that cannot be given names.
Result<OptimizerDict> take_optimizer(TorchObject& file, const PickleValue& optimizer,
                                     const std::vector<NamedShape>& weights);
// The same without names of weights: states that are numbered have the names "<state>.#<number>".
Result<OptimizerDict> take_numbered_optimizer(TorchObject& file, const PickleValue& optimizer);

}  // namespace hone
