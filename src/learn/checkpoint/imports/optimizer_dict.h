// Reads the state dict of a PyTorch optimizer: {"state": {weight: {"exp_avg": tensor, ...}}, "param_groups": [...]}.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/imports/import_format.h"
#include "learn/checkpoint/torch/torch_object.h"

namespace hone {

// Adds an argument of PyTorch's optimizer to `arguments`, under the name of hone's setting: learning_rate (initial_lr,
// the peak of the schedule, else lr), adam_beta1, adam_beta2, adam_epsilon, weight_decay (the largest of the groups);
// amsgrad and maximize if they are true. Other arguments are ignored.
void add_argument(Json& arguments, std::string_view name, const PickleValue& value);
// Adds all arguments of all groups.
void add_arguments(Json& arguments, const PickleValue& param_groups);

// The value as a double if it is an integer or a real number; nullopt: it is neither.
std::optional<double> number_of(const PickleValue& v);

// Collects the number of updates that an optimizer has made of each weight. It must be the same for all weights.
class UpdateCount {
 public:
  explicit UpdateCount(std::string path) : path_(std::move(path)) {}  // the file, for messages
  // Adds the count of one weight. H2215: the count differs from that of the weights before. H2214: it is not a whole
  // number of updates.
  Status add(double updates, const std::string& weight);
  // Adds the count of one weight, which is the only element of the tensor `tensor` of `source`. Errors: those above,
  // and those of reading the tensor.
  Status add(const WeightSource& source, const std::string& tensor, const std::string& weight);
  int64_t value() const { return updates_.value_or(0); }  // 0: no weight was added

 private:
  std::string path_;
  std::optional<int64_t> updates_;
};

struct NamedShape {
  std::string name;
  Shape shape;
};

// Finds the names of weights that an optimizer identifies by numbers. `weights`: all weights in the order of the
// module. `groups`: for each group of the optimizer, the shape of each weight's states, in the order of their numbers;
// nullopt: the weight has no states. A group has some of the weights, in the order of the module. Returns the names in
// the form of `groups`. nullopt: the shapes allow no such division of the weights, or more than one.
std::optional<std::vector<std::vector<std::string>>> names_in_groups(
    const std::vector<NamedShape>& weights,
    const std::vector<std::vector<std::optional<Shape>>>& groups);

// The states of an optimizer. Their tensors can be read from the file that was given to take_optimizer().
struct OptimizerDict {
  std::vector<std::string> tensors;  // their names in the file: "<state>.<weight>"
  Json arguments = Json::object();   // see add_argument()
  int64_t updates = 0;               // how often the optimizer has updated each weight
  std::vector<std::vector<NumberedState>> numbered = {};  // ImportedRun::numbered; empty: names
};
// Takes the states of `optimizer`, a state dict in the tree of `file`. The dict may identify weights by name, by number
// with names in "param_names", or by number alone. In the last case names_in_groups() finds the names in `weights`.
// H2214: the dict has another form. H2215: the names of numbered weights cannot be found, or the optimizer has not
// updated all weights equally often.
Result<OptimizerDict> take_optimizer(TorchObject& file, const PickleValue& optimizer,
                                     const std::vector<NamedShape>& weights);
// As take_optimizer(), but without names of weights: the states of a weight that has only a number get the names
// "<state>.#<number>".
Result<OptimizerDict> take_numbered_optimizer(TorchObject& file, const PickleValue& optimizer);

}  // namespace hone
