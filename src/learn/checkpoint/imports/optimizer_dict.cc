#include "learn/checkpoint/imports/optimizer_dict.h"

#include <cmath>
#include <map>
#include <set>

#include "learn/checkpoint/imports/errors.h"

namespace hone {
namespace {

using Kind = PickleKind;

constexpr int64_t kMostUpdates = int64_t{1} << 53;

// The shape of a weight by its states; nullopt: it has none.
std::optional<Shape> shape_of_states(const PickleValue& states) {
  std::optional<Shape> shape;
  for (int64_t i = 0; i < torch_entries(states); ++i) {
    if (torch_key(states, i).text() == "step" || !is_torch_tensor(torch_entry(states, i))) continue;
    PickleValue args = torch_entry(states, i).args();
    if (torch_entry(states, i).callable().is_global("torch._tensor._rebuild_from_type_v2"))
      args = args[2];
    Shape found;
    for (int64_t d = 0; d < args[2].size(); ++d) found.push_back(args[2][d].integer());
    if (!shape || found.size() > shape->size()) shape = found;
  }
  return shape;
}

// States of weights by what their dict is indexed with: a name, or a number.
class StatesByKey {
 public:
  explicit StatesByKey(const PickleValue& states) {
    for (int64_t i = 0; i < torch_entries(states); ++i) {
      const PickleValue key = torch_key(states, i), value = torch_entry(states, i);
      if (key.is(Kind::integer))
        numbered_.emplace(key.integer(), value);
      else if (key.is(Kind::text))
        named_.emplace_back(std::string(key.text()), value);
      else
        fits_ = false;
    }
  }
  bool fits() const { return fits_ && (numbered_.empty() || named_.empty()); }
  bool is_numbered() const { return !numbered_.empty(); }
  const PickleValue* find(int64_t number) const {
    const auto found = numbered_.find(number);
    return found == numbered_.end() ? nullptr : &found->second;
  }
  const std::vector<std::pair<std::string, PickleValue>>& named() const { return named_; }

 private:
  std::map<int64_t, PickleValue> numbered_;
  std::vector<std::pair<std::string, PickleValue>> named_;
  bool fits_ = true;
};

Error not_an_optimizer(const TorchObject& file, const std::string& what) {
  return Error(err::kImportDamaged,
               fmt::format("'{}': the optimizer's states {}", file.path(), what))
      .todo("save the checkpoint again, or begin a new run from its weights");
}

// States and the names of their weights, or the keys in the place of names.
using NamedStates = std::vector<std::pair<std::string, PickleValue>>;

// The states under the key of each number, and the groups of these keys.
Result<NamedStates> keyed_states(const TorchObject& file, const PickleValue& optimizer,
                                 std::vector<std::vector<NumberedState>>& groups) {
  const PickleValue list = torch_find(optimizer, "param_groups");
  const StatesByKey states(torch_find(optimizer, "state"));
  if (!states.fits()) return not_an_optimizer(file, "are not indexed by names or by numbers");
  if (!states.is_numbered()) return states.named();
  NamedStates found;
  std::set<int64_t> seen;
  for (int64_t g = 0; g < list.size(); ++g) {
    groups.emplace_back();
    const PickleValue params = torch_find(list[g], "params");
    for (int64_t i = 0; i < params.size(); ++i) {
      const int64_t number = params[i].integer();
      if (!seen.insert(number).second) return not_an_optimizer(file, "number a weight twice");
      const PickleValue* state = states.find(number);
      groups.back().emplace_back();
      if (state == nullptr) continue;
      groups.back().back() = {fmt::format("#{}", number), shape_of_states(*state)};
      found.emplace_back(groups.back().back().key, *state);
    }
  }
  return found;
}

// The name and the states of each weight.
Result<NamedStates> named_states(const TorchObject& file, const PickleValue& optimizer,
                                 const std::vector<NamedShape>& weights) {
  const PickleValue groups = torch_find(optimizer, "param_groups");
  const StatesByKey states(torch_find(optimizer, "state"));
  if (!states.fits()) return not_an_optimizer(file, "are not indexed by names or by numbers");
  if (!states.is_numbered()) return states.named();
  std::vector<std::pair<std::string, PickleValue>> found;
  std::vector<std::vector<std::optional<Shape>>> shapes;
  bool with_names = true;
  for (int64_t g = 0; g < groups.size(); ++g) {
    const PickleValue params = torch_find(groups[g], "params"),
                      names = torch_find(groups[g], "param_names");
    with_names = with_names && names.size() == params.size();
    shapes.emplace_back();
    for (int64_t i = 0; i < params.size(); ++i) {
      const PickleValue* state = states.find(params[i].integer());
      shapes.back().push_back(state ? shape_of_states(*state) : std::nullopt);
      if (state != nullptr) found.emplace_back(names[i].text(), *state);
    }
  }
  if (with_names) return found;
  const auto names = names_in_groups(weights, shapes);
  if (!names)
    return Error(err::kImportNotSupported,
                 fmt::format("'{}' numbers the weights of its optimizer's states, and their shapes "
                             "do not say which weight each number is",
                             file.path()))
        .todo(
            "make the optimizer from named_parameters(), which saves the names; or begin a new run "
            "from the weights");
  size_t at = 0;
  for (int64_t g = 0; g < groups.size(); ++g) {
    const PickleValue params = torch_find(groups[g], "params");
    for (int64_t i = 0; i < params.size(); ++i)
      if (states.find(params[i].integer()) != nullptr)
        found[at++].first = (*names)[static_cast<size_t>(g)][static_cast<size_t>(i)];
  }
  return found;
}

}  // namespace

std::optional<double> number_of(const PickleValue& v) {
  if (v.is(Kind::real)) return v.real();
  if (v.is(Kind::integer)) return static_cast<double>(v.integer());
  return {};
}

void add_argument(Json& arguments, std::string_view name, const PickleValue& value) {
  const auto number = number_of(value);
  if (number && (name == "initial_lr" || (name == "lr" && !arguments.contains("learning_rate"))))
    arguments["learning_rate"] = *number;
  if (number && name == "eps") arguments["adam_epsilon"] = *number;
  if (number && name == "weight_decay")
    arguments["weight_decay"] = std::max(*number, arguments.value("weight_decay", 0.0));
  if (name == "betas" && number_of(value[0]) && number_of(value[1])) {
    arguments["adam_beta1"] = *number_of(value[0]);
    arguments["adam_beta2"] = *number_of(value[1]);
  }
  if ((name == "amsgrad" || name == "maximize") && value.is(Kind::boolean) && value.integer() != 0)
    arguments[std::string(name)] = true;
}

void add_arguments(Json& arguments, const PickleValue& param_groups) {
  for (int64_t g = 0; g < param_groups.size(); ++g)
    for (int64_t i = 0; i < torch_entries(param_groups[g]); ++i)
      add_argument(arguments, torch_key(param_groups[g], i).text(),
                   torch_entry(param_groups[g], i));
}

Status UpdateCount::add(double updates, const std::string& weight) {
  if (!(updates >= 0) || updates > static_cast<double>(kMostUpdates) ||
      updates != std::floor(updates))
    return Error(err::kImportDamaged,
                 fmt::format("'{}' counts {} updates of '{}'", path_, updates, weight))
        .todo("copy the checkpoint again, or save it again");
  const auto whole = static_cast<int64_t>(updates);
  if (updates_ && *updates_ != whole)
    return Error(err::kImportNotSupported,
                 fmt::format("'{}' counts {} updates of '{}' and {} of others", path_, whole,
                             weight, *updates_))
        .todo("begin a new run from the weights: hone counts the updates of all weights together");
  updates_ = whole;
  return Ok{};
}

Status UpdateCount::add(const WeightSource& source, const std::string& tensor,
                        const std::string& weight) {
  if (source.find(tensor)->type.count() != 1)
    return Error(err::kImportDamaged,
                 fmt::format("'{}' counts the updates of '{}' in a tensor of shape {}", path_,
                             weight, text_of(source.find(tensor)->type.shape)))
        .todo("copy the checkpoint again, or save it again");
  double updates = 0;
  if (source.find(tensor)->type.dtype == DType::i64) {
    int64_t whole = 0;
    HONE_TRY(source.read(tensor, DType::i64, std::as_writable_bytes(std::span(&whole, 1))));
    updates = static_cast<double>(whole);
  } else {
    HONE_TRY(source.read(tensor, DType::f64, std::as_writable_bytes(std::span(&updates, 1))));
  }
  return add(updates, weight);
}

std::optional<std::vector<std::vector<std::string>>> names_in_groups(
    const std::vector<NamedShape>& weights,
    const std::vector<std::vector<std::optional<Shape>>>& groups) {
  size_t count = 0;
  for (const auto& group : groups) count += group.size();
  if (count != weights.size()) return {};
  std::vector<std::vector<std::string>> names(groups.size());
  for (const NamedShape& weight : weights) {
    // The only group that may continue with this weight.
    size_t fitting = groups.size();
    for (size_t g = 0; g < groups.size(); ++g) {
      if (names[g].size() == groups[g].size()) continue;
      const std::optional<Shape>& next = groups[g][names[g].size()];
      if (next && *next != weight.shape) continue;
      if (fitting < groups.size()) return {};
      fitting = g;
    }
    if (fitting == groups.size()) return {};
    names[fitting].push_back(weight.name);
  }
  return names;
}

namespace {

bool is_optimizer(const PickleValue& v) {
  return is_torch_dict(torch_find(v, "state")) && torch_find(v, "param_groups").is(Kind::list);
}

Result<OptimizerDict> take_named_states(TorchObject& file, const PickleValue& optimizer,
                                        const NamedStates& found) {
  OptimizerDict taken;
  add_arguments(taken.arguments, torch_find(optimizer, "param_groups"));
  UpdateCount updates(file.path());
  for (const auto& [weight, states] : found) {
    for (int64_t i = 0; i < torch_entries(states); ++i) {
      const std::string state(torch_key(states, i).text()), name = state + "." + weight;
      const PickleValue value = torch_entry(states, i);
      if (is_torch_tensor(value)) {
        if (file.find(name) != nullptr) return not_an_optimizer(file, "have a weight twice");
        HONE_TRY(file.take(name, value));
        if (state == "step")
          HONE_TRY(updates.add(file, name, weight));
        else
          taken.tensors.push_back(name);
      } else if (state == "step" && number_of(value)) {
        HONE_TRY(updates.add(*number_of(value), weight));
      }
    }
  }
  taken.updates = updates.value();
  return taken;
}

}  // namespace

Result<OptimizerDict> take_optimizer(TorchObject& file, const PickleValue& optimizer,
                                     const std::vector<NamedShape>& weights) {
  if (!is_optimizer(optimizer))
    return not_an_optimizer(file, "have no 'state' or no 'param_groups'");
  const NamedStates found = HONE_TRY(named_states(file, optimizer, weights));
  return take_named_states(file, optimizer, found);
}

Result<OptimizerDict> take_numbered_optimizer(TorchObject& file, const PickleValue& optimizer) {
  if (!is_optimizer(optimizer))
    return not_an_optimizer(file, "have no 'state' or no 'param_groups'");
  std::vector<std::vector<NumberedState>> groups;
  const NamedStates found = HONE_TRY(keyed_states(file, optimizer, groups));
  OptimizerDict taken = HONE_TRY(take_named_states(file, optimizer, found));
  taken.numbered = std::move(groups);
  return taken;
}

}  // namespace hone
