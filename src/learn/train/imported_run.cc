#include "learn/train/imported_run.h"

#include <algorithm>
#include <set>

#include "base/core/log.h"
#include "learn/checkpoint/safetensors/derived_weights.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

class RenamedWeights final : public DerivedWeights {
 public:
  explicit RenamedWeights(std::unique_ptr<WeightSource> base) : DerivedWeights(std::move(base)) {}
  void rename(const std::string& from, const std::string& to) {
    TensorInfo info = *base_->find(from);
    info.name = to;
    take(std::move(info), from);
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
      named->rename(found, wanted[i]);
  from.weights = std::move(named);

  HONE_TRY(check_kinds(*from.optimizer, states, checkpoint, s));
  auto moments = std::make_unique<RenamedWeights>(std::move(from.optimizer));
  for (const std::string& state : states) {
    const auto [kind, weight] = kind_and_weight(state);
    const std::string found =
        find_under(moments->base(), kind + "." + prefix, names_of_weight(others, weight));
    if (!found.empty()) moments->rename(found, state);
  }
  from.optimizer = std::move(moments);
  log_info("{:<11} {}: {} weights and {} states of the optimizer", "import", from.format,
           from.weights->tensors().size(), from.optimizer->tensors().size());
  tell_differences(from, s, task);
  return Ok{};
}

}  // namespace hone
