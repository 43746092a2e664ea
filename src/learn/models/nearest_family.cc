#include "learn/models/nearest_family.h"

#include <set>

#include "base/core/text.h"

namespace hone {
namespace {

constexpr size_t kLeastShared = 4, kShown = 6;

// Keys that every config may have, whatever its model.
bool says_nothing(const std::string& key) {
  static const std::set<std::string> kKeys{"architectures",
                                           "auto_map",
                                           "bos_token_id",
                                           "dtype",
                                           "eos_token_id",
                                           "finetuning_task",
                                           "gradient_checkpointing",
                                           "id2label",
                                           "label2id",
                                           "model_type",
                                           "num_labels",
                                           "pad_token_id",
                                           "problem_type",
                                           "torch_dtype",
                                           "transformers_version",
                                           "use_cache",
                                           "vocab_size",
                                           "is_decoder",
                                           "add_cross_attention"};
  return kKeys.contains(key) || key.starts_with("_");
}

// Transformers 5 has rope_parameters for two keys of version 4.
std::string same_key(const std::string& key) {
  return key == "rope_theta" || key == "rope_scaling" ? "rope_parameters" : key;
}

// Keys that tell a family from others. With `of`: those of a usual config; what is off there tells nothing unless
// the config `of` has it.
std::set<std::string> telling_keys(const nlohmann::json& config,
                                   const nlohmann::json* of = nullptr) {
  std::set<std::string> keys;
  for (const auto& [key, value] : config.items()) {
    const bool off = value.is_null() || value == false;
    if (!says_nothing(key) && !(of != nullptr && off && !of->contains(key)))
      keys.insert(same_key(key));
  }
  return keys;
}

// Keys whose texts or flags differ: such as the activation function.
size_t other_values(const nlohmann::json& a, const nlohmann::json& b) {
  size_t others = 0;
  for (const auto& [key, value] : a.items()) {
    const auto there = b.find(key);
    if (says_nothing(key) || there == b.end() || there->type() != value.type()) continue;
    others += (value.is_string() || value.is_boolean()) && value != *there;
  }
  return others;
}

std::vector<std::string> without(const std::set<std::string>& all,
                                 const std::set<std::string>& these) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), these.begin(), these.end(), std::back_inserter(rest));
  return rest;
}

std::string quoted(const std::vector<std::string>& keys) {
  std::vector<std::string> shown;
  for (const std::string& key : keys)
    if (shown.size() < kShown) shown.push_back("'" + key + "'");
  const std::string text = join(shown, ", ");
  return keys.size() > kShown ? fmt::format("{} and {} more", text, keys.size() - kShown) : text;
}

}  // namespace

std::string nearest_family_text(const nlohmann::json& config,
                                const std::map<std::string, const char*>& usual) {
  const std::set<std::string> keys = telling_keys(config);
  std::string nearest;
  std::set<std::string> of_nearest;
  double best = 0;
  for (const auto& [type, text] : usual) {
    const auto one = nlohmann::json::parse(text);
    const std::set<std::string> theirs = telling_keys(one, &config);
    const size_t more = without(keys, theirs).size(), shared = keys.size() - more;
    const double alike =
        static_cast<double>(shared) - 0.5 * static_cast<double>(other_values(config, one));
    const double near = alike / static_cast<double>(theirs.size() + more);
    if (shared < kLeastShared || near <= best) continue;
    best = near;
    nearest = type;
    of_nearest = theirs;
  }
  if (nearest.empty()) return "";
  const std::vector<std::string> more = without(keys, of_nearest), less = without(of_nearest, keys);
  std::string text = fmt::format("its config.json is nearest to that of '{}': {} keys are the same",
                                 nearest, keys.size() - more.size());
  if (!more.empty()) text += fmt::format(", {} has no {}", nearest, quoted(more));
  if (!less.empty()) text += fmt::format(", the config has no {}", quoted(less));
  return text;
}

}  // namespace hone
