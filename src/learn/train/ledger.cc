#include "learn/train/ledger.h"

#include <algorithm>
#include <map>
#include <set>

#include "learn/train/update.h"

namespace hone {
namespace {

// The keys of a fingerprint that settings of a word lead to. `stream`: of rows that are not read
// before the run.
const std::map<std::string, std::vector<std::string>>& effects() {
  static const std::map<std::string, std::vector<std::string>> all = {
      {"bits", {"step_rows"}},
      {"source", {"data", "stream"}},
      {"reading", {"data", "stream"}},
      {"rows", {"data", "stream"}},
      {"tokenizer", {"data", "stream"}},
      {"order", {"order"}},
      {"length", {"total_steps"}},
      {"model", {"model"}},
      {"update", {"update"}},
      {"machine", {"kernels", "machine", "micro_batch_rows", "split"}},
      {"evaluation", {"evaluation"}},
      {"answers", {}}};
  return all;
}

bool differ(const Json& then, const Json& now, const std::string& key) {
  return then.contains(key) && now.contains(key) && then[key] != now[key];
}

// The keys of a fingerprint in words for people.
const std::map<std::string, std::string>& words_of_keys() {
  static const std::map<std::string, std::string> all = {
      {"data", "other training rows"},
      {"stream", "other training rows"},
      {"model", "another config of the model"},
      {"kernels", "other kernels, of another processor or version of hone"},
      {"machine", "another device"},
      {"micro_batch_rows", "another number of rows in a micro-batch"},
      {"split", "another split into micro-batches"},
      {"order", "another order of the rows"},
      {"total_steps", "another number of steps"},
      {"step_rows", "another number of rows in a step"},
      {"update", "another arithmetic of the optimizer"},
      {"evaluation", "another choice of the best model"}};
  return all;
}

bool is_of_machine(const std::string& key) {
  const std::vector<std::string>& keys = effects().at("machine");
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

Json ledger_of(const Schema& schema) {
  Json ledger = Json::object();
  for (const auto& [word, keys] : effects()) ledger[word] = Json::object();
  for (const Setting& s : schema.all())
    for (const std::string& word : s.decides) {
      HONE_BUG_IF(!ledger.contains(word), "{} decides '{}', which the ledger does not know", s.name,
                  word);
      ledger[word][s.name] = Json(s.value());
    }
  return ledger;
}

bool decides(const Setting& setting, std::string_view word) {
  return std::find(setting.decides.begin(), setting.decides.end(), word) != setting.decides.end();
}

Json settings_that_decide(const Schema& schema, std::string_view word) {
  Json found = Json::object();
  for (const Setting& s : schema.all())
    if (decides(s, word))
      if (const OrderedJson value = s.value(); !value.is_null()) found[s.name] = Json(value);
  return found;
}

Json update_effect(const TrainSettings& s) {
  const Result<UpdateOptions> options = update_options(s);
  if (!options.ok()) return nullptr;  // the run ends before its first step
  Json attrs = Json::object();
  for (const auto& [name, value] : options->attrs.all())
    std::visit([&](const auto& v) { attrs[name] = v; }, value);
  // If nothing decays, the kind of decay does not matter.
  const bool decays = s.weight_decay != 0;
  if (!decays) attrs.erase("l2");
  const Optimizer& optimizer = optimizer_named(options->optimizer);
  Json effect{{"rule", optimizer.op},
              {"arguments", attrs},
              {"decays_all", decays && optimizer.decay_all},
              {"max_grad_norm", options->max_grad_norm}};
  if (const auto scale = s.loss_scale_options())
    effect["loss_scale"] = scale->fixed > 0 ? Json(scale->fixed)
                                            : Json{{"window", scale->window},
                                                   {"hysteresis", scale->hysteresis},
                                                   {"consecutive", scale->consecutive_hysteresis},
                                                   {"least", scale->least}};
  if (s.pure_bf16()) effect["bf16_stochastic_round"] = s.bf16_stochastic_round;
  if (optimizer.needs_targets) effect["targets"] = s.optim_target_modules;
  return effect;
}

Json evaluation_effect(const TrainSettings& s) {
  if (!s.load_best_model_at_end && !s.early_stopping_patience) return nullptr;
  return {{"best", s.load_best_model_at_end}, {"stops", s.early_stopping_patience.has_value()}};
}

std::string Difference::other() const {
  const auto key = words_of_keys().find(name);
  return key == words_of_keys().end() ? fmt::format("another '{}'", name) : key->second;
}

std::string Difference::values() const {
  const bool is_hash = name == "data" || name == "stream" || name == "model" || name == "kernels";
  const bool is_key = words_of_keys().contains(name);
  if (is_key && (is_hash || then.is_structured() || now.is_structured())) return "";
  return fmt::format("{} then, {} now", then.dump(), now.dump());
}

std::string Difference::text() const {
  if (!words_of_keys().contains(name))
    return fmt::format("'{}' was {} and is {} now", name, then.dump(), now.dump());
  const std::string both = values();
  return fmt::format("the run had {}{}", other(), both.empty() ? "" : " (" + both + ")");
}

std::vector<Difference> differences(const Json& then, const Json& now, bool machine) {
  std::map<std::string, Difference> found;
  std::set<std::string> explained;
  const Json none = Json::object();
  const Json& settings_then = then.contains("settings") ? then["settings"] : none;
  const Json& settings_now = now.contains("settings") ? now["settings"] : none;
  for (const auto& [word, keys] : effects()) {
    if (!settings_then.contains(word) || !settings_now.contains(word)) continue;
    if (word == "machine" && !machine) continue;
    const bool matters = word == "bits" ||
                         (word == "evaluation" && (!then.value("evaluation", Json()).is_null() ||
                                                   !now.value("evaluation", Json()).is_null())) ||
                         std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
                           return differ(then, now, key);
                         });
    if (!matters) continue;
    for (const auto& [name, value] : settings_now[word].items()) {
      if (!differ(settings_then[word], settings_now[word], name)) continue;
      found[name] = {name, settings_then[word][name], value};
      explained.insert(keys.begin(), keys.end());
    }
  }
  for (const auto& [key, value] : now.items())
    if (key != "settings" && differ(then, now, key) && !explained.contains(key) &&
        (machine || !is_of_machine(key)))
      found[key] = {key, then[key], value};
  std::vector<Difference> all;
  for (auto& [name, difference] : found) all.push_back(std::move(difference));
  return all;
}

}  // namespace hone
