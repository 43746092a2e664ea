#include "learn/train/imported_run.h"

#include <algorithm>
#include <set>

#include "base/core/log.h"
#include "learn/checkpoint/imports/optimizer_dict.h"
#include "learn/checkpoint/safetensors/derived_weights.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

class RenamedWeights final : public DerivedWeights {
 public:
  explicit RenamedWeights(std::unique_ptr<WeightSource> base) : DerivedWeights(std::move(base)) {}
  // `wanted`: the shape that the run has; a padded tensor with more rows is read without them.
  void rename(const std::string& from, const std::string& to, bool padded, const Shape& wanted) {
    TensorInfo info = *base_->find(from);
    info.name = to;
    Shape& shape = info.type.shape;
    if (padded && shape.size() == wanted.size() && !shape.empty() && shape[0] > wanted[0]) {
      shape[0] = wanted[0];
      info.bytes = info.type.bytes();
    }
    take(std::move(info), from);
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    return read_elements_of(index, as, 0, out);
  }
};

// The names of one weight in a checkpoint, best first.
using OtherNames = std::map<std::string, std::vector<std::string>>;
std::vector<std::string> names_of_weight(const OtherNames& others, const std::string& weight) {
  std::vector<std::string> names = {weight};
  if (const auto more = others.find(weight); more != others.end())
    names.insert(names.end(), more->second.begin(), more->second.end());
  return names;
}

// The tensor of a weight under a prefix; "": there is none.
std::string find_under(const WeightSource& from, const std::string& prefix,
                       const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (from.find(prefix + name) != nullptr) return prefix + name;
  return "";
}

// The prefix under which the checkpoint has all weights; "" if it has none for all.
std::string prefix_of_weights(const WeightSource& from,
                              const std::vector<std::vector<std::string>>& weights) {
  std::set<std::string> prefixes = {""};
  for (const std::string& name : weights.front())
    for (const TensorInfo& t : from.tensors())
      if (t.name.ends_with("." + name))
        prefixes.insert(t.name.substr(0, t.name.size() - name.size()));
  for (const std::string& prefix : prefixes)
    if (std::all_of(weights.begin(), weights.end(), [&](const std::vector<std::string>& names) {
          return !find_under(from, prefix, names).empty();
        }))
      return prefix;
  return "";
}

std::pair<std::string, std::string> kind_and_weight(const std::string& state) {
  const size_t dot = state.find('.');
  return {state.substr(0, dot), dot == state.npos ? "" : state.substr(dot + 1)};
}

Status check_kinds(const WeightSource& optimizer, const std::vector<std::string>& states,
                   const std::string& checkpoint, const TrainSettings& s) {
  std::set<std::string> known;
  for (const std::string& state : states) known.insert(kind_and_weight(state).first);
  for (const TensorInfo& t : optimizer.tensors())
    if (const std::string kind = kind_and_weight(t.name).first; !known.contains(kind))
      return Error(err::kResumeMismatch,
                   fmt::format("the checkpoint's optimizer keeps the state '{}', which --optim {} "
                               "does not have",
                               kind, s.optim))
          .at(checkpoint)
          .todo(
              "name the optimizer that wrote it with --optim, or begin a new run from its weights");
  return Ok{};
}

// Whether a group's states have the shapes of these weights, in their order.
bool fits_group(const std::vector<NumberedState>& group,
                const std::vector<const TrainTask::NumberedWeight*>& weights, const Session& s) {
  return std::equal(group.begin(), group.end(), weights.begin(), weights.end(),
                    [&](const NumberedState& state, const TrainTask::NumberedWeight* w) {
                      return !state.shape || *state.shape == s.state_type(w->name).shape;
                    });
}

using KeyOfWeight = std::map<std::string, std::string>;

// The keys by the groups of Transformers' Trainer: weights that decay, and the others.
std::optional<KeyOfWeight> keys_of_trainer(const std::vector<std::vector<NumberedState>>& groups,
                                           const std::vector<TrainTask::NumberedWeight>& weights,
                                           const Session& s) {
  if (groups.size() > 2) return {};
  KeyOfWeight keys;
  for (size_t g = 0; g < 2; ++g) {
    std::vector<const TrainTask::NumberedWeight*> of_group;
    for (const TrainTask::NumberedWeight& w : weights)
      if (w.decays == (g == 0)) of_group.push_back(&w);
    static const std::vector<NumberedState> kNone;
    const std::vector<NumberedState>& group = g < groups.size() ? groups[g] : kNone;
    if (!fits_group(group, of_group, s)) return {};
    for (size_t i = 0; i < group.size(); ++i) keys[of_group[i]->name] = group[i].key;
  }
  return keys;
}

// The keys by the order of weights in each group and the shapes of the states, for other groups.
std::optional<KeyOfWeight> keys_by_shapes(const std::vector<std::vector<NumberedState>>& groups,
                                          const std::vector<TrainTask::NumberedWeight>& weights,
                                          const Session& s) {
  std::vector<NamedShape> named;
  for (const TrainTask::NumberedWeight& w : weights)
    named.push_back({w.name, s.state_type(w.name).shape});
  std::vector<std::vector<std::optional<Shape>>> shapes;
  for (const auto& group : groups) {
    shapes.emplace_back();
    for (const NumberedState& state : group) shapes.back().push_back(state.shape);
  }
  const auto names = names_in_groups(named, shapes);
  if (!names) return {};
  KeyOfWeight keys;
  for (size_t g = 0; g < groups.size(); ++g)
    for (size_t i = 0; i < groups[g].size(); ++i) keys[(*names)[g][i]] = groups[g][i].key;
  return keys;
}

// The key of each weight in a checkpoint that numbers them. H2405: the numbers cannot be given to weights.
Result<KeyOfWeight> keys_of_weights(const ResumeState& from, const std::string& checkpoint,
                                    const TrainTask& task, const Session& s) {
  const auto weights = task.numbered_weights();
  std::optional<KeyOfWeight> keys;
  if (weights) keys = keys_of_trainer(from.numbered, *weights, s);
  if (weights && !keys) keys = keys_by_shapes(from.numbered, *weights, s);
  if (keys) return std::move(*keys);
  size_t count = 0;
  for (const auto& group : from.numbered) count += group.size();
  return Error(
             err::kResumeMismatch,
             weights
                 ? fmt::format("the checkpoint's optimizer numbers {} weights in {} groups, which "
                               "are not the {} weights that this run trains",
                               count, from.numbered.size(), weights->size())
                 : std::string("the checkpoint's optimizer numbers its weights, and hone does not "
                               "know their order in models of this kind"))
      .at(checkpoint)
      .todo(weights ? "give the model, the task and the adapter's settings of the run that wrote it"
                    : "begin a new run from its weights: --model_name_or_path " + checkpoint);
}

void tell_differences(const ResumeState& from, const TrainSettings& s, const TrainTask& task) {
  const auto compare = [&](const char* name, double then, double now) {
    if (std::abs(then - now) > 1e-12 * std::max(std::abs(then), std::abs(now)))
      log_warning("resume: '{}' was {} and is {} now", name, then, now);
  };
  const std::pair<const char*, double> settings[] = {{"learning_rate", s.learning_rate},
                                                     {"weight_decay", s.weight_decay},
                                                     {"adam_beta1", s.adam_beta1},
                                                     {"adam_beta2", s.adam_beta2},
                                                     {"adam_epsilon", s.adam_epsilon}};
  for (const auto& [name, now] : settings)
    if (from.arguments.contains(name)) compare(name, from.arguments[name].get<double>(), now);
  for (const char* flag : {"amsgrad", "maximize"})
    if (from.arguments.contains(flag)) log_warning("resume: '{}' was true and is false now", flag);
  const auto steps = static_cast<double>(task.steps().total_steps());
  if (from.trainer_state.is_object() && from.trainer_state.contains("max_steps") &&
      from.trainer_state["max_steps"].is_number_integer())
    compare("max_steps", from.trainer_state["max_steps"].get<double>(), steps);
}

}  // namespace

Status settle_import(ResumeState& from, const std::string& checkpoint, const TrainSettings& s,
                     TrainTask& task, const std::vector<std::string>& states) {
  if (from.format.empty()) return Ok{};
  const std::vector<std::string> wanted = task.weight_names();
  const OtherNames others = task.other_names();
  std::vector<std::vector<std::string>> weights;
  for (const std::string& weight : wanted) weights.push_back(names_of_weight(others, weight));
  if (weights.empty()) return Ok{};
  const std::string prefix = prefix_of_weights(*from.weights, weights);
  auto named = std::make_unique<RenamedWeights>(std::move(from.weights));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (const std::string found = find_under(named->base(), prefix, weights[i]); !found.empty())
      named->rename(found, wanted[i], from.padded.contains(found),
                    task.session().state_type(wanted[i]).shape);
  from.weights = std::move(named);

  HONE_TRY(check_kinds(*from.optimizer, states, checkpoint, s));
  KeyOfWeight keys;
  if (!from.numbered.empty())
    keys = HONE_TRY(keys_of_weights(from, checkpoint, task, task.session()));
  auto moments = std::make_unique<RenamedWeights>(std::move(from.optimizer));
  for (const std::string& state : states) {
    const auto [kind, weight] = kind_and_weight(state);
    const auto key = keys.find(weight);
    const std::string found =
        key != keys.end()
            ? find_under(moments->base(), kind + ".", {key->second})
            : find_under(moments->base(), kind + "." + prefix, names_of_weight(others, weight));
    if (!found.empty())
      moments->rename(found, state, from.padded.contains(found.substr(found.find('.') + 1)),
                      task.session().state_type(state).shape);
  }
  from.optimizer = std::move(moments);
  log_info("{:<11} {}: {} weights and {} states of the optimizer", "import", from.format,
           from.weights->tensors().size(), from.optimizer->tensors().size());
  tell_differences(from, s, task);
  return Ok{};
}

}  // namespace hone
